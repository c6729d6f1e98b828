import sys

from coin_worker import PROGRAM
from mosaic.workers.solo.command_line import main

sys.exit(main(PROGRAM))

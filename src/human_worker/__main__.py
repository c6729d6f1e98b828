"""`python -m human_worker`: the command line of the worker."""

import sys

from human_worker.cli import main

sys.exit(main())

"""`python -m spade_bdi_rl_worker`: the command line of the worker."""

import sys

from spade_bdi_rl_worker.cli import main

sys.exit(main())

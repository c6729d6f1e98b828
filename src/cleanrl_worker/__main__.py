"""`python -m cleanrl_worker`."""

import sys

from cleanrl_worker.cli import main

sys.exit(main())

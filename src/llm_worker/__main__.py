"""`python -m llm_worker`: the command line of the worker."""

import sys

from llm_worker.cli import main

sys.exit(main())

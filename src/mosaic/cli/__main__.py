"""`python -m mosaic.cli` is the same as `mosaic`."""

from __future__ import annotations

import sys

from mosaic.cli.main import main

sys.exit(main())

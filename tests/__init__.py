"""The tests mirror src; beside them stand contract, learning, crash, security and browser tests."""

import os

# Before torch is imported: on a few cores its threads cost more than they give.
os.environ.setdefault("OMP_NUM_THREADS", "1")

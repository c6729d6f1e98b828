"""The trainer daemon: it queues runs, supervises them, and never loses one."""

"""Scripts of ours: each phase is a command of `mosaic`, and so a run of its own."""

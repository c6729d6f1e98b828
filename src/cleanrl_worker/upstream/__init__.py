"""Running a user's own CleanRL checkout, unmodified.

In the worker: `script_plan` and `script_flags`. In the script's process, where the packages are
CleanRL's: `site/sitecustomize.py` installs `hook`, which watches two imports and changes nothing of
the script's own.
"""

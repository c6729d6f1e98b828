"""Environments: their families, what each needs and who can act in it, and our own pages on them.

Nothing here imports an environment: what is installed is listed by a process of its own.
"""

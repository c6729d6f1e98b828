"""Runs as one file: written, read back, and distrusted."""

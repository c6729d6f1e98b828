"""What the daemon keeps: runs and their lifecycle in one SQLite file, metrics in another."""

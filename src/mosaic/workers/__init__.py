"""What any worker needs, and how the platform finds the workers that are installed."""

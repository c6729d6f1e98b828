"""The tabs of a run's page."""

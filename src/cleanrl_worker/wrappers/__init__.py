"""Batches of environments that change while a run trains on them."""

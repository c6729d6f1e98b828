"""The device's side: environments, replay and loops as pure functions that JAX compiles.

Nothing here needs Gymnasium, torch or the rest of the worker.
"""

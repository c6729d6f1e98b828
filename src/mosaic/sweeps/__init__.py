"""Sweeps: Optuna asks, runs of the daemon answer.

A sweep is a process of its own (`python -m mosaic.sweeps STUDY`), and a client of the daemon like
any other. Optuna is imported there alone; everybody else reads the study's file.
"""

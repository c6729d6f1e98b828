"""The GUI: a client of the trainer daemon in the browser."""

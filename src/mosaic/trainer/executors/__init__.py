"""Where runs are started: on this machine, later on others."""

"""The proxy: beside each worker, between its spool and the trainer daemon.

`python -m mosaic.workers.proxy LAUNCH_FILE` starts the worker, sends its events, carries out the
daemon's commands and reports the end. Training needs neither the proxy nor the daemon: a proxy
that was killed is started again, finds the worker and goes on.
"""

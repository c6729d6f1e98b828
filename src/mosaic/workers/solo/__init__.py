"""Workers of one process: what the agents of the telemetry lane share.

A worker describes itself with a `Program`; `command_line.main` does the rest: flags, config, dry
run, lifecycle events, manifest, checkpoints, signals and exit codes, as the contract has them.
"""

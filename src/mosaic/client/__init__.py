"""The typed client: the only way into the trainer daemon.

`mosaic.client.connecting.connect` finds the daemon, or starts it, and returns a
`mosaic.client.blocking.Client`; `connect_async` returns the same calls as coroutines. Nothing here
imports gRPC until there is a daemon to talk to.
"""

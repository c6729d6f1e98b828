"""What crosses a process border: configs, events, manifests, states, paths, parameters, metrics."""

"""A run of several processes, numbered from 0: rank 0 is the algorithm process itself."""

"""Parts of the comparison with CleanRL: what is run, how it is timed, what is reported."""

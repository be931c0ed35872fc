"""The nine workloads of `peers_native.py`, in each framework: a child process for each pair of them."""

"""A graph into the graph of its gradients, and what of it is kept."""

"""Builds the graph of gradients, and decides which forward values are kept for it."""

"""A graph into a plan: what is computed together, in which order, into which memory. No device."""

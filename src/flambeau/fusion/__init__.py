"""Plans graphs: which values are computed together, in which order, and into which memory. No device."""

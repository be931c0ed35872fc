"""Products, convolutions among them, into kernels: one side times the other, summed over shared dims."""

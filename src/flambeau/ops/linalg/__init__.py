"""Linear algebra: factorisations, solvers, norms, products."""

"""The base of all other packages: dtypes, shapes, nodes, ops, modes, files."""

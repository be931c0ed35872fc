"""What a value is, and what all the rest stands on: dtypes, shapes, nodes, ops, modes, files."""

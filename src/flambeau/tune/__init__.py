"""Finds the fastest variant of a kernel on this GPU by measurement."""

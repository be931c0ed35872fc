"""Reads WGSL: declarations, statements, types of expressions, barriers.

It covers the part of WGSL that kernels use. A text that it does not understand is an error with its line,
since a
text that is only half understood can't be rewritten.
"""

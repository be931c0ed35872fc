"""Reads WGSL: what a module declares, its statements, the types of its expressions, its barriers.

It covers what kernels are written in. A text that it does not understand is an error with its line, since a
text that is only half understood can't be rewritten.
"""

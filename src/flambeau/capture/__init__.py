"""A call into a program that is replayed without Python's part of it."""

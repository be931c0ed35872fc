"""Variants of a kernel into the fastest on this GPU, measured."""

"""Fourier transforms, and functions composed of them."""

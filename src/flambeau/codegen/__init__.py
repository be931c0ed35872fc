"""A kernel's structure into WGSL."""

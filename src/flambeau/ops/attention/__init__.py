"""Attention, and the keys and values that it keeps."""

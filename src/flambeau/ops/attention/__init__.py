"""Attention, and writes to the cache of keys and values."""

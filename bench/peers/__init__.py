"""Runs one training step in one framework: a child process a contestant, spoken to in JSON lines."""

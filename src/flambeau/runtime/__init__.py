"""Runs plans: pipelines, memory, commands, submits."""

"""A plan into values: pipelines, memory, commands, submits."""

"""Networks that are ready to be trained or run."""

"""What several tests share; no file of tests imports another."""

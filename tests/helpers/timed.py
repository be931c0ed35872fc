"""How long new cases are drawn for, by which seed, and how many differences are told."""

import os

SECONDS = float(os.environ.get("FLAMBEAU_GRID_SECONDS", "25"))
SEED = int(os.environ.get("FLAMBEAU_GRID_SEED", "0"))  # by conftest.py, the same in every worker
MOST = 20  # differences that are told

"""`python -m flambeau.torch script.py`: runs a script that was written for torch."""

import sys

from .run_script import main

main(sys.argv[1:])

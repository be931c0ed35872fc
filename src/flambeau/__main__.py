"""`python -m flambeau`: the command line."""

from .cli import main

main()

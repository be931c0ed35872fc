"""A PyTorch script into one for flambeau: what must change, and what is left to its user."""

from .convert import Converted, convert
from .edits import Change
from .gradients import Left

__all__ = ["Change", "Converted", "Left", "convert"]

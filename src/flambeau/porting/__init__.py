"""Converts a PyTorch script to flambeau, and lists the changes that are left to the user."""

from .convert import Converted, convert
from .edits import Change
from .gradients import Left

__all__ = ["Change", "Converted", "Left", "convert"]

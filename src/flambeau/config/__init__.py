"""Dataclasses into JSON and back, and the words of a command line into a dataclass.

@dataclass
class Config:
    lr: float = 0.1  # learning rate of Adam
    model: Model = field(default_factory=Model)

config = parse(Config)  # python train.py --lr 0.01 --model.depth 12
"""

from .values import from_dict, load, save, to_dict
from .words import parse

__all__ = ["from_dict", "load", "parse", "save", "to_dict"]

"""The functions behind the layers, as in torch.nn.functional."""

from typing import TYPE_CHECKING, Any

from .. import ops
from ..op import COMPOSED
from ..ops.elementwise import Elementwise

NAMES = ops.names("NN")

if TYPE_CHECKING:  # the names below are in the table, which type checkers do not read

    def __getattr__(name: str) -> Any: ...


globals().update({name: COMPOSED[name] for name in NAMES})
relu, sigmoid, tanh = Elementwise.relu, Elementwise.sigmoid, Elementwise.tanh
__all__ = sorted([*NAMES, "relu", "sigmoid", "tanh"])

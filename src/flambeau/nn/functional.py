"""The functions behind the layers, as in torch.nn.functional."""

from typing import TYPE_CHECKING, Any

from .. import ops
from ..core.op import COMPOSED
from ..ops.elementwise import Elementwise
from .variants import FUNCTIONS

NAMES = ops.names("NN")

if TYPE_CHECKING:  # the names below are in the table, which type checkers do not read

    def __getattr__(name: str) -> Any: ...

else:

    def __getattr__(name: str) -> Any:
        from ..core.habits import UnknownName

        raise UnknownName(__name__, name, lambda: __all__)


globals().update({name: COMPOSED[name] for name in NAMES})
globals().update(FUNCTIONS)
relu, sigmoid, tanh = Elementwise.relu, Elementwise.sigmoid, Elementwise.tanh
# Tensor.unfold is another op, so these go by PyTorch's internal names in the table
unfold, fold = COMPOSED["im2col"], COMPOSED["col2im"]
__all__ = sorted([*NAMES, *FUNCTIONS, "fold", "relu", "sigmoid", "tanh", "unfold"])

"""The functions behind the layers, as in torch.nn.functional."""

from typing import TYPE_CHECKING, Any

from ..op import COMPOSED
from ..ops.elementwise import Elementwise

NAMES = (
    "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "binary_cross_entropy_with_logits", "conv1d",
    "conv2d", "conv3d", "cross_entropy", "dropout", "elu", "embedding", "gelu", "hardsigmoid", "hardswish",
    "hardtanh", "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool1d",
    "max_pool2d", "mish", "mse_loss", "nll_loss", "one_hot", "pad", "relu6", "silu", "softmax", "softplus",
    "softsign",
)  # fmt: skip

if TYPE_CHECKING:  # the names below are in the table, which type checkers do not read

    def __getattr__(name: str) -> Any: ...


globals().update({name: COMPOSED[name] for name in NAMES})
relu, sigmoid, tanh = Elementwise.relu, Elementwise.sigmoid, Elementwise.tanh
__all__ = sorted([*NAMES, "relu", "sigmoid", "tanh"])

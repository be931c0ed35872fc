"""Activations without parameters."""

from ..core.dtype import DTypeLike
from ..ops import activation, elementwise, softmax
from ..tensor import Tensor
from .function_layer import FunctionLayer


# A layer holds the arguments of the function of its name; formulas, gradients and their numerical care are
# in ops/activation.py. `shows_all` prints default arguments too, for those layers of which PyTorch does.
class CELU(FunctionLayer):
    """x, or alpha * (exp(x / alpha) - 1) where x < 0 (Barron, 2017). [...] -> [...]"""

    shows_all = True

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.celu(input, alpha=self.alpha, inplace=self.inplace)


class ELU(FunctionLayer):
    """x, or alpha * (exp(x) - 1) where x < 0. [...] -> [...]"""

    shows_all = True

    def __init__(self, alpha: float = 1.0, inplace: bool = False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.elu(input, alpha=self.alpha, inplace=self.inplace)


class GELU(FunctionLayer):
    """x times the standard normal distribution function of x; approximate="tanh" is the older formula. [...]
    -> [...]

    Raises ValueError if approximate is unknown.
    """

    shows_all = True

    def __init__(self, approximate: str = "none"):
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return activation.gelu(input, approximate=self.approximate)


class GLU(FunctionLayer):
    """a * sigmoid(b) of the halves a, b (Dauphin et al., 2017). [..., 2n, ...] -> [..., n, ...]

    Raises ValueError if the size of the dim is odd.
    """

    shows_all = True

    def __init__(self, dim: int = -1):
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return activation.glu(input, dim=self.dim)


class Hardshrink(FunctionLayer):
    """x, or 0 where |x| <= lambd."""

    def __init__(self, lambd: float = 0.5):
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return activation.hardshrink(input, lambd=self.lambd)


class Hardsigmoid(FunctionLayer):
    """(x + 3) / 6 limited to [0, 1]."""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.hardsigmoid(input, inplace=self.inplace)


class Hardswish(FunctionLayer):
    """x * hardsigmoid(x). [...] -> [...]"""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.hardswish(input, inplace=self.inplace)


class Hardtanh(FunctionLayer):
    """x limited to [min_val, max_val]; unlike clamp, the gradient is 0 at both ends. [...] -> [...]

    min_value, max_value: PyTorch's old names of the limits
    Raises ValueError if min_val is above max_val.
    """

    shows_all = True

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ):
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.hardtanh(input, min_val=self.min_val, max_val=self.max_val, inplace=self.inplace)


class LeakyReLU(FunctionLayer):
    """x, or x * negative_slope where x < 0. [...] -> [...]"""

    shows_all = True

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False):
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.leaky_relu(input, negative_slope=self.negative_slope, inplace=self.inplace)


class LogSigmoid(FunctionLayer):
    """log(sigmoid(x)), safe for large negative x. [...] -> [...]"""

    def forward(self, input: Tensor) -> Tensor:
        return activation.logsigmoid(input)


class LogSoftmax(FunctionLayer):
    """Logarithm of softmax along a dim, safe for large values. [..., n, ...] -> [..., n, ...]"""

    shows_all = True

    def __init__(self, dim: int | None = None, dtype: DTypeLike | None = None):
        self.dim, self.dtype = dim, dtype

    def forward(self, input: Tensor) -> Tensor:
        return softmax.log_softmax(input, dim=self.dim, dtype=self.dtype)


class Mish(FunctionLayer):
    """x * tanh(softplus(x)). [...] -> [...]"""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.mish(input, inplace=self.inplace)


class ReLU(FunctionLayer):
    """max(x, 0). [...] -> [...]"""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return elementwise.relu(input, inplace=self.inplace)


class ReLU6(FunctionLayer):
    """x limited to [0, 6]."""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.relu6(input, inplace=self.inplace)


class SELU(FunctionLayer):
    """elu scaled so that a deep net keeps mean 0 and variance 1 (Klambauer et al., 2017). [...] -> [...]"""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.selu(input, inplace=self.inplace)


class Shrink(FunctionLayer):
    """x - bias above lambd, x + bias below -lambd, 0 between (ONNX's Shrink). [...] -> [...]

    Raises ValueError if lambd is below 0.
    """

    def __init__(self, lambd: float = 0.5, bias: float = 0.0):
        self.lambd, self.bias = lambd, bias

    def forward(self, input: Tensor) -> Tensor:
        return activation.shrink(input, lambd=self.lambd, bias=self.bias)


class SiLU(FunctionLayer):
    """x * sigmoid(x). [...] -> [...]"""

    def __init__(self, inplace: bool = False):
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.silu(input, inplace=self.inplace)


class Sigmoid(FunctionLayer):
    """1 / (1 + exp(-x)). [...] -> [...]"""

    def forward(self, input: Tensor) -> Tensor:
        return elementwise.sigmoid(input)


class Softmax(FunctionLayer):
    """exp(input) normalised to sum to 1 along a dim. [..., n, ...] -> [..., n, ...]"""

    def __init__(self, dim: int | None = None, dtype: DTypeLike | None = None):
        self.dim, self.dtype = dim, dtype

    def forward(self, input: Tensor) -> Tensor:
        return softmax.softmax(input, dim=self.dim, dtype=self.dtype)


class Softmin(FunctionLayer):
    """softmax of -x. [..., n, ...] -> [..., n, ...]"""

    def __init__(self, dim: int | None = None, dtype: DTypeLike | None = None):
        self.dim, self.dtype = dim, dtype

    def forward(self, input: Tensor) -> Tensor:
        return activation.softmin(input, dim=self.dim, dtype=self.dtype)


class Softplus(FunctionLayer):
    """log(1 + exp(beta * x)) / beta; x itself above the threshold, where they agree. [...] -> [...]"""

    shows_all = True

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return activation.softplus(input, beta=self.beta, threshold=self.threshold)


class Softshrink(FunctionLayer):
    """x moved towards 0 by lambd, 0 where |x| <= lambd. [...] -> [...]

    Raises ValueError if lambd is below 0.
    """

    def __init__(self, lambd: float = 0.5):
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return activation.softshrink(input, lambd=self.lambd)


class Softsign(FunctionLayer):
    """x / (1 + |x|). [...] -> [...]"""

    def forward(self, input: Tensor) -> Tensor:
        return activation.softsign(input)


class SwiGLU(FunctionLayer):
    """silu(a) * b of the halves a, b (Shazeer, 2020). [..., 2n, ...] -> [..., n, ...]

    Raises ValueError if the size of the dim is odd.
    """

    def __init__(self, dim: int = -1):
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return activation.swiglu(input, dim=self.dim)


class Tanh(FunctionLayer):
    """Hyperbolic tangent. [...] -> [...]"""

    def forward(self, input: Tensor) -> Tensor:
        return elementwise.tanh(input)


class Tanhshrink(FunctionLayer):
    """x - tanh(x). [...] -> [...]"""

    def forward(self, input: Tensor) -> Tensor:
        return activation.tanhshrink(input)


class Threshold(FunctionLayer):
    """x, or `value` where x <= threshold. [...] -> [...]

    Raises ValueError if the dtype has no such value.
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False):
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return activation.threshold(input, threshold=self.threshold, value=self.value, inplace=self.inplace)


class ThresholdedReLU(FunctionLayer):
    """x, or 0 where x <= alpha (ONNX's ThresholdedRelu). [...] -> [...]"""

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return activation.thresholded_relu(input, alpha=self.alpha)

"""Padding layers: constant, reflected, replicated or circular padding of the last dims."""

from ..core.sizes import integers
from ..errors import ValueError
from ..tensor import Tensor
from .module import Module


class Padding(Module):
    """Base of padding layers: numbers of elements at both ends of the last `nd` dims, the last first."""

    nd: int
    mode = "constant"
    value: float = 0.0

    def __init__(self, padding: int | tuple[int, ...]):
        n = 2 * self.nd  # two ends for each dim
        padding = integers(padding, "padding")
        self.padding = (padding,) * n if isinstance(padding, int) else tuple(padding)
        if len(self.padding) != n:
            rule = f"padding must be a number or {n} numbers, two for each dim"
            raise ValueError(f"{type(self).__name__}({self.padding}): {rule}: pass that many")

    def forward(self, input: Tensor) -> Tensor:
        # modes that read neighbours take one or no batch dim, as in PyTorch
        if self.mode != "constant" and input.ndim not in (self.nd + 1, self.nd + 2):
            rule = f"takes {self.nd + 1} or {self.nd + 2} dims, channels before the {self.nd} that are padded"
            raise ValueError(f"{type(self).__name__}({list(input.shape)}): {rule}: reshape it")
        return input.pad(self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(Padding):
    def __init__(self, padding: int | tuple[int, ...], value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(Padding):
    pass


class _ReflectionPad(Padding):
    mode = "reflect"


class _ReplicationPad(Padding):
    mode = "replicate"


class _CircularPad(Padding):
    mode = "circular"


class ConstantPad1d(_ConstantPad):
    """Pad with a value at both ends of the last dim. [..., l] -> [..., ol]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 1


class ConstantPad2d(_ConstantPad):
    """Pad with a value at both ends of the last two dims. [..., h, w] -> [..., oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 2


class ConstantPad3d(_ConstantPad):
    """Pad with a value at both ends of the last three dims. [..., d, h, w] -> [..., od, oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 3


class ZeroPad1d(_ZeroPad):
    """Pad with zeros at both ends of the last dim. [..., l] -> [..., ol]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 1


class ZeroPad2d(_ZeroPad):
    """Pad with zeros at both ends of the last two dims. [..., h, w] -> [..., oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 2


class ZeroPad3d(_ZeroPad):
    """Pad with zeros at both ends of the last three dims. [..., d, h, w] -> [..., od, oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 3


class ReflectionPad1d(_ReflectionPad):
    """Pad by reflection at the outermost elements at both ends of
    the last dim. [..., l] -> [..., ol]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 1


class ReflectionPad2d(_ReflectionPad):
    """Pad by reflection at the outermost elements at both ends of
    the last two dims. [..., h, w] -> [..., oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 2


class ReflectionPad3d(_ReflectionPad):
    """Pad by reflection at the outermost elements at both ends of
    the last three dims. [..., d, h, w] -> [..., od, oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 3


class ReplicationPad1d(_ReplicationPad):
    """Repeat the outermost elements at both ends of the last dim. [..., l] -> [..., ol]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 1


class ReplicationPad2d(_ReplicationPad):
    """Repeat the outermost elements at both ends of the last two dims. [..., h, w] -> [..., oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 2


class ReplicationPad3d(_ReplicationPad):
    """Repeat the outermost elements at both ends of the last three dims. [..., d, h, w] -> [..., od, oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 3


class CircularPad1d(_CircularPad):
    """Pad with the elements of the opposite end at both ends of the last dim. [..., l] -> [..., ol]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 1


class CircularPad2d(_CircularPad):
    """Pad with the elements of the opposite end at both ends of
    the last two dims. [..., h, w] -> [..., oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 2


class CircularPad3d(_CircularPad):
    """Pad with the elements of the opposite end at both ends of
    the last three dims. [..., d, h, w] -> [..., od, oh, ow]

    ValueError for a wrong number of paddings.

    padding: elements added at both ends, one number or one for each dim
    """

    nd = 3

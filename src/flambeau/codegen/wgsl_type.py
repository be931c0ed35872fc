"""The WGSL type of a value, and its literals, as templates write them."""

from typing import Any

from ..core.dtype import SHORT

INFINITY = (
    "bitcast<f32>({}u | min(lid.x, 0u))"  # WGSL has no such constant, and none may be made at compile time
)

LARGEST = {"f32": INFINITY.format("0x7f800000"), "i32": "2147483647", "u32": "4294967295u", "bool": "true"}

SMALLEST = {"f32": INFINITY.format("0xff800000"), "i32": "-2147483647 - 1", "u32": "0u", "bool": "false"}


class Wgsl(str):
    """A WGSL type as templates see it: its text, its relatives, and the functions called on it."""

    dtype: Any
    width: int
    called: dict

    def __new__(cls, short: str, width: int, called: dict):
        dtype = SHORT[short]
        self = super().__new__(cls, vec(dtype.wgsl, width))
        self.dtype, self.width, self.called = dtype, width, called
        return self

    @property
    def kind(self) -> str:
        return self.dtype.kind

    @property
    def zero(self) -> str:
        return "false" if self.kind == "b" else "0"

    @property
    def highest(self) -> str:
        return LARGEST[self.dtype.wide.short]

    @property
    def lowest(self) -> str:
        return SMALLEST[self.dtype.wide.short]

    @property
    def u(self) -> str:
        return vec("u32", self.width)

    @property
    def i(self) -> str:
        return vec("i32", self.width)

    @property
    def b(self) -> str:
        return vec("bool", self.width)

    @property
    def scalar(self) -> "Wgsl":
        return Wgsl(self.dtype.short, 1, self.called)

    def fn(self, name: str) -> str:
        return f"{name}_{self.dtype.wide.short}" + (f"x{self.width}" if self.width > 1 else "")

    def call(self, name: str) -> str:
        """The name of a library function for this type, which is thereby added to the kernel."""
        self.called.setdefault(self.fn(name), (name, self))
        return self.fn(name)

    def of(self, stored: str) -> str:
        """A stored scalar as a value of this type."""
        if self.kind == "b":
            return f"{self}({stored} != 0u)"
        return self.wrap(f"{self}({stored})")

    def load(self, buffer: str, at: str, width: int) -> str:
        """Element `at` of a buffer (with its three neighbours at width 4) as a value of this type, splatted
        when it is narrower."""
        if self.dtype.is_packed:
            cell = self._unpack(buffer, at, width)
        else:
            cell = f"{buffer}[{f'({at}) / 4u' if width == 4 else at}]"
        if self.kind == "b":
            cell = f"({cell} != {vec('u32', width)}(0u))"
        return f"{self}({cell})" if width < self.width else cell

    def _unpack(self, buffer: str, at: str, width: int) -> str:
        unpack = Wgsl(self.dtype.short, width, self.called).call(f"unpack_{self.dtype.short}")
        if width == 4:
            return f"{unpack}({buffer}[({at}) / 4u])"
        return f"{unpack}({buffer}[({at}) / {4 // self.dtype.itemsize}u], {at})"

    def store(self, value: str) -> str:
        """A value of this type as what its buffer holds; a packed one is four neighbours."""
        if self.dtype.is_packed:
            assert self.width == 4, "packed elements are written in whole words"
            return f"{self.call(f'pack_{self.dtype.short}')}({value})"
        return f"select({self.u}(0u), {self.u}(1u), {value})" if self.kind == "b" else value

    def wrap(self, value: str) -> str:
        """A computed value in the range of its integer of 8 or 16 bits; of other types it is left alone."""
        if not (self.dtype.is_int and self.dtype.is_packed):
            return value
        shift = f"{self.u}({32 - 8 * self.dtype.itemsize}u)"
        return f"(({value} << {shift}) >> {shift})"

    def settle(self, value: str) -> str:
        """A value as it would be read back from a buffer: 16-bit floats are rounded."""
        if self.dtype.is_float and self.dtype.is_packed:
            return f"{self.call(f'settle_{self.dtype.short}')}({value})"
        return self.wrap(value)


def vec(scalar: str, width: int) -> str:
    return scalar if width == 1 else f"vec{width}<{scalar}>"

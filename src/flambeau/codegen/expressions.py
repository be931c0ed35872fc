"""Formats types and expressions of WGSL for templates: loads, sums without zeros, indices."""

from collections.abc import Iterable
from typing import Any

from ..core.dtype import SHORT

# Of the dtypes without infinities. WGSL has no literal -2147483648: the sign is an operator.
LARGEST = {"i32": "2147483647", "u32": "4294967295u", "bool": "true"}
SMALLEST = {"i32": "-2147483647 - 1", "u32": "0u", "bool": "false"}


def with_suffix(text: str, end: str) -> str:
    """A name with a suffix; a filter of templates."""
    return f"{text}{end}"


def with_prefix(text: str, begin: str) -> str:
    """A name with a prefix; a filter of templates."""
    return f"{begin}{text}"


def parenthesize(text: str) -> str:
    """An operand of a product: in parentheses unless it is a single name."""
    return text if text.replace(".", "").isidentifier() else f"({text})"  # `p.size` is one name too


def plus(a: str, n: int) -> str:
    """a + n."""
    return f"{a} + {n}u" if n else a


def times(a: str, n: int) -> str:
    """a * n."""
    return a if n == 1 else f"{parenthesize(a)} * {n}u"


def over(a: str, n: int) -> str:
    """a / n."""
    return a if n == 1 else f"{parenthesize(a)} / {n}u"


def modulo(a: str, n: int) -> str:
    """a % n."""
    return "0u" if n == 1 else f"{parenthesize(a)} % {n}u"


def sum_of(*terms: str) -> str:
    """The sum of the terms, of which those that are 0 are left out."""
    return " + ".join([t for t in terms if t and t != "0u"]) or "0u"


def index_of(index: Any, suffix: str = "") -> str:
    """A WgslIndex: its offset, and each coordinate (with a suffix) times its stride."""
    terms = [f"p.{index.offset}"] if index.offset else []
    # A stride of 1 is part of the structure, not a Params name.
    terms += [f"{c}{suffix}" if s == "1" else f"{c}{suffix} * p.{s}" for c, s in index.terms]
    return " + ".join(terms) or "0u"


def within(tests: Iterable[Any]) -> str:
    """Whether every position of PaddingTests is below its size."""
    return " & ".join([f"({index_of(t.position)} < p.{t.size})" for t in tests])


def of_four(name: str, i: int) -> str:
    """The i-th of the numbers that lie in the vec4s name0, name1, ..."""
    return f"{name}{i // 4}.{'xyzw'[i % 4]}"


EXPRESSIONS = {
    f.__name__: f for f in (parenthesize, plus, times, over, modulo, sum_of, index_of, within, of_four)
}


class Wgsl(str):
    """A WGSL type as templates see it: its text, related types, and the library functions called for it."""

    dtype: Any
    width: int
    called: dict[str, tuple[str, "Wgsl"]]

    def __new__(cls, short: str, width: int, called: dict[str, tuple[str, "Wgsl"]]):
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
        """The largest scalar: the minimum of no elements."""
        return LARGEST.get(self.dtype.wide.short) or self._constant("infinity")

    @property
    def lowest(self) -> str:
        """The smallest scalar: the maximum of no elements."""
        return SMALLEST.get(self.dtype.wide.short) or self._constant("minus_infinity")

    @property
    def infinity(self) -> str:
        return self._splat(self._constant("infinity"))

    @property
    def minus_infinity(self) -> str:
        return self._splat(self._constant("minus_infinity"))

    @property
    def nan(self) -> str:
        return self._splat(self._constant("not_a_number"))

    def _constant(self, name: str) -> str:
        """A call of a library function of no arguments: see wgsl/lib/math.wgsl."""
        return f"{self.scalar.call(name)}()"

    def _splat(self, scalar: str) -> str:
        return f"{self}({scalar})" if self.width > 1 else scalar

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
        """The name of a library function for this type. Records the function, so that its text is added."""
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
            cell = f"{buffer}[{over(at, 4) if width == 4 else at}]"
        if self.kind == "b":
            cell = f"({cell} != {vec('u32', width)}(0u))"
        return f"{self}({cell})" if width < self.width else cell

    def _unpack(self, buffer: str, at: str, width: int) -> str:
        unpack = Wgsl(self.dtype.short, width, self.called).call(f"unpack_{self.dtype.short}")
        if width == 4:
            return f"{unpack}({buffer}[{over(at, 4)}])"
        # The word of the element, and the element's index, whose low bits select the part of the word.
        return f"{unpack}({buffer}[{over(at, 4 // self.dtype.itemsize)}], {at})"

    def store(self, value: str) -> str:
        """A value of this type in the form that its buffer holds; four neighbours if it is packed."""
        if self.dtype.is_packed:
            assert self.width == 4, "packed elements are written in whole words"
            return f"{self.call(f'pack_{self.dtype.short}')}({value})"
        return f"select({self.u}(0u), {self.u}(1u), {value})" if self.kind == "b" else value

    def wrap(self, value: str) -> str:
        """Bring a computed 8- or 16-bit integer into its range; other types are unchanged."""
        if not (self.dtype.is_int and self.dtype.is_packed):
            return value
        # Left, then right: the right shift fills with the sign bit if the value is an i32.
        shift = f"{self.u}({32 - 8 * self.dtype.itemsize}u)"
        return f"(({value} << {shift}) >> {shift})"

    def settle(self, value: str) -> str:
        """Round a 16-bit float as a store would, and wrap small integers."""
        if self.dtype.is_float and self.dtype.is_packed:
            return f"{self.call(f'settle_{self.dtype.short}')}({value})"
        return self.wrap(value)


def vec(scalar: str, width: int) -> str:
    return scalar if width == 1 else f"vec{width}<{scalar}>"

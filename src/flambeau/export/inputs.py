"""Derives the inputs of a program (names, dtypes, shapes) from examples and texts such as "f32[N, 784]"."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, NamedTuple, Protocol

from ..core import dtype as dt
from ..core.node import describe
from ..core.tree import is_dict, is_mapping, is_sequence
from ..tensor import Tensor, tensor

SPEC = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*")


class HasBuffers(Protocol):
    """A module, by its buffers."""

    def named_buffers(self) -> Iterable[tuple[str, Tensor]]:
        """(name, tensor) for all buffers."""
        ...


States = Mapping[str, Tensor] | Sequence[Tensor] | HasBuffers  # tensors that a program's calls change


class Spec(NamedTuple):
    """An input: its name, dtype and shape. "N" stands for the batch size."""

    name: str
    dtype: dt.DType
    shape: tuple[int | str, ...]

    def at(self, n: int) -> tuple[int, ...]:
        """Return the shape at batch size n."""
        return tuple(n if s == "N" else int(s) for s in self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.short}[{', '.join(map(str, self.shape))}]"


def specs_of(fn: Callable[..., Any], example_inputs: Any, max_batch: int) -> list[Spec]:
    """Return the inputs of `fn` from a tensor, an array or a text, or a list, or a dict by name, of these.

    The first dim of a tensor or array is the batch; a text marks it by N.
    """
    if is_dict(example_inputs):
        named: dict[str, Any] = example_inputs
    else:
        examples: Sequence[Any] = example_inputs if is_sequence(example_inputs) else [example_inputs]
        named = dict(zip(names_of(fn, len(examples)), examples, strict=True))
    firsts = {name: t.shape[0] for name, t in named.items() if getattr(t, "shape", ())}
    if len(set(firsts.values())) > 1:
        listed = ", ".join(f"{name} has {n}" for name, n in firsts.items())
        rule = f"the first dim of each example is the batch, and its sizes differ: {listed}"
        raise ValueError(
            f"save_program: {rule}: describe inputs without a batch by a string such as 'f32[3, 4]'"
        )
    most = max(firsts.values(), default=0)
    if most > max_batch:
        raise ValueError(f"save_program: the example is a batch of {most}: pass max_batch={most} or more")
    return [spec_of(name, value) for name, value in named.items()]


def names_of(fn: Callable[..., Any], count: int) -> list[str]:
    """Return the names of a function's first arguments, or x0, x1, ... if it has no signature."""
    try:
        parameters = list(signature(getattr(fn, "forward", fn)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in plain][:count]
    return names if len(names) == count else ["x"] if count == 1 else [f"x{i}" for i in range(count)]


def spec_of(name: str, value: Any) -> Spec:
    """Return the input that an example, or a text such as "f32[N, 784]", describes."""
    if not isinstance(value, str):
        # A scalar has no batch: it is the same at each size.
        t = value if isinstance(value, Tensor) else tensor(value)
        return Spec(name, t.dtype, ("N", *t.shape[1:]) if t.shape else ())
    match = SPEC.fullmatch(value)
    sizes = [s.strip() for s in match[2].split(",") if s.strip()] if match else []
    if match is None or not all(s == "N" or s.isdecimal() for s in sizes):
        rule = "write a dtype and a shape in which N is the batch size, as in 'f32[N, 784]'"
        raise ValueError(f"save_program: {name}={value!r} is not an input: {rule}")
    return Spec(name, dt.as_dtype(match[1]), tuple(s if s == "N" else int(s) for s in sizes))


def states_of(state: States | None) -> dict[str, Tensor]:
    """Return the tensors of a program's state by name; TypeError or ValueError for anything else."""
    if state is None:
        return {}
    if hasattr(state, "named_buffers"):
        state = dict(state.named_buffers())  # type: ignore[union-attr]
    if not is_mapping(state) and not is_sequence(state):
        rule = "pass tensors by name, a list of tensors, or a module, whose buffers are taken"
        raise TypeError(f"save_program: state is {describe(state)}: {rule}")
    named = dict(state) if is_mapping(state) else {f"state.{i}": t for i, t in enumerate(state)}
    for name, t in named.items():
        if not isinstance(t, Tensor):
            raise TypeError(f"save_program: state {name!r} is {describe(t)}: pass a tensor")
    if len({id(t) for t in named.values()}) < len(named):
        raise ValueError("save_program: state has a tensor twice: pass each once")
    return named

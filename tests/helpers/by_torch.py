"""A random program on torch's CPU tensors: its own lines, wherever torch has all that they name.

Floats are float64 there, whatever their dtype: what NumPy's float64 lines say has to come out, but for the
noise of float64 itself, and a device's float32 has to lie within the same bounds around it.
"""

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from flambeau.core import dtype as dt
from flambeau.selftest import reference
from flambeau.selftest.compare import dtypes_of
from flambeau.selftest.programs import Line, Program, loss_of, settle_value

# how torch says that it lacks a name, an op of a dtype, or a way to give an argument
REFUSALS = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)
PLACES = ("places", "each")  # kinds of inputs that index, which torch wants in int64
# what a line says otherwise there: floats are wide, and sorts stable when asked
TEXTS = (
    (re.compile(r"\.float\(\)"), ".double()"),
    (re.compile(r"sort\((\d+), (\w+)\)"), r"sort(dim=\1, descending=\2, stable=True)"),
)
# what carries a dtype in torch; it computes next to nothing in uint32
CARRIERS = {d: "float64" for d in dt.FLOATS} | {dt.uint32: "int64", dt.bool_: "bool"}


@dataclass
class Told:
    """What torch gives, by name, and the lines that it refused, with its words."""

    values: dict[str, np.ndarray] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def in_torch(text: str) -> str:
    for pattern, other in TEXTS:
        text = pattern.sub(other, text)
    return text


class ByTorch:
    """Runs a program line by line; a line that torch refuses has NumPy's value, and no slopes then."""

    def __init__(self, torch, program: Program):
        self.torch, self.program, self.dtypes = torch, program, dtypes_of(program)
        names = {name: getattr(torch, name) for name in dir(torch) if not name.startswith("_")}
        names |= {
            f"{d.name}{'_' * (d is dt.bool_)}": self.carrier(d) for d in {*self.dtypes.values(), *dt.FLOATS}
        }
        del names["rand"]  # whose numbers are not Philox's
        self.scope: dict[str, Any] = {"fb": SimpleNamespace(**names), "F": torch.nn.functional, "np": np}
        self.said = {"np": np, "ref": reference, "stream": reference.Stream(program.seed)}
        self.told = Told()

    def carrier(self, dtype: dt.DType) -> Any:
        return getattr(self.torch, CARRIERS.get(dtype, dtype.name))

    def run(self) -> Told:
        for given in self.program.inputs:
            a = given.array()
            made = self.torch.tensor(a)
            made = made if given.kind in PLACES else made.to(self.carrier(given.dtype))
            self.scope[given.name] = made.requires_grad_() if given.name in self.program.by else made
            self.said[given.name] = a
        for line in self.program.lines:
            self.line(line)
        found = {name: self.scope[name] for name in self.program.results} | self.slopes()
        self.told.values = {
            name: t.detach().resolve_conj().resolve_neg().numpy() for name, t in found.items()
        }
        return self.told

    def line(self, line: Line) -> None:
        dtype = self.dtypes[line.name]
        with np.errstate(all="ignore"):
            said = self.said[line.name] = settle_value(eval(line.says, self.said), dtype)
        try:
            made = eval(in_torch(line.text), self.scope)
        except REFUSALS as e:
            self.told.refused.append(f"{line.text}: {type(e).__name__}: {str(e).splitlines()[0]}")
            made = self.torch.tensor(np.array(said, order="C"))
        made = made.to(self.carrier(dtype))  # an int64 where ours is an int32, which wraps
        self.scope[line.name] = made & 0xFFFFFFFF if dtype is dt.uint32 else made

    def slopes(self) -> dict[str, Any]:
        """The loss and its slopes by each input that they are asked for; of equals topk takes any there."""
        if not self.program.by or self.told.refused or any(".topk(" in x.text for x in self.program.lines):
            return {}
        loss = eval(loss_of(self.program.results, "v.double()"), self.scope)
        inputs = [self.scope[n] for n in self.program.by]
        try:
            slopes = self.torch.autograd.grad(loss, inputs, allow_unused=True)
        except RuntimeError as e:  # floor_divide has none there
            self.told.refused.append(f"slopes: {e}")
            return {}
        given = zip(self.program.by, inputs, slopes, strict=True)
        return {"loss": loss} | {f"by_{n}": t * 0 if s is None else s for n, t, s in given}

"""Plans as tests speak of them: what each kernel is, reads, writes and computes."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

import flambeau as fb
from flambeau.codegen.render import render
from flambeau.core.limits import SOFTWARE_TURNS, Limits
from flambeau.core.node import toposort
from flambeau.fusion import planner
from flambeau.fusion.plan import Plan
from flambeau.kernels.ir import Kernel

GPU, SOFTWARE = Limits(), Limits(software=True, turns=SOFTWARE_TURNS)


@dataclass(frozen=True)
class Planned:
    """One kernel of a plan.

    kind: map, map_multi, map_bundle, tree, serial, rows, windows, ...: its template's name.
    reads, writes: how many buffers it binds for each; `over` of those that it writes, it reads there as well.
    shape: of the value that it computes (the first where there are several).
    """

    kernel: Kernel
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """What is fused: "matmul+add+relu"."""
        return self.kernel.name

    @property
    def kind(self) -> str:
        return PurePosixPath(self.kernel.shader.template).stem

    @property
    def reads(self) -> int:
        return len(self.kernel.inputs)

    @property
    def writes(self) -> int:
        return len(self.kernel.outputs)

    @property
    def over(self) -> int:
        return len(self.kernel.over)

    @property
    def reads_what_it_writes_over(self) -> bool:
        """Whether it also binds, to read, a buffer that it writes over."""
        return any(value in self.kernel.inputs for _, value in self.kernel.over)

    @property
    def width(self) -> int:
        """How many neighbours a thread writes at once."""
        return self.kernel.shader.outs[0][1]

    @property
    def ends(self) -> str:
        """Why what it computes is stored."""
        return self.kernel.ends

    @property
    def joins(self) -> int:
        """How many kernels' work it does."""
        return max(1, len(self.kernel.parts))

    @property
    def casts(self) -> int:
        """How many casts it computes."""
        steps = [s for _, f in self.kernel.shader.functions for s in f.steps]
        return sum(s.kind == "op" and s.name == "cast" for s in steps)

    def option(self, name: str):
        """What the template is told by a name."""
        return dict(self.kernel.shader.options)[name]

    @cached_property
    def wgsl(self) -> str:
        return render(self.kernel.shader)


def leaf(*shape: int, seed: int = 0, dtype: str = "f4"):
    """A tensor of normal numbers that has its value: a leaf of every plan."""
    return fb.tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype)).realize()


def plan_of(*tensors, limits: Limits = GPU, dying=None) -> Plan:
    """The plan of tensors; dying: tensors that nobody reads later, as in a recorded step (None: none is)."""
    nodes = [t.node for t in tensors]
    order = toposort(nodes)
    if dying is not None:
        dying = frozenset(order.index(t.node) for t in dying)
    return planner.plan(nodes, limits, order, dying)


def kernels_of(*tensors, limits: Limits = GPU, dying=None) -> list[Planned]:
    """The kernels that compute tensors, in order; of `limits` and `dying` plan_of speaks."""
    plan = plan_of(*tensors, limits=limits, dying=dying)
    return [Planned(k, c.shape) for k, c in zip(plan.kernels, plan.costs, strict=True)]


def names_of(*tensors, **options) -> list[str]:
    """What each kernel fuses, by names of ops."""
    return [k.name for k in kernels_of(*tensors, **options)]


def kinds_of(*tensors, **options) -> list[str]:
    return [k.kind for k in kernels_of(*tensors, **options)]


def the_kernel_of(*tensors, **options) -> Planned:
    """The one kernel that computes tensors; several fail the test by their names."""
    kernels = kernels_of(*tensors, **options)
    assert len(kernels) == 1, f"{len(kernels)} kernels: {[k.name for k in kernels]}"
    return kernels[0]

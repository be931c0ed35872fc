"""Shows the value of a WGSL variable in every invocation of a kernel, read from the device."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ..core.events import subscribe
from ..core.node import Node
from ..device.protocol import Gpu
from ..errors import KernelError
from ..inspector.call import TargetCall, tensors_of
from ..runtime import run
from ..runtime.state import compute_with
from ..wgsl_reader import syntax as s
from ..wgsl_reader.parser import line_of
from ..wgsl_reader.types import concrete, element_of, width_of
from .probes import HEADER, ProbeWriter
from .probing import Launched, compute
from .sanitize import name_of
from .saved import subscriber_of

STORED = {"f32": "f4", "i32": "i4", "u32": "u4", "bool": "?"}
MOST = 64 << 20  # bytes kept for one run


@dataclass
class WatchedValue:
    """A variable's values in one run of a kernel. values: by workgroup and thread, x first, [groups,
    threads], or for a vector [groups, threads, n]; 0 where a thread did not reach it. counts: how often each
    thread did. type: in WGSL. template, template_line, line: where it is first set, in the templates and in
    the kernel."""

    kernel: str
    name: str
    type: str
    values: Any
    counts: Any
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    template: str
    template_line: int
    line: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        arrays = {"values": in_json(self.values), "counts": self.counts.tolist()}
        return {k: v for k, v in vars(self).items() if k not in arrays} | arrays

    def facts(self) -> list[tuple[str, str]]:
        """Facts about the values as (name, text): extremes with their places, values that are not finite."""
        groups, threads = self.counts.shape
        came = int(np.count_nonzero(self.counts))
        total = f"{self.counts.size:,} threads ({groups:,} workgroups of {threads})"
        facts = [("came by", f"{came:,} of {total}")]
        if came and (most := int(self.counts.max())) > 1:
            facts.append(("times", f"{int(self.counts[self.counts > 0].min()):,} to {most:,}"))
        reached = self.values[self.counts > 0]  # of threads that reached it
        if self.values.dtype.kind == "f":
            for name, bad in (("NaN", np.isnan), ("infinite", np.isinf)):
                if count := int(np.count_nonzero(bad(reached))):
                    place = self._place(bad(self.values))
                    facts.append((name, f"{count:,} of {reached.size:,}, first {place}"))
            reached = reached[np.isfinite(reached)]
        if reached.size and reached.dtype.kind != "b":
            for name, value in (("least", reached.min()), ("largest", reached.max())):
                facts.append((name, f"{value:.7g} {self._place(self.values == value)}"))
            facts.append(("mean", f"{reached.mean(dtype='f8'):.7g}"))
        elif reached.size:
            facts.append(("true", f"{int(reached.sum()):,} of {reached.size:,}"))
        return facts

    def _place(self, where: Any) -> str:
        """The first thread that reached the variable with one of these values."""
        matches = where.reshape(*self.counts.shape, -1).any(-1) & (self.counts > 0)
        group, thread = np.argwhere(matches)[0]
        return f"in workgroup {group}, thread {thread}"

    def __str__(self) -> str:
        place = f"{self.template}:{self.template_line}, line {self.line} of the kernel"
        groups, threads = self.counts.shape
        head = f"{self.kernel}.{self.name}: {self.type} ({place}), {groups} workgroups of {threads} threads"
        return f"{head}\n{self.values}"

    __repr__ = __str__


def in_json(values: Any) -> Any:
    """An array as lists. JSON has no NaN or infinity: they become text."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return values.tolist()
    if values.ndim:
        return [in_json(part) for part in values]
    return str(values.item())


def watch(
    fn: Callable[..., Any], *args: Any, name: str, turn: int | None = None, **kw: Any
) -> list[WatchedValue]:
    """Call a function once and return the values of a WGSL variable, for every run of the matching kernels:
    each invocation's last value, or its value at the `turn`-th assignment (from 0 on). Runs of kernels named
    exactly KERNEL come first.

    name: KERNEL.NAME. KERNEL is a kernel's name, an op in it, or its template's stem (rows for
    reduce/rows.wgsl); NAME is a let, a var, or else a parameter. ValueError for a name of another form.
    KernelError if no kernel or variable matches, or the variable is neither a number nor a vector of one
    type.
    fn: the function
    """
    return watching(name, turn)(TargetCall(name_of(fn), fn, args, kw))


def watching(name: str, turn: int | None = None) -> Callable[[TargetCall], list[WatchedValue]]:
    """A function that watches a variable during a call."""
    kernel, _, value = name.rpartition(".")
    if not kernel or not value.isidentifier():
        raise ValueError(f"watch(name={name!r}): is not KERNEL.NAME: inspect or .wgsl() shows the names")
    if turn is not None and turn < 0:
        raise ValueError(f"watch(turn={turn}): turns count from 0: pass 0 or more")

    def look(call: TargetCall) -> list[WatchedValue]:
        session = _Watching(kernel, value, turn)
        with compute_with(session.compute), subscribe("saved", subscriber_of(session.look)):
            run.realize(*tensors_of(call.fn(*call.args, **call.kw)))
        if not session.values and session.refused is not None:
            raise session.refused
        if not session.values:
            kernel_names = ", ".join(dict.fromkeys(session.names)) or "none ran"
            raise KernelError(f"watch(name={name!r}): no kernel {kernel!r}: its kernels: {kernel_names}")
        # kernels with exactly that name first
        return sorted(session.values, key=lambda value: value.kernel != kernel)

    return look


class _Watching:
    """The watched kernels of one call."""

    def __init__(self, kernel: str, value: str, turn: int | None):
        self.kernel, self.value, self.turn = kernel, value, turn
        self.values: list[WatchedValue] = []
        self.names: list[str] = []
        self.refused: KernelError | None = None  # why a kernel whose name contains the name was not watched
        self.pipelines: dict[Any, int] = {}

    def compute(self, device: Gpu, roots: list[Node]) -> None:
        """Compute nodes, matching kernels with a probe."""
        compute(device, roots, self.look)

    def look(self, launched: Launched, order: list[Node]) -> None:
        """Run a kernel, with a probe if its name matches."""
        kernel, shader = launched.kernel, launched.shader
        self.names.append(kernel.name)
        ops = {step.name for _, f in shader.functions for step in f.steps if step.kind == "op"}
        # A kernel is known by its full name, a part of that, its template, and its ops.
        called = {kernel.name, *re.split(r"[+.]", kernel.name), shader.template, *ops}
        if self.kernel not in called | {PurePosixPath(shader.template).stem}:
            return launched.run_plain()
        try:
            probes = WatchProbe(launched.text, launched.bindings, self.value, self.turn, kernel.name)
        except KernelError as e:
            if self.kernel == kernel.name:
                raise
            self.refused = self.refused or e  # another kernel may have the value
            return launched.run_plain()
        width, threads = width_of(probes.type) + 1, int(np.prod(shader.workgroup))
        words = launched.groups * threads * width
        if 4 * words > MOST:
            limit = f"{4 * words:,} bytes of values, more than {MOST:,}: call it on less"
            raise KernelError(f"watch({kernel.name}.{self.value}): {limit}")
        got = launched.run_probed(probes.write(), self.pipelines, (shader, self.value), words)
        rows = got[HEADER:].reshape(launched.groups, threads, width)  # [groups, threads, count and values]
        element = STORED[element_of(probes.type) if width > 2 else probes.type]
        values = rows[..., 1:].copy()
        values = values.astype(bool) if element == "?" else values.view(element)
        line = line_of(launched.text, probes.places[0].start)
        place = launched.line(line).places or ((shader.template, 0),)
        self.values.append(
            WatchedValue(
                kernel.name,
                self.value,
                probes.type,
                values if width > 2 else values[..., 0],
                rows[..., 0],
                launched.command.grid,
                shader.workgroup,
                *place[0],
                line,
            )
        )


class WatchProbe(ProbeWriter):
    """Writes a module in which each thread keeps a variable's value, and how often it was set."""

    def __init__(self, text: str, bindings: int, name: str, turn: int | None, kernel: str):
        super().__init__(text, bindings)
        self.name = name
        self.places: list[s.Declare | s.WgslParameter] = self._declarations_of_name()
        called = f"watch({kernel}.{name})"
        if not self.places:
            raise KernelError(f"{called}: no such value{self._suggestion()}")
        others = {self._type(d) for d in self.places}
        self.type = others.pop()
        if others or element_of(self.type) not in STORED or self.type.startswith(("array", "mat")):
            types = ", ".join(sorted({self.type, *others}))
            raise KernelError(f"{called}: has type {types}: watch a number or a vector of one type")
        self.helpers = self._helpers(turn)

    def _type(self, d: s.Declare | s.WgslParameter) -> str:
        return concrete(self.types.of(d) if isinstance(d, s.Declare) else self.types.plain(d.type))

    def _all(self) -> list[s.Declare | s.WgslParameter]:
        declarations: list[s.Declare | s.WgslParameter] = []
        for f in self.module.functions:
            declarations += f.parameters
            declarations += [p for p in f.body.walk() if isinstance(p, s.Declare)]
        return declarations

    def _declarations_of_name(self) -> list[s.Declare | s.WgslParameter]:
        matches = [d for d in self._all() if d.name == self.name]
        return [d for d in matches if isinstance(d, s.Declare)] or matches  # variables before parameters

    def _suggestion(self) -> str:
        names = sorted({d.name for d in self._all()})
        near = get_close_matches(self.name, names, 1)
        return f": did you mean {near[0]!r}?" if near else f": the values are {', '.join(names)}"

    def _helpers(self, turn: int | None) -> str:
        when = "true" if turn is None else f"probe_hits == {turn}u"
        return (
            f"var<private> probe_kept: {self.type};\nvar<private> probe_hits: u32;\n"
            f"fn probe_keep(x: {self.type}) {{\n  if ({when}) {{\n    probe_kept = x;\n  }}\n"
            "  probe_hits += 1u;\n}\n"
        )

    def finish(self) -> str:
        width = width_of(self.type)
        element = element_of(self.type) if width > 1 else self.type
        x = "probe_kept"
        names = [x] if width == 1 else [f"{x}.{c}" for c in "xyzw"[:width]]
        stored = [f"u32({n})" if element == "bool" else f"bitcast<u32>({n})" for n in names]
        thread = f"probe_group * {self.threads}u + probe_thread"
        lines = [f"  let probe_place = {HEADER}u + ({thread}) * {width + 1}u;\n"]
        lines.append("  atomicStore(&probe[probe_place], probe_hits);\n")
        lines += [f"  atomicStore(&probe[probe_place + {i}u], {v});\n" for i, v in enumerate(stored, 1)]
        return "".join(lines)

    # --- where it is set ---

    def _is_target(self, d: Any) -> bool:
        return any(d is place for place in self.places)

    @property
    def _keep(self) -> str:
        return f" probe_keep({self.name});"

    def _keep_at_begin(self, block: s.Statements) -> str:
        """A block that begins by keeping the value."""
        text = self.inner(block)
        return f"{{{self._keep}{text[1:]}"

    def _Routine(self, f: s.Routine) -> str:
        if not any(map(self._is_target, f.parameters)):
            return super()._Routine(f)
        return self.rename(f, self.splice(f, [(f.body, self._keep_at_begin(f.body))]))

    def _For(self, part: s.For) -> str:
        if not self._is_target(part.first):
            return self.inner(part)
        return self.splice(part, [(part.body, self._keep_at_begin(part.body))])

    def _Declare(self, part: s.Declare) -> str:
        return self.raw(part) + (self._keep if self._is_target(part) else "")

    def _Assign(self, part: s.Assign) -> str:
        root = s.root_of(part.to)
        is_its = isinstance(root, s.Name) and self._is_target(self.types.declared.get(id(root)))
        is_statement = self.text[part.end - 1] == ";"  # not the step of a `for`, where no call may follow
        return self.raw(part) + (self._keep if is_its and is_statement else "")

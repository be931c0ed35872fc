"""Collects the records of a call into the rows of an Inspection."""

from collections.abc import Iterator
from typing import Any

from ..codegen.render import lines_of, template_line, vec
from ..core.commands import Dispatch
from ..core.dtype import SHORT
from ..kernels.ir import Shader, out_name
from ..kernels.substitute import input_name
from ..wgsl_reader import syntax as s
from ..wgsl_reader.parser import declarations, line_of
from .dispatches import Dispatched
from .model import BindingRow, KernelRow, OpRow, ShaderRow, SiteRow, ValueRow
from .plans import NodeSeen, PlanSeen, PlansSeen
from .sites import Tables

HEADS = ("contract", "reduce", "fold", "opaque", "pair", "output")  # kinds of ops that have templates
ValueKey = tuple[int] | tuple[int, int]  # (op,), or (plan, value) for a temporary


class Rows:
    """Builds the rows of an Inspection, kernel by kernel."""

    def __init__(self, plans: PlansSeen, tables: Tables):
        self.plans, self.tables = plans, tables
        self.ops: list[OpRow] = []
        self.shaders: dict[Any, tuple[int, ShaderRow]] = {}
        self.places: dict[tuple[str, int], int] = {}
        self.kernels: list[KernelRow] = []
        self.values: list[dict[str, Any]] = []
        self._of_plan: dict[int, tuple[int, list[int]]] = {}  # id of a plan -> its number, its nodes' ops
        self._of_origin: dict[int, int] = {}  # origin of a node -> its last op
        self._value_of: dict[ValueKey, int] = {}  # the last value of each key

    def add(self, one: Dispatched) -> None:
        """Add the next kernel."""
        if one.plan is None:
            return self._add_unknown(one)
        seen, place = one.plan, one.place
        kernel = seen.compiled.plan.kernels[place]
        number, ops = self._plan(seen)
        nodes = seen.kernels[place]
        position = len(self.kernels)
        shader = self._shader(kernel.shader)
        inputs = [self._note_read(seen, number, v, position) for v in kernel.inputs]
        for _, under in kernel.over:
            value = self.values[self._note_read(seen, number, under, position)]
            # The value's buffer is overwritten here, so the value ends with the kernel before.
            value["end"], value["is_over"] = max(position - 1, value["begin"]), True
        outputs = [self._note_write(seen, number, v, position) for v in kernel.outputs]
        self.kernels.append(
            KernelRow(
                **_times_of(one),
                shader=shader,
                plan=number,
                ends=kernel.ends,
                is_new=seen.is_new[place],
                ops=tuple(ops[n] for n in nodes),
                head=self._head(seen, ops, nodes),
                steps={step: ops[n] for step, n in seen.steps[place].items()},
                inputs=tuple(inputs),
                outputs=tuple(outputs),
                params=one.words,
            )
        )

    def _add_unknown(self, one: Dispatched) -> None:
        """Add a kernel that was planned before the call: its text is known, its ops are not."""
        pipeline = one.command.pipeline
        # The cache of pipelines knows which text a pipeline was compiled from.
        shader = next((s for s, p in one.device.pipelines.items() if p == pipeline), None)
        texts = ((key[0], key) for key, p in one.device.saved_pipelines.items() if p == pipeline)
        shader_index = (
            self._shader(shader) if shader is not None else self._text(*next(texts, ("", ("", 0, 0))))
        )
        self.kernels.append(KernelRow(**_times_of(one), shader=shader_index))

    # --- ops ---

    def _plan(self, seen: PlanSeen) -> tuple[int, list[int]]:
        row = self._of_plan.get(id(seen))
        if row is None:
            ops: list[int] = []
            row = self._of_plan[id(seen)] = len(self._of_plan), ops
            for node in seen.nodes:
                ops.append(self._op(node, ops))
        return row

    def _op(self, node: NodeSeen, ops: list[int]) -> int:
        """Return the number of a node's op. A leaf that an earlier plan computed has the op that computed
        it."""
        if node.kind == "leaf" and node.origin in self._of_origin:
            return self._of_origin[node.origin]
        site = self.plans.sites.of_node.get(node.origin)
        name = self.tables.names.get(node.param, "") if node.param is not None else ""
        slope = site.slope if site is not None else -1
        row = OpRow(
            name=name or ("from before" if node.kind == "leaf" and site is None else node.name),
            kind=node.kind,
            shape=node.shape,
            dtype=node.dtype,
            inputs=tuple(ops[i] for i in node.inputs if i < len(ops)),
            layer=self.tables.layer(site),
            site=self.tables.site(site),
            call=site.call if site is not None else "",
            gradient_of=self._of_origin.get(slope, -1),
        )
        self.ops.append(row)
        self._of_origin[node.origin] = len(self.ops) - 1  # a later plan's leaf refers to this op
        return len(self.ops) - 1

    def _head(self, seen: PlanSeen, ops: list[int], nodes: tuple[int, ...]) -> int:
        # A kernel has the template of its first head; a map is named by its last elementwise op.
        for kinds in (HEADS, ("elementwise", "gather")):
            candidates = [n for n in nodes if seen.nodes[n].kind in kinds]
            if candidates:
                return ops[candidates[0] if kinds is HEADS else candidates[-1]]
        return ops[nodes[-1]] if nodes else -1

    # --- texts ---

    def _shader(self, shader: Shader) -> int:
        if shader in self.shaders:
            return self.shaders[shader][0]
        lines = lines_of(shader, self.plans.texts.get(shader))
        wgsl = "\n".join(line.text for line in lines) + "\n"
        row = ShaderRow(
            template=shader.template,
            wgsl=wgsl,
            places=tuple(tuple(self._place(p) for p in line.places) for line in lines),
            steps=_steps_of_lines(wgsl, shader, len(lines)),
            workgroup=shader.workgroup,
            bindings=tuple(_bindings(shader)),
            params=shader.params,
            options={name: str(value) for name, value in shader.options},
        )
        return self.shaders.setdefault(shader, (len(self.shaders), row))[0]

    def _text(self, text: str, key: tuple[str, int, int]) -> int:
        """Add a text without a shader, as a saved program has."""
        lines = text.splitlines()
        _, inputs, outputs = key
        names = [*map(input_name, range(inputs)), *map(out_name, range(outputs))]
        bindings = tuple(BindingRow(name, "", i >= inputs) for i, name in enumerate(names))
        row = ShaderRow("", text, ((),) * len(lines), ("",) * len(lines), (), bindings, (), {})
        return self.shaders.setdefault(key, (len(self.shaders), row))[0]

    def _place(self, place: tuple[str, int]) -> int:
        return self.places.setdefault(place, len(self.places))

    def place_rows(self) -> tuple[SiteRow, ...]:
        return tuple(SiteRow(file, n, "", template_line(file, n)) for file, n in self.places)

    # --- values ---

    def _key(self, seen: PlanSeen, number: int, v: int) -> ValueKey:
        # A node's value is the same in all plans; a temporary belongs to one.
        node = seen.of_value.get(v)
        return (self._of_plan[id(seen)][1][node],) if node is not None else (number, v)

    def _note_read(self, seen: PlanSeen, number: int, v: int, position: int) -> int:
        key = self._key(seen, number, v)
        if key not in self._value_of:  # read before any kernel of the call wrote it
            self._new(seen, key, v, 0, "leaf")
        value = self._value_of[key]
        self._end(value, position)
        return value

    def _note_write(self, seen: PlanSeen, number: int, v: int, position: int) -> int:
        key = self._key(seen, number, v)
        before = self._value_of.get(key)
        if before is not None and self.values[before]["kind"] != "leaf" and len(key) == 1:
            self._end(before, position)  # several kernels write parts of it
            return before
        return self._new(seen, key, v, position, "result" if v in seen.compiled.plan.roots else "temporary")

    def _end(self, value: int, position: int) -> None:
        self.values[value]["end"] = max(position, self.values[value]["begin"])

    def _new(self, seen: PlanSeen, key: ValueKey, v: int, position: int, kind: str) -> int:
        op = key[0] if len(key) == 1 else -1
        name = self.ops[op].name if op >= 0 else "part of a result"
        self._value_of[key] = len(self.values)
        row: dict[str, Any] = {
            "name": name,
            "kind": kind,
            "nbytes": seen.sizes.get(v, 0),
            "op": op,
            "begin": position,
            "end": position,
        }
        self.values.append(row)
        return len(self.values) - 1

    def value_rows(self) -> tuple[ValueRow, ...]:
        last = len(self.kernels) - 1
        for v in self.values:
            # Leaves and results outlive the call.
            if v["kind"] != "temporary" and not v.pop("is_over", False):
                v["end"] = last
        return tuple(ValueRow(**{k: n for k, n in v.items() if k != "is_over"}) for v in self.values)


def _times_of(one: Dispatched) -> dict[str, Any]:
    work, c = one.work, one.command
    assert isinstance(c, Dispatch)
    # Only later calls: the first one includes warm-up.
    warm = one.times[one.first :] or one.times
    seconds = sum(warm) * one.runs / max(len(warm), 1)
    times = {"runs": one.runs, "seconds": seconds, "least": min(warm, default=0.0)}
    times["timed"] = len(one.times)
    costs = {"reads": work.reads, "writes": work.writes, "flops": work.flops}
    return {"name": work.name, "grid": tuple(c.grid), "shape": tuple(work.shape)} | times | costs


def _steps_of_lines(wgsl: str, shader: Shader, count: int) -> tuple[str, ...]:
    """Return for each line the step that it computes as "function.variable", or ""."""
    steps = {name: {step.var for step in function.steps} for name, function in shader.functions}
    names = [""] * count
    for f in declarations(wgsl).functions:
        if f.name not in steps:  # the template's functions have no steps
            continue
        for part in f.body.walk():
            target = part.to if isinstance(part, s.Assign) else part if isinstance(part, s.Declare) else None
            name = getattr(target, "name", "")
            if name in steps[f.name]:
                names[line_of(wgsl, part.start) - 1] = f"{f.name}.{name}"
    return tuple(names)


def _bindings(shader: Shader) -> Iterator[BindingRow]:
    for i, (stored, words) in enumerate(shader.bindings):
        yield BindingRow(input_name(i), f"array<{vec(stored, words)}>", False)
    for i, (short, width) in enumerate(shader.outs):
        dtype = SHORT[short]
        yield BindingRow(out_name(i), f"array<{vec(dtype.stored, dtype.words[width])}>", True)

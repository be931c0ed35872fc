"""Exports a kernel of an Inspection as one file: a script that needs only wgpu, a page, or a custom op."""

import base64
import json
import re
import zlib
from collections.abc import Callable
from difflib import unified_diff
from html import escape
from pathlib import Path
from typing import Any

from ..codegen.render import template_text
from ..core.dtype import SHORT
from ..core.faults import BYTES
from ..core.files import template_folder
from ..errors import FlambeauError, KernelError
from ..wgsl_reader import syntax as s
from ..wgsl_reader.interface import interface_of
from ..wgsl_reader.parser import declarations
from ..wgsl_reader.types import element_of, width_of
from .again import decode, pad_to_words
from .model import Inspection, KernelRow

HERE = Path(__file__).parent
MOST = 8 << 20  # the most bytes of packed inputs in a file
GENERATED = "Its inputs are generated: the call's were not kept, or are too large for a file."
RECORDED = "Its inputs are those of the call."


def row_of(inspection: Inspection, kernel: int) -> KernelRow:
    """Return a kernel by its number; FlambeauError for an invalid number."""
    if not 0 <= kernel < len(inspection.kernels):
        last = len(inspection.kernels) - 1
        raise FlambeauError(f"inspect: kernel {kernel} does not exist: pass {f'0 to {last}' if last else 0}")
    return inspection.kernels[kernel]


def contents(inspection: Inspection, kernel: int) -> dict[str, str]:
    """Return the contents of a kernel's inputs by name, deflated and in base 64; {} if they are unknown or
    too large."""
    try:
        inputs: dict[str, bytes] = (
            inspection.session.inputs_of(kernel) if inspection.session is not None else {}
        )
    except FlambeauError:
        return {}
    packed = {name: base64.b64encode(zlib.compress(raw)).decode() for name, raw in inputs.items()}
    return packed if sum(map(len, packed.values())) <= MOST else {}


def buffers(inspection: Inspection, kernel: int, wgsl: str) -> list[dict[str, Any]]:
    """Return the buffers that a text binds, in order: name, bytes, whether it is written, contents."""
    row, packed = row_of(inspection, kernel), contents(inspection, kernel)
    names = [b.name for b in inspection.shaders[row.shader].bindings]
    sizes = dict(
        zip(
            names,
            (pad_to_words(inspection.values[v].nbytes) for v in (*row.inputs, *row.outputs)),
            strict=False,
        )
    )
    if not sizes:
        raise FlambeauError(f"inspect: {row.name}: it was planned before the call: its bindings are unknown")
    largest = max(sizes.values())
    return [
        {
            "name": b.name,
            "nbytes": BYTES if b.name == "faults" else sizes.get(b.name, largest),
            "writes": b.writes,
            "packed": packed.get(b.name),
        }
        for b in interface_of(wgsl).buffers
    ]


def title_of(inspection: Inspection, row: KernelRow) -> str:
    return f"{row.name} of {inspection.target}"


def note_of(bound: list[dict[str, Any]]) -> str:
    return RECORDED if any(b["packed"] is not None for b in bound) else GENERATED


def script(inspection: Inspection, kernel: int, wgsl: str | None = None) -> str:
    """Write a Python script that runs a kernel on its inputs without Flambeau. FlambeauError for an invalid
    number."""
    row = row_of(inspection, kernel)
    text = inspection.shaders[row.shader].wgsl if wgsl is None else wgsl
    bound = buffers(inspection, kernel, text)
    rows = [f"    ({b['name']!r}, {b['nbytes']}, {b['writes']}, {b['packed']!r})," for b in bound]
    parts = {
        "title": plain(title_of(inspection, row)),
        "note": note_of(bound),
        "wgsl": quote(text),
        "grid": repr(tuple(row.grid)),
        "params": repr(words_of(inspection, row, text)),
        "buffers": "\n".join(rows),
    }
    return fill("kernel.txt", parts)


def page(inspection: Inspection, kernel: int, wgsl: str | None = None) -> str:
    """Write a page that runs a kernel on its inputs in a browser. Errors: as `script`."""
    row = row_of(inspection, kernel)
    text = inspection.shaders[row.shader].wgsl if wgsl is None else wgsl
    bound = buffers(inspection, kernel, text)
    data = {"wgsl": text, "grid": row.grid, "params": words_of(inspection, row, text), "buffers": bound}
    packed = base64.b64encode(zlib.compress(json.dumps(data).encode())).decode()
    title = escape(title_of(inspection, row))
    return fill("kernel.html", {"title": title, "note": note_of(bound), "data": packed}, twice="title")


def fill(file: str, parts: dict[str, str], twice: str = "") -> str:
    """Return a file of this folder with its {names} replaced by texts. twice: a name that occurs twice."""
    names = "|".join(parts)
    remaining = {name: 2 if name == twice else 1 for name in parts}

    def replacement(match: re.Match[str]) -> str:
        name = match[1]
        remaining[name] -= 1
        return parts[name] if remaining[name] >= 0 else match[0]

    # One pass, so that names inside of inserted text are not replaced.
    return re.sub(rf"\{{({names})\}}", replacement, HERE.joinpath(file).read_text("utf-8"))


def words_of(inspection: Inspection, row: KernelRow, text: str) -> list[int]:
    """Return the words of the Params that a text declares; KernelError for one that the kernel does not
    have."""
    numbers = dict(zip((n for n, _ in inspection.shaders[row.shader].params), row.params, strict=True))
    params = interface_of(text).params
    for name, _ in params:
        if name not in numbers:
            raise KernelError(f"inspect: Params.{name}: {row.name} does not have it: remove it")
    return [numbers[name] for name, _ in params]


def plain(text: str) -> str:
    """Replace characters of a text that could end a docstring."""
    return text.replace("\\", "/").replace('"""', "'''")


def quote(text: str) -> str:
    """Write a text as a Python literal, verbatim if possible."""
    return repr(text) if '"""' in text or "\\" in text else f'"""\n{text}"""'


# --- a custom op ---

OP = '''"""{title}, as an operation."""

import flambeau as fb

TEMPLATE = {template}


def launch(limits, *inputs):
    reads = tuple(range(len(inputs)))
    return [fb.Launch("", reads, {grid}, sizes={sizes}, width={width}, wide={wide}, workgroup={workgroup})]


def reference(xp, {names}):
    raise NotImplementedError("write what the kernel computes: fb.testing.check_op compares")


{name} = fb.custom_op(
    {name!r},
    [{quoted_names}],
    reference=reference,
    kernel=TEMPLATE,
    launch=launch,
    shape=lambda *shapes: {shape},
    dtype=fb.{dtype},
)
# {name}({names}) computes what the kernel did, for inputs of these shapes:
# {shapes}
'''


def custom_op(inspection: Inspection, kernel: int, wgsl: str | None = None) -> str:
    """Write a kernel as a `custom_op` for inputs of its sizes. FlambeauError if it writes several results, or
    its Params have signed numbers."""
    row = row_of(inspection, kernel)
    shader = inspection.shaders[row.shader]
    text = shader.wgsl if wgsl is None else wgsl
    module = declarations(text)
    declared = interface_of(module)
    if not module.entries:
        rule = "it has no main function: write @compute @workgroup_size(...) fn main(...)"
        raise KernelError(f"inspect: {row.name}: {rule}")
    if len(declared.writes) != 1 or len(row.outputs) != 1 or "faults" in text:
        raise FlambeauError(f"inspect: {row.name}: it writes several buffers: a custom op writes one")
    if any(kind == "i32" for _, kind in declared.params):
        raise FlambeauError(f"inspect: {row.name}: it has i32 Params: a custom op supports u32 and f32")
    numbers = dict(zip((n for n, _ in shader.params), words_of(inspection, row, shader.wgsl), strict=True))
    op = (
        inspection.ops[inspection.values[row.outputs[0]].op]
        if inspection.values[row.outputs[0]].op >= 0
        else None
    )
    if op is None:
        raise FlambeauError(
            f"inspect: {row.name}: it computes a part of a result: a custom op must compute all of it"
        )
    inputs = [inspection.values[v] for v in row.inputs]
    shapes = [inspection.ops[v.op] if v.op >= 0 else None for v in inputs]
    names = [b.name for b in declared.reads]
    by_name = dict(zip((b.name for b in shader.bindings), shapes, strict=False))
    input_ops = [by_name.get(n) for n in names]
    name = re.sub(r"\W+", "_", row.name).strip("_").lower()
    return OP.format(
        title=plain(title_of(inspection, row)),
        template=quote(_template(module)),
        grid=tuple(row.grid),
        sizes={n: decode(numbers[n], kind) for n, kind in declared.params},
        width=_width(declared.writes[0].type),
        wide=tuple(i for i, b in enumerate(declared.reads) if _width(b.type) == 4),
        workgroup=(*module.entry.workgroup, 1, 1)[:3],
        names=", ".join(names),
        name=f"kernel_{name}",
        quoted_names=", ".join(map(repr, names)),
        shape=repr(tuple(op.shape)),
        dtype=SHORT[op.dtype].name,
        shapes=", ".join(
            f"{n}: {o.dtype}{list(o.shape)}" for n, o in zip(names, input_ops, strict=True) if o
        ),
    )


def _width(wgsl: str) -> int:
    """Return the number of scalars in an element of an array type."""
    return width_of(element_of(wgsl))


def _template(module: s.WgslModule) -> str:
    """Write a module as a template that extends kernel.wgsl, which declares bindings and Params."""
    text, entry = module.text, module.entry
    declared = {"workgroup_id": "wid", "local_invocation_id": "lid"}  # the skeleton's names of builtins
    more = [text[p.start : p.end] for p in entry.parameters if p.builtin not in declared]
    names = {p.builtin: p.name for p in entry.parameters}
    lets = [f"  let {names[b]} = {d};" for b, d in declared.items() if names.get(b, d) != d]
    enables = [d for d in module.directives if d.word != "const_assert"]
    bound = [v for v in module.variables if v.binding >= 0]
    params = [x for x in module.structs if x.name in {v.type for v in bound if v.space == "uniform"}]
    # The skeleton declares these; the rest of the module becomes the block of declarations.
    cut = [(x.start, x.end) for x in (*enables, *params)] + [(x.head, x.end) for x in (*bound, entry)]
    rest, offset = "", 0
    for start, end in sorted(cut):
        rest, offset = rest + text[offset:start], end
    lines = [line for line in (rest + text[offset:]).splitlines() if line.strip()]
    blocks = {
        "enables": "\n".join(text[d.start : d.end] for d in enables),
        "builtins": "".join(f"{parameter}, " for parameter in more),
        "declarations": "\n".join(lines),
        "body": "\n".join([*lets, text[entry.opens + 1 : entry.end - 1].strip("\n")]),
    }
    lines = ['//% extends "kernel.wgsl"']
    for name, text in blocks.items():
        if name == "builtins":
            if text:
                lines.append(f"{{% block builtins %}}{text}{{% endblock %}}")
        elif text:
            lines += [f"//% block {name}", "{% raw %}", text, "{% endraw %}", "//% endblock"]
    return "\n".join(lines) + "\n"


def patch(templates: dict[str, str]) -> str:
    """Write edited templates as a unified diff of `wgsl/` for `git apply`. FlambeauError for a custom op's
    text, which has no file there."""
    out: list[str] = []
    for name, text in templates.items():
        if not (template_folder() / name).is_file():
            raise FlambeauError(
                f"inspect: {name}: is the WGSL of a custom op: change it where the op is declared"
            )
        before, after = (t.splitlines(keepends=True) for t in (template_text(name), f"{text.rstrip()}\n"))
        out += unified_diff(before, after, f"a/wgsl/{name}", f"b/wgsl/{name}")
    return "".join(out)


KINDS: dict[str, Callable[..., str]] = {"script": script, "page": page, "custom_op": custom_op}

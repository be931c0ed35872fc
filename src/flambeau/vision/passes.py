"""Stages become one pass over the pixels: a row of numbers for each sample, and a kernel that reads it."""

from typing import Any

from ..core import dtype as dt
from ..core.modes import is_grad_enabled
from ..core.node import describe
from ..core.op import Launch, Op, apply
from ..custom import custom_op
from ..tensor import Tensor
from .reference import augmented
from .stages import Images, Pass, Place, PlaceStage, Tone, ToneStage


def run_pass(x: Any, images: Images, places: list[Place], tones: list[Tone]) -> Any:
    """Images [n, c, h, w] of uint8 or float32 through all stages. -> float32

    ValueError where gradients would have to flow through it: the pass has none.
    """
    if x.requires_grad and is_grad_enabled():
        rule = "transforms have no gradients: give images.detach(), or transform inside no_grad()"
        raise ValueError(f"{describe(x)} requires gradients: {rule}")
    numbers: list[Any] = []
    put_places = [PlaceStage(_put(numbers, p.numbers), p.rule) for p in places]
    put_tones = [ToneStage(t.kind, _put(numbers, t.numbers), t.constants) for t in tones]
    kinds = [t.kind for t in tones]
    contrast = "contrast" in kinds
    fills = [p.fill for p in places if p.fill is not None]
    structure = Pass(
        tuple(put_places),
        any(p.bilinear for p in places),
        fills[0] if fills else (0.0,) * images.channels,
        tuple(put_tones),
        tuple(put_tones[: kinds.index("contrast")]) if contrast else (),
        images.channels,
        1 if "gray" in kinds and tones[kinds.index("gray")].constants[0] == 1 else images.channels,
        max(len(numbers), 1) + contrast,
        contrast,
    )
    if not numbers:
        numbers.append(Tensor.zeros(images.n, device=images.device))
    sizes = ((images.height, images.width), *(p.size for p in places))
    return AUGMENT(x, _table(numbers, images), structure=structure, sizes=sizes)


def _put(numbers: list[Any], more: tuple[Any, ...]) -> tuple[str, ...]:
    """What each number of a stage is in the kernels: a place in its sample's row, or a number for all."""
    words = []
    for v in more:
        words.append(f"t{len(numbers)}" if hasattr(v, "node") else repr(float(v)))
        numbers += [v] if hasattr(v, "node") else []
    return tuple(words)


def _table(numbers: list[Any], images: Images) -> Any:
    """All numbers of each sample side by side, as one expression: so one kernel. [n] each -> [n, k]"""
    column = Tensor.arange(len(numbers), dtype=dt.int32, device=images.device).reshape(1, -1).float()
    table, made = None, {}
    for k in range(0, len(numbers), PICKED):
        few = [_across(v, len(numbers), made) for v in numbers[k : k + PICKED]]
        few += few[-1:] * (PICKED - len(few))
        found = PICK(column - k, *few)
        table = found if table is None else (column < k).where(table, found)
    return table


def _across(number: Any, width: int, made: dict[int, Any]) -> Any:
    """A number of each sample, computed in every column of its row: [n] -> [n, width].

    A value of [n] that several columns read would be stored, each by a kernel of its own: repeating a few
    operations in each column is cheaper.
    """
    node = number.node
    if id(node) not in made:
        if node.op.kind == "elementwise" and node.buffer is None:
            given = [_across(Tensor(i), width, made).node for i in node.inputs]
            found = Tensor(apply(node.op, tuple(given), node.attrs, node.scalars, node.device))
        else:
            found = number.reshape(-1, 1).expand(number.shape[0], width) if number.ndim else number
        made[id(node)] = found
    return made[id(node)]


def _nested(values: list[str]) -> str:
    text = values[-1]
    for k, v in reversed(list(enumerate(values[:-1]))):
        text = f"select({text}, {v}, {{{{ column }}}} < {{{{ T }}}}({k}.5))"
    return text


def _picked(xp: Any, column: Any, values: Any) -> Any:
    found = values[-1]
    for k, v in reversed(list(enumerate(values[:-1]))):
        found = xp.where(column < k + 0.5, v, found)
    return found


def _launches(limits: Any, x: Any, table: Any, structure: Pass, sizes: Any) -> list[Launch]:
    n = x.shape[0]
    height, width = sizes[-1]
    pixels = height * width
    threads = 64 if limits.software else 256
    part = threads * (16 if limits.software else 4)  # for which a thread reads its sample's row once
    parts = -(-pixels // part)
    quantities: dict[str, int | float] = {"pixels": pixels, "width": width}
    for k, (h, w) in enumerate(sizes):
        quantities |= {f"h{k}": float(h), f"w{k}": float(w)}
    options = {"g": structure}
    line = (threads, 1, 1)
    pixel = Launch(
        "vision/pixels.wgsl",
        (0, "rows"),
        n * parts,
        quantities | {"part": part, "parts": parts},
        options,
        workgroup=line,
    )
    rows = Launch(
        "vision/rows.wgsl",
        (0,) if structure.contrast else (),
        n,
        quantities,
        options,
        writes="rows",
        elements=n * structure.numbers,
        dtype=dt.float32,
        workgroup=line,
        traced=1,
        turns=-(-pixels // threads) if structure.contrast else 1,
    )
    return [rows, pixel]


PICKED = 8
PICK = custom_op(
    "picked_number",
    ["column", *(f"v{k}" for k in range(PICKED))],
    expression=_nested([f"{{{{ v{k} }}}}" for k in range(PICKED)]),
    reference=lambda xp, column, *v: _picked(xp, column, v),
    doc="The number of a column: v0 in column 0 and before it, v1 in column 1, ... [...] each -> [...]",
)

AUGMENT = Op(
    "opaque",
    name="augment",
    xp=augmented,
    shape=lambda x, table, structure, sizes: (x[0], structure.made, *sizes[-1]),
    dtype=lambda *_, **__: dt.float32,
    launch=_launches,
    reads_packed=True,
    prepare=lambda x, table, **attrs: ((x, table), attrs),
    doc="Images through places and colours in one pass. [n, c, h, w], [n, k] -> [n, c, h, w] float32",
)

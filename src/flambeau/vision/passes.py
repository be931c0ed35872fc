"""Runs stages as one pass over the pixels: a kernel reads a row of numbers for each sample."""

from typing import Any

from ..core import dtype as dt
from ..core.modes import is_grad_enabled
from ..core.node import describe
from ..core.op import Launch, Op, apply
from ..custom import custom_op
from ..tensor import Tensor
from .reference import augment
from .stages import Images, Pass, Place, PlaceStage, Tone, ToneStage


def run_pass(x: Any, images: Images, places: list[Place], tones: list[Tone]) -> Any:
    """Apply all stages to images [n, c, h, w] of uint8 or float32. -> float32

    Raises ValueError if the images require gradients: the pass has none.
    """
    if x.requires_grad and is_grad_enabled():
        rule = "transforms are not differentiable: pass images.detach(), or transform inside no_grad()"
        raise ValueError(f"{describe(x)} requires gradients: {rule}")
    numbers: list[Any] = []
    place_stages = [PlaceStage(_to_wgsl(numbers, p.numbers), p.rule) for p in places]
    tone_stages = [ToneStage(t.kind, _to_wgsl(numbers, t.numbers), t.constants) for t in tones]
    kinds = [t.kind for t in tones]
    contrast = "contrast" in kinds
    # all that are not None are equal (PassBuilder._same_fill)
    fills = [p.fill for p in places if p.fill is not None]
    structure = Pass(
        tuple(place_stages),
        any(p.bilinear for p in places),
        fills[0] if fills else (0.0,) * images.channels,
        tuple(tone_stages),
        tuple(tone_stages[: kinds.index("contrast")]) if contrast else (),
        images.channels,
        1 if "gray" in kinds and tones[kinds.index("gray")].constants[0] == 1 else images.channels,
        max(len(numbers), 1) + contrast,
        contrast,
    )
    # the kernel's second input must exist, even if all numbers are literals
    if not numbers:
        numbers.append(Tensor.zeros(images.n, device=images.device))
    sizes = ((images.height, images.width), *(p.size for p in places))
    return AUGMENT(x, _table(numbers, images), structure=structure, sizes=sizes)


def _to_wgsl(numbers: list[Any], more: tuple[Any, ...]) -> tuple[str, ...]:
    """Return the WGSL text of each number of a stage: an element of the sample's row, or a literal."""
    words: list[str] = []
    for v in more:
        # hasattr node: a tensor, which differs by sample
        words.append(f"t{len(numbers)}" if hasattr(v, "node") else repr(float(v)))
        numbers += [v] if hasattr(v, "node") else []
    return tuple(words)


def _table(numbers: list[Any], images: Images) -> Any:
    """Stack all numbers of each sample in one expression, so that one kernel computes them. [n] each -> [n,
    k]"""
    column = Tensor.arange(len(numbers), dtype=dt.int32, device=images.device).reshape(1, -1).float()
    table: Any = None
    across: dict[int, Tensor] = {}  # by the id of a node
    # A storage buffer for each number would exceed the 8 that WebGPU guarantees: eight at a time.
    for k in range(0, len(numbers), PICKED):
        expanded = [_expand_across(v, len(numbers), across) for v in numbers[k : k + PICKED]]
        expanded += expanded[-1:] * (PICKED - len(expanded))
        picked = PICK(column - k, *expanded)
        table = picked if table is None else (column < k).where(table, picked)
    return table


def _expand_across(number: Any, width: int, computed: dict[int, Tensor]) -> Tensor:
    """Expand a number of each sample over the columns of its row, which recompute it. [n] -> [n, width]

    A value of [n] that several columns read would need its own kernel to store it. Repeating a few operations
    in each column is cheaper.
    """
    node = number.node
    if id(node) not in computed:
        # recompute unevaluated elementwise expressions in each column; anything else is expanded
        if node.op.kind == "elementwise" and node.buffer is None:
            inputs = tuple(_expand_across(Tensor(i), width, computed).node for i in node.inputs)
            rows = Tensor(apply(node.op, inputs, node.attrs, node.scalars, node.device))
        else:
            rows = number.reshape(-1, 1).expand(number.shape[0], width) if number.ndim else number
        computed[id(node)] = rows
    return computed[id(node)]


def _nest_selects(values: list[str]) -> str:
    text = values[-1]
    for k, v in reversed(list(enumerate(values[:-1]))):
        # column is a float: compare with k + 0.5
        text = f"select({text}, {v}, {{{{ column }}}} < {{{{ T }}}}({k}.5))"
    return text


def _pick(xp: Any, column: Any, *values: Any) -> Any:
    picked = values[-1]
    for k, v in reversed(list(enumerate(values[:-1]))):
        picked = xp.where(column < k + 0.5, v, picked)
    return picked


def _launches(limits: Any, x: Any, table: Any, structure: Pass, sizes: Any) -> list[Launch]:
    n = x.shape[0]
    height, width = sizes[-1]
    pixels = height * width
    # a workgroup handles `part` consecutive pixels of one sample, so its row of numbers is uniform
    threads = 64 if limits.software else 256
    part = threads * (16 if limits.software else 4)  # pixels for which a thread reads its sample's row once
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
    # first kernel: the rows, and with contrast each image's mean, which the second kernel reads
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


def _shape_of_pass(x: Any, table: Any, structure: Pass, sizes: Any) -> tuple[int, ...]:
    return (x[0], structure.out_channels, *sizes[-1])


def _inputs_of_pass(x: Any, table: Any, **attrs: Any) -> tuple[tuple[Any, Any], dict[str, Any]]:
    return (x, table), attrs


PICKED = 8
PICK = custom_op(
    "picked_number",
    ["column", *(f"v{k}" for k in range(PICKED))],
    expression=_nest_selects([f"{{{{ v{k} }}}}" for k in range(PICKED)]),
    reference=_pick,
    doc="The number of a column: v0 in column 0 and before it, v1 in column 1, ... [...] each -> [...]",
)

AUGMENT = Op(
    "opaque",
    name="augment",
    xp=augment,
    shape=_shape_of_pass,
    dtype=lambda *_, **__: dt.float32,
    launch=_launches,
    reads_packed=True,
    prepare=_inputs_of_pass,
    doc="Applies geometry and colours to images in one pass. [n, c, h, w], [n, k] -> [n, c, h, w] float32",
)

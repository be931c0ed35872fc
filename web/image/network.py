"""Looks at an ONNX file that was dropped, and runs it: on the page's picture, or on random inputs.

What is told of it crosses to network.js as plain dicts and lists.
"""

from dataclasses import replace
from math import exp, isfinite, prod
from typing import Any, NamedTuple

from flambeau_page import emit  # type: ignore[import-not-found]

import flambeau as fb
from flambeau.errors import FlambeauError
from flambeau.models.imagenet import CANVAS, resize_matrix
from flambeau.onnx import OnnxError, OnnxModel, ValueDef
from flambeau.onnx.read import Beside, read_model
from flambeau.onnx.values import tensors_in
from flambeau.onnx.verify import problems

OPEN = 224  # pixels a side where the file leaves it open
LARGEST = 1 << 26  # elements of an input
LISTED = 100  # problems that are told
SHOWN = 8  # numbers of an output that are shown
LOOKED_AT = 1 << 20  # numbers of an output whose least and largest are told
CLASSES = 1000
BEST = 5
NUMBERS = {"float32", "float16", "bool", *(f"{k}{bits}" for k in ("int", "uint") for bits in (8, 16, 32, 64))}
LEARNERS = "ai.onnx.ml"  # trees and the like, which NumPy runs, and a page has none
HOST_ONLY = {"Unique", "RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"}

# bytes into what a network was trained on: what is taken away, and what that is divided by, for each colour
SCALES = {
    "imagenet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "symmetric": ((127.5,) * 3, (127.5,) * 3),
    "unit": ((0.0,) * 3, (255.0,) * 3),
    "bytes": ((0.0,) * 3, (1.0,) * 3),
}


class Picture(NamedTuple):
    """The input that takes a picture: its name, whether colours come first, and its sizes."""

    name: str
    first: bool
    channels: int
    high: int
    wide: int
    rank: int
    dtype: str


class Together(Beside):
    """The files that were dropped with a model: each has its name alone, whatever folder the model names."""

    def file(self, name: str, what: str) -> Any:
        last = name.rpartition("/")[2]
        if self.folder is None or not (self.folder / last).is_file():
            rule = "which was not given: drop or choose it together with the .onnx file"
            raise OnnxError(f"{what}: lies in the file {last!r}, {rule}")
        return super().file(last, what)


class Dropped:
    """A network that was dropped, and how its picture is prepared."""

    def __init__(self, model: OnnxModel):
        self.model, self.picture = model, next(filter(None, map(picture_of, model.inputs)), None)
        if len(model.inputs) != 1:
            self.picture = None
        self.scale = scale_of(self.picture)
        self.call = fb.jit(self.see, check="never")

    def see(self, canvas: fb.Tensor, side: fb.Tensor) -> list:
        """The outputs for a canvas of RGBA bytes, whose first `side` rows and columns are the picture."""
        assert self.picture is not None
        with fb.no_grad():
            return self.model({self.picture.name: prepared(canvas, side, self.picture, self.scale)})


dropped: Dropped | None = None


def look(path: str, name: str) -> dict[str, Any]:
    """Read a file: what it takes and gives, or all that keeps it from running here."""
    global dropped
    dropped = None
    try:
        emit("step", "reading the file")
        definition = replace(read_model(path, Together), place=name)
        found = [*problems(definition), *lacks(definition)]
        if found:
            more = [f"and {len(found) - LISTED} more"] if len(found) > LISTED else []
            return {"problems": [*found[:LISTED], *more]}
        emit("step", "bringing the weights to the GPU")
        dropped = Dropped(OnnxModel(definition))
    except MemoryError:
        return {"problems": [f"{name}: is larger than what this page can hold: take a smaller one"]}
    except Exception as e:  # files come from strangers: whatever one leads to is a line
        return {"problems": [told(e, path, name)]}
    graph, picture = definition.graph, dropped.picture
    weights = sum(prod(a.shape) for a in graph.initializers.values())
    return {
        "problems": [],
        "nodes": len(graph.nodes),
        "weights": weights,
        "inputs": [[v.name, str(v)] for v in dropped.model.inputs],
        "outputs": [[v.name, str(v)] for v in dropped.model.outputs],
        "picture": picture and f"{picture.wide} x {picture.high}",
        "scale": dropped.scale if picture and picture.dtype != "uint8" else "",
    }


def told(e: Exception, path: str, name: str) -> str:
    """An error's text with the file's own name; of one that nobody meant its kind as well."""
    meant = isinstance(e, FlambeauError | ValueError | TypeError)
    text = str(e) if meant else f"is damaged ({type(e).__name__}: {e}): get a whole copy"
    text = text.replace(repr(path), name).replace(path, name)
    return text if text.startswith(name) else f"{name}: {text}"


def lacks(model: Any) -> list[str]:
    """What this page has not, of what the package can run where NumPy is."""
    found = []
    for node in every(model.graph.nodes, *(f.nodes for f in model.functions.values())):
        if node.domain == LEARNERS or (not node.domain and node.op in HOST_ONLY):
            found.append(f"{node.label}: needs NumPy, which is not in this page: run the file on the desktop")
    for v in model.graph.inputs:
        if v.name not in model.graph.initializers and (problem := unfed(v)):
            found.append(f"the input {v.name!r} is {v}: {problem}")
    return found


def every(*lists: Any) -> Any:
    """Nodes, and those of the graphs inside them."""
    for nodes in lists:
        for node in nodes:
            yield node
            yield from every(*(g.nodes for g in node.graphs()))


def unfed(v: ValueDef) -> str:
    """Why the page can't make an input, or ""."""
    if v.kind != "tensor" or v.dtype not in NUMBERS:
        return "this page gives tensors of numbers and bools alone"
    if prod(sizes(v)) > LARGEST:
        return f"that is {prod(sizes(v)):,} elements, and this page gives {LARGEST:,} at most"
    return ""


def sizes(v: ValueDef) -> list[int]:
    """An input's shape; what the file leaves open is 1."""
    return [n if isinstance(n, int) else 1 for n in v.shape or ()]


def picture_of(v: ValueDef) -> Picture | None:
    """An input as one that takes a picture, or None: [n, 3, h, w], [n, h, w, 3] or without n; 1 is grey."""
    if v.shape is None or len(v.shape) not in (3, 4) or v.dtype not in ("float32", "float16", "uint8"):
        return None
    shape = v.shape[-3:]
    if len(v.shape) == 4 and isinstance(v.shape[0], int) and v.shape[0] != 1:
        return None
    first = shape[0] in (1, 3)
    if not first and shape[2] not in (1, 3):
        return None
    channels, *rest = shape if first else (shape[2], *shape[:2])
    high, wide = (n if isinstance(n, int) else OPEN for n in rest)
    if min(high, wide) < 8 or max(high, wide) > 4 * CANVAS:
        return None
    return Picture(v.name, first, int(channels), high, wide, len(v.shape), v.dtype)


def scale_of(picture: Picture | None) -> str:
    """The scale that networks with such an input were mostly trained on."""
    if picture is None or picture.dtype == "uint8":
        return "bytes"
    return "unit" if picture.channels == 1 else "imagenet" if picture.first else "symmetric"


def scaled(scale: str) -> None:
    """Choose another scale."""
    if dropped is not None and scale in SCALES:
        dropped.scale = scale


def prepared(canvas: fb.Tensor, side: fb.Tensor, picture: Picture, scale: str) -> fb.Tensor:
    """The picture as the network takes it. uint8 [CANVAS, CANVAS, 4], float [1] -> as the input's shape"""
    colours = canvas[:, :, :3].float().permute(2, 0, 1)
    small = resize_matrix(side, picture.high) @ colours @ resize_matrix(side, picture.wide).transpose(0, 1)
    if picture.dtype != "uint8":
        less, by = (fb.tensor(part).reshape(3, 1, 1) for part in SCALES[scale])
        small = (small - less) / by
    if picture.channels == 1:
        small = small.mean(0, keepdim=True)
    small = small if picture.first else small.permute(1, 2, 0)
    small = small.round() if picture.dtype == "uint8" else small
    return small.reshape((1,) * (picture.rank - 3) + small.shape).to(dtype=getattr(fb, picture.dtype))


async def see(canvas: Any, side: float) -> dict[str, Any]:
    """What the network says of a picture: the best classes where there are 1,000, else its outputs."""
    assert dropped is not None
    emit("step", "running the network")
    pixels = fb.tensor(canvas).reshape(CANVAS, CANVAS, 4)
    return await answered(lambda: dropped.call(pixels, fb.tensor([float(side)])))


async def draw(seed: int) -> dict[str, Any]:
    """The outputs for random inputs: floats of a normal distribution, integers 0 and 1."""
    assert dropped is not None
    emit("step", "running the network")
    fb.manual_seed(seed)
    model = dropped.model

    def run() -> list:
        with fb.no_grad():
            return model({v.name: drawn(v) for v in model.inputs})

    return await answered(run)


def drawn(v: ValueDef) -> fb.Tensor:
    """A random input."""
    shape, dtype = sizes(v), getattr(fb, v.dtype)
    return fb.randn(*shape).to(dtype) if "float" in v.dtype else fb.randint(0, 2, shape).to(dtype)


async def answered(run: Any) -> dict[str, Any]:
    """What `run` gives, read and told; its errors are told as well."""
    try:
        values = run()
        tensors = list(tensors_in(values))
        fb.realize(*tensors)
        datas = iter([await t.read() for t in tensors])
    except MemoryError:
        return {"problem": "This page has too little memory for this network: take a smaller one."}
    except Exception as e:
        return {"problem": str(e) or type(e).__name__}
    assert dropped is not None
    outputs = [output(v, value, datas) for v, value in zip(dropped.model.outputs, values, strict=True)]
    best = next((o.pop("best") for o in outputs if o.get("best")), None)
    return {"outputs": outputs, "best": best if dropped.picture else None}


def output(v: ValueDef, value: Any, datas: Any) -> dict[str, Any]:
    """An output: its name, what it is, and some of its numbers."""
    if not isinstance(value, fb.Tensor):
        for _ in tensors_in([value]):
            next(datas)
        what = f"a sequence of {len(value)}" if isinstance(value, list) else str(v)
        return {"name": v.name, "what": what, "numbers": "", "range": ""}
    data = next(datas)
    flat = data.flat
    told = f"{value.dtype.name}{list(value.shape)}"
    numbers = ", ".join(short(n) for n in flat[:SHOWN]) + (", …" if len(flat) > SHOWN else "")
    found = {"name": v.name, "what": told, "numbers": numbers, "range": ""}
    if SHOWN < len(flat) <= LOOKED_AT and (finite := [n for n in flat if isfinite(n)]):
        found["range"] = f"{short(min(finite))} to {short(max(finite))}"
    if len(flat) == CLASSES and value.dtype.kind == "f":
        found["best"] = best(flat.tolist())
    return found


def short(n: float) -> str:
    return str(n) if isinstance(n, int) else f"{n:.4g}"


def best(scores: list[float]) -> dict[str, list] | None:
    """The BEST classes and their shares; scores that are no shares become some by softmax."""
    if not all(map(isfinite, scores)):
        return None
    order = sorted(range(CLASSES), key=scores.__getitem__, reverse=True)[:BEST]
    if min(scores) < 0 or abs(sum(scores) - 1) > 0.01:
        top = max(scores)
        scores = [exp(s - top) for s in scores]
        whole = sum(scores)
        scores = [s / whole for s in scores]
    return {"label": order, "share": [scores[i] for i in order]}

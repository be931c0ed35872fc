"""Weights of 8 or 4 bits with a scale for each block of a row, and products with them that read just that."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import dtype as dt
from ..core.choose import choose
from ..core.declare import composed, kernel
from ..core.op import Family, Launch

if TYPE_CHECKING:
    from ..tensor import Tensor

BITS = (8, 4)
CELL = 128  # bits of a vec4<u32>, which a thread reads at once
# On a GPU, up to so many vectors; of more, weights become floats once for a tile of them.
BEST = ((4, "shared"), (16, "blocks"), (47, "words"))
SPREAD = 512  # workgroups of blocks that fill a GPU
FILL, PIECE = 1024, 256  # workgroups of tiles that fill a GPU, and what each adds up at least
DEEP = 4  # cells of 8-bit weights of each row that a thread has under way, where the vector is one
LANES, LINES = 32, 4  # threads along a row, and rows' threads beside each other, of a GPU's workgroup


class Quantized(NamedTuple):
    """A matrix of `bits`-bit integers, excess 2^(bits-1), times a scale for each `block` of a row.

    words: uint32, 32 // bits neighbours each, the first in the low bits. [n, k * bits / 32]
    scales: bfloat16. [n, k / block]
    """

    words: Any
    scales: Any
    bits: int
    block: int

    @property
    def shape(self: Any) -> tuple[int, int]:
        return self.words.shape[0], self.words.shape[1] * 32 // self.bits

    @property
    def nbytes(self: Any) -> int:
        """Bytes of the integers and scales."""
        return 4 * prod(self.words.shape) + 2 * prod(self.scales.shape)

    def dequantize(self: Any) -> Any:
        """The matrix in float32. -> [n, k]"""
        return _floats(self.words, self.scales, self.bits, self.block)

    def __repr__(self: Any) -> str:
        return f"Quantized({list(self.shape)}, bits={self.bits}, block={self.block}, {self.words.device})"


def _floats(words, scales, bits: int, block: int):
    """The float32 matrix that words and scales stand for. [n, k * bits / 32], [n, k / block] -> [n, k]"""
    shifts = type(words).arange(32 // bits, dtype=dt.int32, device=words.device).to(dt.uint32) * bits
    cells = (words.unsqueeze(-1) >> shifts) & (2**bits - 1)
    values = cells.float() - float(2 ** (bits - 1))
    n, blocks = scales.shape
    return (values.reshape(n, blocks, block) * scales.float().unsqueeze(-1)).reshape(n, blocks * block)


def _reference(xp, x, words, scales, *bias, bits, block):
    shifts = xp.astype(xp.arange(32 // bits), words.dtype) * bits
    cells = (words[..., None] >> shifts) & xp.astype(xp.asarray(2**bits - 1), words.dtype)
    values = xp.astype(cells, "float32") - 2 ** (bits - 1)
    n, blocks = scales.shape
    w = xp.reshape(xp.reshape(values, (n, blocks, block)) * scales[..., None], (n, blocks * block))
    y = xp.astype(x, "float32") @ xp.permute_dims(w, (1, 0))
    return y + bias[0] if bias else y


def _shape(x, words, scales, *bias, bits, block):
    n, width = words
    k = width * 32 // bits
    if x[-1:] != (k,):
        raise ValueError(f"inner sizes differ: {x[-1] if x else 'none'} and {k}")
    if scales != (n, k // block):
        raise ValueError(f"scales have shape {list(scales)}: they need {[n, k // block]}")
    if bias and bias[0] != (n,):
        raise ValueError(f"bias has shape {list(bias[0])}: it needs {[n]}")
    return (*x[:-1], n)


def _grad(g, y, x, words, scales, *bias, bits, block):
    """Weights are for inference: only the input, and the bias, have gradients."""
    below = g.matmul(_floats(words, scales, bits, block)).to(x.dtype)
    summed = [g.sum(tuple(range(g.ndim - 1))).to(b.dtype) if g.ndim > 1 else g.to(b.dtype) for b in bias]
    return [below, None, None, *summed]


def _launch(limits, x, words, scales, *bias, bits, block):
    m, n, k = prod(x.shape[:-1]), words.shape[0], x.shape[-1]
    sizes = {"n": n, "m": m, "blocks": k // block}
    fits = (n for n in ("shared", "blocks") if _shape_of(n, m, bits).memory(bits) <= limits.workgroup_memory)
    names = ("rows",) if limits.software else (*fits, "words", "tiles")
    bucket = (bits, 1 << max(min(m, 256) - 1, 0).bit_length())
    name = choose(limits, "quantized", bucket, names, _by_rule(names, m))
    blocks = partial(_shared, name="blocks")
    make = {"rows": _rows, "words": _words, "tiles": _tiles, "shared": _shared, "blocks": blocks}[name]
    return make(limits, sizes, k, bits, block, len(bias))


def _by_rule(names, m):
    """The fewer the vectors, the more lanes share a row."""
    if len(names) == 1:
        return "rows"
    return next((name for most, name in BEST if m <= most and name in names), "tiles")


def _vectors(m):
    """The vectors of a workgroup: few numbers, so that their number rarely compiles anew."""
    return next(v for v in (1, 2, 4, 8) if v >= min(m, 8))


def _rows(limits, sizes, k, bits, block, biases):
    """A few vectors at once, by four rows a thread."""
    vectors, per, threads = _vectors(sizes["m"]), CELL // bits, 64
    sizes = sizes | {"chunks": k // per, "each": block // per, "lines": -(-sizes["n"] // (4 * threads))}
    groups, options = sizes["lines"] * -(-sizes["m"] // vectors), {"bits": bits, "vectors": vectors}
    options["biased"] = biases > 0
    reads, given = tuple(range(3 + biases)), {"workgroup": (threads, 1, 1), "wide": (0, 1)}
    return [Launch("quantized/rows.wgsl", reads, groups, sizes, options, turns=k // per, **given)]


def _words(limits, sizes, k, bits, block, biases):
    """A few vectors at once, by four rows a line of threads, which read neighbouring words."""
    vectors, per = _vectors(sizes["m"]), 32 // bits
    ahead = 4 if vectors < 4 else 2
    sizes = sizes | {"words": k // per, "each": block // per, "lines": -(-sizes["n"] // (4 * LINES))}
    groups, turns = sizes["lines"] * -(-sizes["m"] // vectors), -(-k // (per * LANES * ahead))
    options = {"bits": bits, "vectors": vectors, "lanes": LANES, "lines": LINES, "ahead": ahead}
    options["biased"] = biases > 0
    given = {"workgroup": (LANES * LINES, 1, 1), "wide": (0,)}
    reads = tuple(range(3 + biases))
    return [Launch("quantized/words.wgsl", reads, groups, sizes, options, turns=turns, **given)]


class Shape(NamedTuple):
    """How a workgroup shares weights: vectors, threads along a row, rows' threads side by side, and cells
    of each row that a thread has under way, so that the vectors' part takes 8 KB or little more."""

    vectors: int
    lanes: int
    lines: int
    ahead: int

    def memory(self: Any, bits: int) -> int:
        """Bytes that the part of the vectors takes, and then the sums."""
        part = self.vectors * self.ahead * (32 // bits) * (self.lanes + 1)
        return 16 * max(part, self.lanes * self.lines)


def _shape_of(name, m, bits):
    """Of "shared": few vectors, and lanes as for words; of "blocks": many, and rows enough to share them."""
    if name == "shared":
        vectors = next(v for v in (1, 2, 4) if v >= min(m, 4))
        return Shape(vectors, LANES, LINES, max(DEEP * bits // (8 * vectors), 1))
    vectors = next(v for v in (4, 8, 16) if v >= min(m, 16))
    return Shape(vectors, 8, 16, max(DEEP * bits // (2 * vectors), 1))


def _shared(limits, sizes, k, bits, block, biases, name="shared"):
    """Vectors through workgroup memory, by four rows a line of threads; of few rows pieces."""
    m, n, per = sizes["m"], sizes["n"], CELL // bits
    shape = _shape_of(name, m, bits)
    chunks, turn = k // per, shape.lanes * shape.ahead
    lines, columns = -(-n // (4 * shape.lines)), -(-m // shape.vectors)
    pieces = max(min(SPREAD // (lines * columns), chunks // (4 * turn)), 1) if name == "blocks" else 1
    long = -(-chunks // (pieces * turn)) * turn
    parts = -(-chunks // long)
    sizes = sizes | {"chunks": chunks, "lines": lines, "columns": columns, "long": long, "parts": parts}
    options = {"bits": bits, "each": block // per, "parts": parts > 1} | shape._asdict()
    given = {"workgroup": (shape.lanes * shape.lines, 1, 1), "wide": (0, 1), "turns": long // turn}
    return _in_parts("quantized/shared.wgsl", lines * columns * parts, sizes, options, given, biases)


def _in_parts(template, groups, sizes, options, given, biases):
    """A kernel, and another that adds up its parts where there are several, with the bias."""
    options = options | {"biased": sizes["parts"] == 1 and biases > 0}
    if sizes["parts"] == 1:
        return [Launch(template, tuple(range(3 + biases)), groups, sizes, options, **given)]
    size, parts = sizes["m"] * sizes["n"], sizes["parts"]
    given = given | {"writes": "parts", "elements": parts * size}
    first = Launch(template, (0, 1, 2), groups, sizes, options, **given)
    reads, sizes = ("parts", *range(3, 3 + biases)), {"size": size, "parts": parts, "n": sizes["n"]}
    return [first, Launch("quantized/sum.wgsl", reads, -(-size // 128), sizes, workgroup=(128, 1, 1))]


def _tiles(limits, sizes, k, bits, block, biases):
    """64 vectors by 64 rows a workgroup; long rows in pieces where there are too few of those."""
    n, m = sizes["n"], sizes["m"]
    lines, columns = -(-n // 64), -(-m // 64)
    long = -(-k // min(max(FILL // (lines * columns), 1), max(k // PIECE, 1)) // 32) * 32
    parts = -(-k // long)
    of_tiles = {"lines": lines, "columns": columns, "long": long, "parts": parts}
    sizes = sizes | {"words": k * bits // 32, "block": block} | of_tiles
    options = {"bits": bits, "parts": parts > 1}
    given = {"workgroup": (128, 1, 1), "wide": (0,), "turns": long // 32}
    return _in_parts("quantized/tiles.wgsl", lines * columns * parts, sizes, options, given, biases)


def _result(x, *_, **__):
    return x


class Quantization(Family):
    @kernel(
        "opaque",
        shape=_shape,
        dtype=_result,
        grad=_grad,
        xp=_reference,
        launch=_launch,
        dtypes="f",
        reads_packed=True,
    )
    def _quantized_product(self: Any, words, scales, bias=None, *, bits, block):
        """Products with quantised rows, plus a bias. [..., k], [n, k], [n] -> [..., n]"""
        inputs = (self, words, scales) if bias is None else (self, words, scales, bias)
        return inputs, {"bits": bits, "block": block}


def check_quantization(bits: int, block: int) -> None:
    """ValueError for what no kernel reads."""
    if bits not in BITS:
        raise ValueError(f"bits={bits}: weights have 8 or 4 bits: use one of these")
    if not isinstance(block, int) or block < 32 or block % 32:
        raise ValueError(f"block={block}: blocks are multiples of 32 elements: use 32, 64 or 128")


@composed(dtypes="f")
def quantize(input: Tensor, bits: int = 4, block: int = 32) -> Quantized:
    """A matrix as integers of 8 or 4 bits, symmetric about 0, with a scale (the largest magnitude over 127
    or 7, in bfloat16) for each block of a row; computed at once. [n, k] -> Quantized

    Raises ValueError where the input has not 2 dims, bits are neither 8 nor 4, or block is no multiple
        of 32 that divides its rows.
    """
    check_quantization(bits, block)
    if input.ndim != 2:
        raise ValueError(f"shape {list(input.shape)}: weights need 2 dims")
    n, k = input.shape
    if not n or not k or k % block:
        raise ValueError(f"rows of {k} elements are no whole blocks of {block}: use a block that divides {k}")
    most, per = 2 ** (bits - 1) - 1, 32 // bits
    blocks = input.detach().float().reshape(n, k // block, block)
    scales = (blocks.abs().amax(-1) / most).bfloat16().realize()
    step = scales.float().unsqueeze(-1)
    cells = (blocks / (step == 0).where(1.0, step)).round().clamp(-most, most) + float(most + 1)
    shifts = type(input).arange(per, dtype=dt.int32, device=input.device).to(dt.uint32) * bits
    words = (cells.to(dt.uint32).reshape(n, k // per, per) << shifts).sum(-1, dtype=dt.uint32).realize()
    return Quantized(words, scales, bits, block)


@composed(dtypes="f")
def quantized_linear(input: Tensor, weight: Quantized, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias for a Quantized weight, of which nothing is unpacked in memory; sums in float32,
    the result in the input's dtype. [..., k], [n, k], [n] -> [..., n]

    Raises TypeError where the weight is no Quantized.
    """
    if not isinstance(weight, Quantized):
        raise TypeError("the weight is no Quantized: make one by quantize(weight), or use linear")
    words, scales, bits, block = weight
    return type(input)._quantized_product(input, words, scales, bias, bits=bits, block=block)

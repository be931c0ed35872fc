"""Weights of 8 or 4 bits with a scale for each block of a row, and products that read them in this form."""

# Ops call primitives, such as x._pad, that are not part of the public API.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core import dtype as dt
from ..core.choose import choose
from ..core.declare import composed, kernel
from ..core.op import Family, Launch

if TYPE_CHECKING:
    from ..core.limits import Limits
    from ..core.node import Node
    from ..core.rules import Gradients, Prepared
    from ..core.shape import Shape
    from ..tensor import Tensor

BITS = (8, 4)
CELL = 128  # bits of a vec4<u32>, which a thread reads at once
# On a GPU: (up to this many vectors, this kernel). For more vectors "tiles" converts weights to floats once.
BEST = ((4, "shared"), (16, "blocks"), (47, "words"))
SPREAD = 512  # workgroups of "blocks" that fill a GPU
FILL, PIECE = 1024, 256  # workgroups of "tiles" that fill a GPU, and the least number of terms of each
DEEP = 4  # cells of 8-bit weights of each row that a thread loads ahead for a single vector
LANES, LINES = 32, 4  # threads along a row, and rows of threads side by side, of a GPU's workgroup


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


def _floats(words: Tensor, scales: Tensor, bits: int, block: int) -> Tensor:
    """The float32 matrix that words and scales encode. [n, k * bits / 32], [n, k / block] -> [n, k]"""
    shifts = type(words).arange(32 // bits, dtype=dt.int32, device=words.device).to(dt.uint32) * bits
    cells = (words.unsqueeze(-1) >> shifts) & (2**bits - 1)
    values = cells.float() - float(2 ** (bits - 1))  # the codes are excess 2^(bits - 1)
    n, blocks = scales.shape
    return (values.reshape(n, blocks, block) * scales.float().unsqueeze(-1)).reshape(n, blocks * block)


def _reference(xp: Any, x: Any, words: Any, scales: Any, *bias: Any, bits: int, block: int) -> Any:
    shifts = xp.astype(xp.arange(32 // bits), words.dtype) * bits
    cells = (words[..., None] >> shifts) & xp.astype(xp.asarray(2**bits - 1), words.dtype)
    values = xp.astype(cells, "float32") - 2 ** (bits - 1)
    n, blocks = scales.shape
    w = xp.reshape(xp.reshape(values, (n, blocks, block)) * scales[..., None], (n, blocks * block))
    y = xp.astype(x, "float32") @ xp.permute_dims(w, (1, 0))
    return y + bias[0] if bias else y


def _product_shape(x: Shape, words: Shape, scales: Shape, *bias: Shape, bits: int, block: int) -> Shape:
    n, width = words
    k = width * 32 // bits
    if x[-1:] != (k,):
        raise ValueError(f"inner sizes differ: {x[-1] if x else 'none'} and {k}")
    if scales != (n, k // block):
        raise ValueError(f"scales have shape {list(scales)}: they need {[n, k // block]}")
    if bias and bias[0] != (n,):
        raise ValueError(f"bias has shape {list(bias[0])}: it needs {[n]}")
    return (*x[:-1], n)


def _grad(
    g: Tensor, y: Tensor, x: Tensor, words: Tensor, scales: Tensor, *bias: Tensor, bits: int, block: int
) -> Gradients:
    """Weights are for inference: only the input and the bias have gradients."""
    of_input = g.matmul(_floats(words, scales, bits, block)).to(x.dtype)  # a product with the float matrix
    of_bias = [g.sum(tuple(range(g.ndim - 1))).to(b.dtype) if g.ndim > 1 else g.to(b.dtype) for b in bias]
    return [of_input, None, None, *of_bias]


def _launch(
    limits: Limits, x: Node, words: Node, scales: Node, *bias: Node, bits: int, block: int
) -> list[Launch]:
    m, n, k = prod(x.shape[:-1]), words.shape[0], x.shape[-1]
    sizes = {"n": n, "m": m, "blocks": k // block}
    # Workgroup memory may be too small for the tiles.
    fits = (n for n in ("shared", "blocks") if _tile_of(n, m, bits).memory(bits) <= limits.workgroup_memory)
    names = ("rows",) if limits.software else (*fits, "words", "tiles")
    bucket = (bits, 1 << max(min(m, 256) - 1, 0).bit_length())  # powers of two: few measurements serve all m
    name = choose(limits, "quantized", bucket, names, _choose_kernel(names, m))
    blocks = partial(_shared_memory_launch, name="blocks")
    make = {
        "rows": _rows,
        "words": _words,
        "tiles": _tiles,
        "shared": _shared_memory_launch,
        "blocks": blocks,
    }[name]
    return make(limits, sizes, k, bits, block, len(bias))


def _choose_kernel(names: Sequence[str], m: int) -> str:
    """The kernel for m vectors: the fewer vectors, the more lanes share a row."""
    if len(names) == 1:
        return "rows"
    return next((name for most, name in BEST if m <= most and name in names), "tiles")


def _vectors(m: int) -> int:
    """The vectors of a workgroup: one of a few numbers, so that few kernels are compiled."""
    return next(v for v in (1, 2, 4, 8) if v >= min(m, 8))


def _rows(limits: Limits, sizes: dict[str, int], k: int, bits: int, block: int, biases: int) -> list[Launch]:
    """A few vectors at once; each thread computes four rows."""
    vectors, per, threads = _vectors(sizes["m"]), CELL // bits, 64
    sizes = sizes | {"chunks": k // per, "each": block // per, "lines": -(-sizes["n"] // (4 * threads))}
    groups, options = sizes["lines"] * -(-sizes["m"] // vectors), {"bits": bits, "vectors": vectors}
    options["biased"] = biases > 0
    reads, workgroup = tuple(range(3 + biases)), (threads, 1, 1)
    return [
        Launch(
            "quantized/rows.wgsl",
            reads,
            groups,
            sizes,
            options,
            turns=k // per,
            workgroup=workgroup,
            wide=(0, 1),
        )
    ]


def _words(limits: Limits, sizes: dict[str, int], k: int, bits: int, block: int, biases: int) -> list[Launch]:
    """A few vectors at once; a line of threads, which read neighbouring words, computes four rows."""
    vectors, per = _vectors(sizes["m"]), 32 // bits  # weights of a word
    ahead = 4 if vectors < 4 else 2  # words of each row that a thread loads before it multiplies
    sizes = sizes | {"words": k // per, "each": block // per, "lines": -(-sizes["n"] // (4 * LINES))}
    groups, turns = sizes["lines"] * -(-sizes["m"] // vectors), -(-k // (per * LANES * ahead))
    options = {"bits": bits, "vectors": vectors, "lanes": LANES, "lines": LINES, "ahead": ahead}
    options["biased"] = biases > 0
    reads, workgroup = tuple(range(3 + biases)), (LANES * LINES, 1, 1)
    return [
        Launch(
            "quantized/words.wgsl",
            reads,
            groups,
            sizes,
            options,
            turns=turns,
            workgroup=workgroup,
            wide=(0,),
        )
    ]


class SharedTile(NamedTuple):
    """How a workgroup shares weights: vectors, threads along a row, rows of threads side by side, and cells
    of each row that a thread loads ahead. Chosen so that the vectors' part takes about 8 KB."""

    vectors: int
    lanes: int
    lines: int
    ahead: int

    def memory(self: Any, bits: int) -> int:
        """Bytes of workgroup memory for the vectors; the sums reuse them later."""
        part = self.vectors * self.ahead * (32 // bits) * (self.lanes + 1)
        return 16 * max(part, self.lanes * self.lines)


def _tile_of(name: str, m: int, bits: int) -> SharedTile:
    """For "shared" few vectors and as many lanes as for words; for "blocks" more vectors and rows."""
    if name == "shared":
        vectors = next(v for v in (1, 2, 4) if v >= min(m, 4))
        return SharedTile(vectors, LANES, LINES, max(DEEP * bits // (8 * vectors), 1))
    vectors = next(v for v in (4, 8, 16) if v >= min(m, 16))
    return SharedTile(vectors, 8, 16, max(DEEP * bits // (2 * vectors), 1))


def _shared_memory_launch(
    limits: Limits, sizes: dict[str, int], k: int, bits: int, block: int, biases: int, name: str = "shared"
) -> list[Launch]:
    """Vectors in workgroup memory; a line of threads computes four rows. Few rows are split into pieces."""
    m, n, per = sizes["m"], sizes["n"], CELL // bits
    tile = _tile_of(name, m, bits)
    chunks, turn = k // per, tile.lanes * tile.ahead
    lines, columns = -(-n // (4 * tile.lines)), -(-m // tile.vectors)
    # "blocks" splits rows only if there are too few workgroups, into pieces of at least 4 iterations.
    pieces = max(min(SPREAD // (lines * columns), chunks // (4 * turn)), 1) if name == "blocks" else 1
    long = -(-chunks // (pieces * turn)) * turn  # cells of a piece: a multiple of an iteration of all lanes
    parts = -(-chunks // long)
    sizes = sizes | {"chunks": chunks, "lines": lines, "columns": columns, "long": long, "parts": parts}
    options = {"bits": bits, "each": block // per, "parts": parts > 1} | tile._asdict()
    launch = {"workgroup": (tile.lanes * tile.lines, 1, 1), "wide": (0, 1), "turns": long // turn}
    return _split_launches("quantized/shared.wgsl", lines * columns * parts, sizes, options, launch, biases)


def _split_launches(
    template: str,
    groups: int,
    sizes: dict[str, int],
    options: dict[str, Any],
    launch: dict[str, Any],
    biases: int,
) -> list[Launch]:
    """A kernel, and if it computes partial sums a second one that adds these up, with the bias."""
    options = options | {"biased": sizes["parts"] == 1 and biases > 0}
    if sizes["parts"] == 1:
        return [Launch(template, tuple(range(3 + biases)), groups, sizes, options, **launch)]
    size, parts = sizes["m"] * sizes["n"], sizes["parts"]
    launch = launch | {"writes": "parts", "elements": parts * size}  # sums of each piece, [parts, m, n]
    first = Launch(template, (0, 1, 2), groups, sizes, options, **launch)
    reads, sizes = ("parts", *range(3, 3 + biases)), {"size": size, "parts": parts, "n": sizes["n"]}
    return [first, Launch("quantized/sum.wgsl", reads, -(-size // 128), sizes, workgroup=(128, 1, 1))]


def _tiles(limits: Limits, sizes: dict[str, int], k: int, bits: int, block: int, biases: int) -> list[Launch]:
    """64 vectors by 64 rows per workgroup; long rows are split into pieces if there are too few
    workgroups."""
    n, m = sizes["n"], sizes["m"]
    lines, columns = -(-n // 64), -(-m // 64)
    # Pieces of PIECE terms or more, a multiple of 32; the last one may be shorter.
    long = -(-k // min(max(FILL // (lines * columns), 1), max(k // PIECE, 1)) // 32) * 32
    parts = -(-k // long)
    of_tiles = {"lines": lines, "columns": columns, "long": long, "parts": parts}
    sizes = sizes | {"words": k * bits // 32, "block": block} | of_tiles
    options = {"bits": bits, "parts": parts > 1}
    launch = {"workgroup": (128, 1, 1), "wide": (0,), "turns": long // 32}
    return _split_launches("quantized/tiles.wgsl", lines * columns * parts, sizes, options, launch, biases)


def _input_dtype(x: dt.DType, *_: Any, **__: Any) -> dt.DType:
    return x


class Quantization(Family):
    @kernel(
        "opaque",
        shape=_product_shape,
        dtype=_input_dtype,
        grad=_grad,
        xp=_reference,
        launch=_launch,
        dtypes="f",
        reads_packed=True,
    )
    def _quantized_product(
        self: Any, words: Tensor, scales: Tensor, bias: Tensor | None = None, *, bits: int, block: int
    ) -> Prepared:
        """Products with quantised rows, plus a bias. [..., k], [n, k], [n] -> [..., n]"""
        inputs = (self, words, scales) if bias is None else (self, words, scales, bias)
        return inputs, {"bits": bits, "block": block}


def check_quantization(bits: int, block: int) -> None:
    """ValueError if no kernel reads weights of this form."""
    if bits not in BITS:
        raise ValueError(f"bits={bits}: weights have 8 or 4 bits: use one of these")
    if not isinstance(block, int) or block < 32 or block % 32:  # pyright: ignore[reportUnnecessaryIsInstance]: users may pass anything
        raise ValueError(f"block={block}: must be a multiple of 32: use 32, 64 or 128")


@composed(dtypes="f")
def quantize(input: Tensor, bits: int = 4, block: int = 32) -> Quantized:
    """A matrix as integers of 8 or 4 bits, symmetric about 0, with a scale (the largest magnitude over 127
    or 7, in bfloat16) for each block of a row. Runs the graph at once. [n, k] -> Quantized

    Raises ValueError if the input does not have 2 dims, bits are neither 8 nor 4, or block is not a multiple
        of 32 that divides its rows.
    """
    check_quantization(bits, block)
    if input.ndim != 2:
        raise ValueError(f"shape {list(input.shape)}: weights have 2 dims: reshape it")
    n, k = input.shape
    if not n or not k or k % block:
        raise ValueError(
            f"rows of {k} elements do not divide into blocks of {block}: use a block that divides {k}"
        )
    most, per = 2 ** (bits - 1) - 1, 32 // bits  # -128 and -8 are not used: codes are symmetric
    blocks = input.detach().float().reshape(n, k // block, block)
    # The product multiplies by the rounded scale, so codes are rounded to multiples of it.
    scales = (blocks.abs().amax(-1) / most).bfloat16().realize()
    step = scales.float().unsqueeze(-1)
    # a block of zeros has scale 0
    cells = (blocks / (step == 0).where(1.0, step)).round().clamp(-most, most) + float(most + 1)
    shifts = type(input).arange(per, dtype=dt.int32, device=input.device).to(dt.uint32) * bits
    # codes share no bits, so the sum joins them
    words = (cells.to(dt.uint32).reshape(n, k // per, per) << shifts).sum(-1, dtype=dt.uint32).realize()
    return Quantized(words, scales, bits, block)


@composed(dtypes="f")
def quantized_linear(input: Tensor, weight: Quantized, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias for a Quantized weight, which is never unpacked in memory. Sums are float32;
    the result has the input's dtype. [..., k], [n, k], [n] -> [..., n]

    Raises TypeError if weight is not a Quantized.
    """
    if not isinstance(weight, Quantized):  # pyright: ignore[reportUnnecessaryIsInstance]: users may pass anything
        raise TypeError("weight must be a Quantized: make one with quantize(weight), or use linear")
    words, scales, bits, block = weight
    return type(input)._quantized_product(input, words, scales, bias, bits=bits, block=block)

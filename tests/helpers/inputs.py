"""Inputs of the op table's rows: as arrays, as the reference takes them, in each dtype that an op takes."""

import numpy as np
from rows import ROWS, In

import flambeau as fb
from flambeau.core.op import COMPOSED, OPS
from helpers.draws import in_turn

KINDS = {"f": fb.float32, "i": fb.int32, "u": fb.uint32, "b": fb.bool_}


def with_kernels(names, first: int = 0) -> list[str]:
    """The ops of a list that a test gives kernels, in turn: a 16th of those that have kernels of their
    own, and a 24th of what is composed of them. test_value and test_gradient give all kernels within
    five runs."""
    own, composed = [n for n in names if n in OPS], [n for n in names if n in COMPOSED]
    turn = {*in_turn(own, 16, first), *in_turn(composed, 24, first)}
    return [n for n in names if n in turn]


def host(array):
    """An input as the reference takes it: floats as float64."""
    return array.astype("f8") if array.dtype.kind == "f" else array


def arrays(row, rng, shape=None, kind=None):
    return [i.make(rng, shape, kind) for i in row.inputs]


def tensors(arrays, device, **kw):
    return [fb.tensor(a, device=device, **kw) for a in arrays]


SIZED = {
    "f": (fb.float16, fb.bfloat16),
    "i": (fb.int32, fb.int8),
    "u": (fb.uint32, fb.uint8),
    "b": (fb.bool_,),
}


def declared(name) -> str:
    """The kinds that an op says it takes; of one that says nothing, those that its row has. Complex numbers
    have tests of their own (ops/test_complex.py)."""
    row = ROWS[name]
    kinds = (OPS.get(name) or COMPOSED[name]).dtypes or main_kind(row) + row.kinds
    return kinds.replace("c", "")


def main_kind(row) -> str:
    kinds = [i.kind for i in row.inputs]
    return "f" if "f" in kinds else kinds[0]


def has_whole(row) -> bool:
    """Whether there are integers in the ranges of the inputs."""
    return all(np.ceil(i.low) <= np.floor(i.high) for i in row.inputs)


def of_dtype(row, dtype, rng) -> list[np.ndarray]:
    """A row's inputs as values of a dtype, those of its main kind: the others stay what they are."""
    main, made = main_kind(row), []
    for i in row.inputs:
        if i.kind == main and dtype.is_int and dtype.is_packed:
            info = fb.iinfo(dtype)
            i = In(i.shape, max(i.low, info.min), min(i.high, info.max), i.kind)
        made.append(i.make(rng, kind=dtype.kind if i.kind == main else None))
    return made

"""Collectives of 1 to 5 ranks (threads, real sockets and shared memory) beside NumPy, and their errors."""

from functools import partial

import numpy as np
import pytest
from helpers.draws import draws, in_turn, one_of

from flambeau.distributed import DistributedError, ReduceOp, run_threads
from flambeau.distributed.memory import host_key
from flambeau.distributed.reductions import UFUNCS, narrow_bfloat16, tree_reduce, widen_bfloat16

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
DTYPES += ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
SIZES = [0, 1, 3, 1000, 20_000, 70_001]  # elements: one round, slices, pieces


def draw_array(rng, dtype: str, shape) -> np.ndarray:
    """Small numbers, so that integers and float16 neither overflow nor hide an order of additions."""
    values = np.asarray(rng.integers(0, 5, shape) + rng.random(shape))
    if dtype == "bfloat16":
        return narrow_bfloat16(values.astype("f4"))
    if dtype.startswith("complex"):
        return np.asarray(values + 1j * rng.random(shape)).astype(dtype)
    return np.asarray(values < 2.5) if dtype == "bool" else values.astype(dtype)


def expected(arrays, op: ReduceOp, dtype: str) -> np.ndarray:
    """Neighbours first; 16-bit floats in float32."""
    wide = {"bfloat16": widen_bfloat16, "float16": lambda a: a.astype("f4")}.get(dtype, np.array)
    level = [np.asarray(wide(a)) for a in arrays]
    while len(level) > 1:
        pairs = [level[i : i + 2] for i in range(0, len(level), 2)]
        level = [np.asarray(UFUNCS[op](*pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    total = level[0]
    if op is ReduceOp.AVG and total.dtype.kind == "c":
        total.real, total.imag = total.real / len(arrays), total.imag / len(arrays)
    elif op is ReduceOp.AVG:
        total = np.asarray(total / total.dtype.type(len(arrays)))
    return narrow_bfloat16(total) if dtype == "bfloat16" else total.astype(arrays[0].dtype)


def ops_of(dtype: str) -> list[ReduceOp]:
    floats = "float" in dtype
    return [
        ReduceOp.SUM, ReduceOp.PRODUCT,
        *([ReduceOp.MIN, ReduceOp.MAX] if "complex" not in dtype else []),
        *([ReduceOp.AVG] if floats or "complex" in dtype else [ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]),
    ]  # fmt: skip


def run_all(group, inputs, lists, op: ReduceOp, root: int, place_in: str, wire: dict):
    """The results of each collective on one rank."""

    def place(array):
        """A copy: an array with gaps between the elements, one in shared memory, or a plain one."""
        if place_in != "gaps":
            room = (group.empty if place_in == "shared" else np.empty)(array.shape, array.dtype)
            room[...] = array
            return room
        room = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
        room[..., ::2] = array
        return room[..., ::2]

    def blank(count: int):
        return [place(np.zeros_like(inputs[0])) for _ in range(count)]

    own, size = group.rank, group.size
    total, least, copy = (place(inputs[own]) for _ in range(3))
    (part, piece), outs, gathered, swapped = blank(2), blank(size), blank(size), blank(size)
    group.all_reduce(total, op, **wire)
    group.reduce(least, root, op, **wire)
    group.broadcast(copy, root)
    group.reduce_scatter(part, [place(a) for a in lists[own]], op, **wire)
    group.all_gather(outs, place(inputs[own]))
    group.gather(place(inputs[own]), gathered if own == root else None, root)
    group.scatter(piece, lists[root] if own == root else None, root)
    group.all_to_all(swapped, [place(a) for a in lists[own]])
    group.barrier()
    return total, least, copy, part, piece, *outs, *swapped, *(gathered if own == root else [])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("shared_memory", [False, True], ids=["sockets", "shared"])
def test_collectives(size, shared_memory, monkeypatch):
    monkeypatch.setattr("flambeau.distributed.group.PIECE", 1 << 16)
    for name, rng in in_turn(list(draws(f"collectives {size} {shared_memory}", 24)), 4):
        dtype, count, root = one_of(rng, DTYPES), one_of(rng, SIZES), int(rng.integers(size))
        op = one_of(rng, ops_of(dtype))
        shape = one_of(rng, [(count,), (count, 1), (1, count)]) if count != 1 else ()
        inputs = [draw_array(rng, dtype, shape) for _ in range(size)]
        lists = [[draw_array(rng, dtype, shape) for _ in range(size)] for _ in range(size)]
        place_in = one_of(rng, ["gaps", "plain", "shared"]) if shape != () else "plain"
        wire = {"dtype": "bfloat16"} if dtype == "bfloat16" else {}
        run = partial(run_all, inputs=inputs, lists=lists, op=op, root=root, place_in=place_in, wire=wire)
        total = expected(inputs, op, dtype)
        for rank, results in enumerate(run_threads(size, run, shared_memory=shared_memory, timeout=30)):
            column = [row[rank] for row in lists]
            wanted = [total, total if rank == root else inputs[rank], inputs[root]]
            wanted += [expected(column, op, dtype), lists[root][rank], *inputs, *column]
            wanted += inputs if rank == root else []
            for i, (got, want) in enumerate(zip(results, wanted, strict=True)):
                case = (name, dtype, op, shape, place_in, rank, i)
                assert got.dtype == want.dtype and got.tobytes() == want.tobytes(), case


def test_halves_reduced_first_give_the_same_bits():
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal(100).astype("f4") for _ in range(8)]
    whole, left, right = np.empty((3, 100), "f4")
    tree_reduce(parts, ReduceOp.SUM, whole)
    tree_reduce(parts[:4], ReduceOp.SUM, left)
    tree_reduce(parts[4:], ReduceOp.SUM, right)
    assert whole.tobytes() == (left + right).tobytes()


@pytest.mark.parametrize("size", [2, 3])
def test_ranks_that_call_different_things_get_one_error(size):
    def run(group):
        array = np.ones(3, "f4")
        with pytest.raises(DistributedError) as caught:
            if group.rank == 1:
                group.broadcast(array, 0)
            else:
                group.all_reduce(array)
            group.barrier()
        return str(caught.value)

    for text in run_threads(size, run, timeout=20):
        assert "call 0 differs between ranks: rank " in text, text
        assert "rank 1: broadcast(src=0, float32, [3])" in text, text
        assert "all_reduce(sum, float32, [3])" in text, text


@pytest.mark.skipif(not host_key(), reason="this system has no shared memory of ours")
def test_arrays_in_shared_memory_are_lent_and_used_again():
    def run(group):
        for step in range(20):
            array = group.empty((100, 1000), np.float64)
            blocks = group.mesh.blocks
            assert blocks.find(array[50:].reshape(-1).view(np.uint8))[1] == 400_000
            array[...] = group.rank + step
            part = array[10:90].reshape(-1)
            group.all_reduce(part)
            group.broadcast(array, 1)
            outputs = [np.empty_like(part) for _ in range(group.size)]
            group.all_gather(outputs, part)
            assert all((o == 3 + 3 * step).all() for o in outputs) and array[0, 0] == 1 + step
            del array, part
        return len(blocks.own), blocks.used

    # One array in shared memory, as each step's is free before the next; no blocks for copies.
    assert run_threads(3, run, shared_memory=True, timeout=20) == [(1, 0)] * 3

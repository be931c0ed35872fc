"""torch.distributed's names on tensors: results in place, views, groups, messages; beside torch's gloo."""

import threading
from datetime import timedelta

import numpy as np
import pytest
from helpers.draws import draws, one_of

import flambeau as fb
from flambeau import distributed as dist
from flambeau.distributed import ReduceOp, run_threads


def ranks(function, size: int = 3):
    return run_threads(size, function, timeout=20)


def tensor(values, dtype=fb.float32):
    return fb.tensor(values, dtype=dtype, device="cpu")


def test_every_dtype_is_added():
    def run(group):
        for dtype in fb.core.dtype.ALL:
            x = tensor([1, 0, group.rank], dtype)
            assert dist.all_reduce(x) is None and x.dtype is dtype
            total = [True, False, True] if dtype is fb.bool else [3, 0, 3]
            assert x.tolist() == total, dtype

    ranks(run)


def test_results_are_written_to_views_parameters_and_scalars():
    def run(group):
        table = fb.zeros(4, 4, device="cpu")
        column = table[:, 1]
        column += group.rank + 1
        dist.all_reduce(table[:, 1])
        assert table.sum(0).tolist() == [0, 24, 0, 0]
        weight = fb.nn.Linear(2, 2).to("cpu").weight
        dist.broadcast(weight, 1)
        mean = tensor(float(group.rank))
        work = dist.all_reduce(mean, op=ReduceOp.AVG, async_op=True)
        assert work.wait() and work.is_completed() and mean.item() == 1.0
        empty = fb.zeros(0, 3, device="cpu")
        dist.all_reduce(empty)
        array = np.arange(6.0).reshape(2, 3).T  # a NumPy array, in place
        dist.all_reduce(array)
        assert array.tolist() == [[0, 9], [3, 12], [6, 15]]
        wide = np.full(4999, group.rank, np.clongdouble)  # slices have whole elements of any size
        dist.all_reduce(wide)
        assert (wide == 3).all()
        return weight.tolist(), weight.requires_grad

    weights = ranks(run)
    assert weights[0] == weights[1] == weights[2] and weights[0][1]


def test_gathers_and_scatters():
    def run(group):
        own = group.rank
        row = tensor([[float(own), 10.0]])
        rows = [fb.zeros(1, 2, device="cpu") for _ in range(3)]
        dist.all_gather(rows, row)
        assert [r.tolist() for r in rows] == [[[0, 10]], [[1, 10]], [[2, 10]]]
        joined, stacked = fb.zeros(3, 2, device="cpu"), fb.zeros(3, 1, 2, device="cpu")
        dist.all_gather_into_tensor(joined, row)
        dist.all_gather_into_tensor(stacked, row)
        assert joined.tolist() == stacked.squeeze(1).tolist() == [[0, 10], [1, 10], [2, 10]]
        part = fb.zeros(1, 2, device="cpu")
        dist.reduce_scatter_tensor(part, joined)
        assert part.tolist() == [[3.0 * own, 30.0]]
        dist.reduce_scatter(part, rows, op=ReduceOp.MAX)
        assert part.tolist() == [[own, 10]]
        dist.gather(row, rows if own == 2 else None, dst=2)
        dist.scatter(part, rows if own == 2 else None, src=2)
        assert part.tolist() == row.tolist()
        dist.reduce(part, dst=1)
        assert part.tolist() == ([[3, 30]] if own == 1 else row.tolist())
        mixed = fb.zeros(3, device="cpu")
        dist.all_to_all_single(mixed, tensor([10.0 * own, 10.0 * own + 1, 10.0 * own + 2]))
        assert mixed.tolist() == [own, 10 + own, 20 + own]
        sizes, counts = [own + 1] * 3, [1, 2, 3]  # rank i sends i + 1 rows to each
        uneven = fb.zeros(6, device="cpu")
        dist.all_to_all_single(uneven, fb.full((3 * (own + 1),), float(own), device="cpu"), counts, sizes)
        assert uneven.tolist() == [0, 1, 1, 2, 2, 2]
        swapped = [fb.zeros(1, device="cpu") for _ in range(3)]
        dist.all_to_all(swapped, [tensor([100.0 * own + i]) for i in range(3)])
        assert [s.item() for s in swapped] == [own, 100 + own, 200 + own]
        with pytest.raises(ValueError, match="5 elements are not a multiple of 3 ranks"):
            dist.all_gather_into_tensor(fb.zeros(5, device="cpu"), row)
        with pytest.raises(ValueError, match="3 numbers have to add up to 6 rows"):
            dist.all_to_all_single(uneven, uneven, [1, 1, 1])

    ranks(run)


def test_messages():
    def run(group):
        own, following, previous = group.rank, (group.rank + 1) % 3, (group.rank - 1) % 3
        received = fb.zeros(2, 2, dtype=fb.int64, device="cpu")
        large = np.full(600_000, own, "f8")  # more than a socket holds: all send before any receives
        got = np.zeros_like(large)
        works = [dist.isend(large, following, tag=7), dist.irecv(got, previous, tag=7)]
        dist.barrier()
        for work in works:
            work.wait()
        assert (got == previous).all()
        for work in dist.batch_isend_irecv(
            [
                dist.P2POp(dist.isend, fb.full((2, 2), own, dtype=fb.int64, device="cpu"), following),
                dist.P2POp(dist.irecv, received, previous),
            ]
        ):
            work.wait()
        assert received.tolist() == [[previous] * 2] * 2
        if own == 0:
            senders = {dist.recv(received), dist.recv(received)}
            assert senders == {1, 2} and received.sum().item() == 0
        else:
            dist.send(fb.zeros(2, 2, dtype=fb.int64, device="cpu"), 0)

    ranks(run)


def test_groups_and_objects():
    def run(group):
        own = group.rank
        pair = dist.new_group([2, 0])
        x = tensor([1.0, own])
        assert dist.all_reduce(x, group=pair) is None
        if own == 1:
            assert pair is dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(pair) == -1
            assert dist.get_world_size(pair) == -1 and x.tolist() == [1, 1]
        else:
            assert x.tolist() == [2, 2] and dist.get_rank(pair) == own // 2
            assert dist.get_process_group_ranks(pair) == [0, 2] and dist.get_global_rank(pair, 1) == 2
            dist.broadcast(x, src=2, group=pair)
            dist.broadcast(x, group_src=0, group=pair)
            with pytest.raises(ValueError, match=r"rank 1 is not in the group of the ranks \[0, 2\]"):
                dist.broadcast(x, src=1, group=pair)
        lists = [None] * 3
        dist.all_gather_object(lists, {"rank": own, "text": "é" * own})
        assert lists == [{"rank": 0, "text": ""}, {"rank": 1, "text": "é"}, {"rank": 2, "text": "éé"}]
        values = [own, None]
        dist.broadcast_object_list(values, src=1)
        assert values == [1, None]
        with pytest.raises(TypeError, match="only JSON values are sent .* nothing is pickled"):
            dist.all_gather_object(lists, object())
        assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (own, 3, "flambeau")

    ranks(run)


def test_a_gpu_tensor(gpu):
    def run(group):
        x = fb.tensor([1.0, group.rank], device=gpu)
        dist.all_reduce(x)
        return x.tolist()

    assert ranks(run, 2) == [[2, 1]] * 2


def test_values_of_torch(torch):
    """gloo's results on the same draws. It rounds 16-bit floats after each addition."""
    ops = {op: getattr(torch.distributed.ReduceOp, op.name) for op in ReduceOp if op is not ReduceOp.AVG}
    size = 3
    for name, rng in draws("beside gloo", 30):
        op = one_of(rng, list(ops))
        is_bitwise = op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
        floats = [] if is_bitwise else ["float16", "bfloat16", "float32", "float64"]
        dtype = one_of(rng, ["uint8", "int8", "int32", "int64", *floats])
        draws_ = [
            rng.integers(0, 5, (2, 3)) + (rng.random((2, 3)) if "float" in dtype else 0) for _ in range(size)
        ]
        inputs = [torch.tensor(values).to(getattr(torch, dtype)) for values in draws_]
        theirs = [x.clone() for x in inputs]
        store = torch.distributed.HashStore()

        def peer(rank, store=store, theirs=theirs, op=op):
            group = torch.distributed.ProcessGroupGloo(store, rank, size, timedelta(seconds=20))
            options = torch.distributed.AllreduceOptions()
            options.reduceOp = ops[op]
            group.allreduce([theirs[rank]], options).wait()

        def run(group, inputs=inputs, dtype=dtype, op=op):
            x = fb.tensor(inputs[group.rank].double().numpy(), dtype=getattr(fb, dtype), device="cpu")
            dist.all_reduce(x, op)
            return x.double().numpy()

        threads = [threading.Thread(target=peer, args=(rank,)) for rank in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 0 if "int" in dtype else 1e-6)
        for ours in ranks(run, size):
            np.testing.assert_allclose(ours, theirs[0].double().numpy(), rtol=tolerance, err_msg=name)

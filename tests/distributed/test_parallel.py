"""Data parallel training: equal bits on any number of workers, and the gradients of one process."""

import threading
import time

import numpy as np
import pytest
from helpers.draws import in_turn
from helpers.parallel import F, batches, build, building, results, train

import flambeau as fb
from flambeau import nn
from flambeau.distributed import DiLoCo, DistributedError, StoreServer, wrap
from flambeau.distributed.carrier import CopyThreads
from flambeau.distributed.compression import WIRES, Encoded, Feedback, copy_numbers, wire_named
from flambeau.distributed.early import EarlyExchange
from flambeau.distributed.exchange import GradientExchange, TreeAdd
from flambeau.distributed.layout import owned_rounds, owners_of, round_size, rounds_of
from flambeau.distributed.reduce import TreeSum, spans_of
from flambeau.distributed.shards import bounds, deal
from flambeau.distributed.sums import ParallelOptions, ShardSum, Sums
from flambeau.distributed.threads import join_threads, run_threads
from flambeau.errors import FlambeauError


def test_bits_do_not_depend_on_the_number_of_workers():
    alone = results(1)
    for workers in (2, 3):
        assert results(workers) == alone
    assert results(4, shard_state=True) == alone
    assert results(1, shards=4) != alone


class Wide(nn.Sequential):
    """Gradients of 300 KB: larger than a message that travels in a frame, and than a round of the test."""

    def __init__(self):
        super().__init__(nn.Linear(12, 300), nn.ReLU(), nn.Linear(300, 240), nn.ReLU(), nn.Linear(240, 4))


@pytest.fixture
def small_rounds(monkeypatch):
    monkeypatch.setattr("flambeau.distributed.sums.ROUND", 100_000)
    monkeypatch.setattr("flambeau.distributed.carrier.SHARE", 1 << 10)  # several threads
    monkeypatch.setattr("flambeau.distributed.exchange.DEPTH", 2)  # less memory than rounds


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize(
    ("workers", "shared_memory", "shards"),
    in_turn([(2, True, 8), (3, True, 5), (4, True, 8), (2, False, 8), (3, True, 8), (3, False, 5)], 3),
)
def test_bits_of_tensors_that_several_rounds_share(workers, shared_memory, shards, monkeypatch):
    """Also with the partial sums of several nodes of the tree on one worker, and through sockets."""
    monkeypatch.setattr("flambeau.distributed.carrier.CopyThreads.__init__", _use_three)
    alone = results(1, kind=Wide, shards=shards, sizes=(16,))
    together = results(workers, shared_memory, kind=Wide, shards=shards, sizes=(16,))
    assert together == alone


def _use_three(threads, processes=1):
    threads.count = 3


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize("shared_memory", in_turn([True, False], 2))
def test_memory_of_a_round_waits_for_a_slow_worker(shared_memory, monkeypatch):
    """A worker that is behind still reads what the others would overwrite with the next round."""
    alone = results(1, kind=Wide, sizes=(16, 16))
    monkeypatch.setattr("flambeau.distributed.exchange.DEPTH", 1)
    draws = np.random.default_rng(0)

    def delayed(method):
        def run(exchange, *args):
            if draws.random() < 0.5:  # before peers' arrays are read
                time.sleep(0.01)
            return method(exchange, *args)

        return run

    monkeypatch.setattr(TreeAdd, "add", delayed(TreeAdd.add))
    landing_of = Sums._landing_of
    monkeypatch.setattr(Sums, "_landing_of", lambda *args: delayed(landing_of(*args)))
    assert results(3, shared_memory, kind=Wide, sizes=(16, 16)) == alone


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.share(2)
def test_bits_of_an_exchange_that_begins_before_the_last_gradients(gpu, monkeypatch):
    """The first steps record; then a worker's last shard is submitted in segments."""
    monkeypatch.setattr("flambeau.distributed.sums.OVERLAPPED", 1)
    monkeypatch.setattr("flambeau.distributed.optimizer.SEGMENT", 1 << 10)
    rounds = []  # whose reads begin before the last segment
    take = EarlyExchange.take

    def count(early, fresh, numbers):
        take(early, fresh, numbers)
        rounds.append(early.reader.begun)

    monkeypatch.setattr(EarlyExchange, "take", count)
    alone = results(1, kind=Wide, device=gpu, sizes=(16,) * 3)
    assert not rounds
    for workers in (2, 3):
        assert results(workers, kind=Wide, device=gpu, sizes=(16,) * 3) == alone
        assert len(set(rounds)) > 2, "all reads begin together"


def test_sums_take_the_same_memory_in_each_step_unless_it_is_used(gpu, monkeypatch):
    monkeypatch.setattr("flambeau.distributed.sums.OVERLAPPED", 1)

    def work(group):
        with building:
            p, loss = fb.zeros(64, device=gpu), fb.zeros(1, device=gpu)[0]
            grads = [fb.full((64,), float(i), device=gpu) for i in range(4)]
            fb.realize(p, loss, *grads)
        sums = Sums(group, [p], [], ["p"], ParallelOptions())

        def total(grad):
            return sums.total(lambda _: ShardSum({0: grad}, loss), None).values[0]

        first = total(grads[1])
        place, second = first.node.buffer.handle, total(grads[2])
        assert second.node.buffer.handle != place  # the first value is still there
        values = first[0].item(), second[0].item()
        place = second.node.buffer.handle
        del second
        other = fb.full((64,), 7.0, device=gpu)
        fb.realize(other)  # in the memory that was freed last
        third = total(grads[3])
        assert third.node.buffer.handle == place
        return (*values, third[0].item(), first[0].item())

    assert run_threads(2, work) == [(2.0, 4.0, 6.0, 2.0)] * 2


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize("steps", [1, pytest.param(3, marks=pytest.mark.share(2))])
def test_a_worker_that_dies_between_two_rounds(steps, request, monkeypatch):
    """The others repeat the step, though they have sums of its first round already. The third step is one on
    an adapter whose exchange begins before the last gradients are computed."""
    device = "cpu" if steps == 1 else request.getfixturevalue("gpu")
    options = {"kind": Wide, "sizes": (16,) * steps, "device": device}
    send, calls = GradientExchange.send, []

    def die(exchange, number):
        if number == 2 and exchange.group.size == 3 and exchange.group.rank == 1:
            calls.append(number)
            if len(calls) == steps:
                exchange.group.close(goodbye=False)
        send(exchange, number)

    monkeypatch.setattr(GradientExchange, "send", die)
    monkeypatch.setattr("flambeau.distributed.sums.OVERLAPPED", 1)
    monkeypatch.setattr("flambeau.distributed.optimizer.SEGMENT", 1 << 10)
    store, ended = StoreServer(), [None] * 3
    groups = join_threads(3, store)

    def work(rank):
        try:
            ended[rank] = train(groups[rank], **options)
        except DistributedError as error:
            ended[rank] = str(error)

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "the process group was destroyed" in ended[1]
    assert ended[0] == ended[2] == results(1, **options)
    store.close()


def test_bits_with_accumulation_are_equal_too():
    assert results(1, accumulate=2) == results(3, accumulate=2)


@pytest.mark.share(2)
def test_bits_on_an_adapter(gpu):
    alone = results(1, device=gpu)
    assert results(2, device=gpu) == alone == results(3, device=gpu)


def test_batch_norms_in_step():
    alone = results(1, sync_batch_norm=True)
    assert results(3, sync_batch_norm=True) == alone != results(1)


def test_batch_norms_in_step_are_those_of_the_whole_batch():
    """A step of SGD, with a batch that does not divide evenly, beside one with BatchNorm of one process."""

    class Normed(nn.Sequential):
        def __init__(self):
            super().__init__(nn.Linear(12, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4))

    def step(group):
        model, optimizer = build("cpu", Normed, fb.optim.SGD, 0.5)
        optimizer = wrap(optimizer, model, group=group, sync_batch_norm=True)
        loss = optimizer.step(lambda x, y: F.cross_entropy(model(x), y), *batches([21])[0])
        return [t.numpy() for t in model.state_dict().values()], loss

    model, optimizer = build("cpu", Normed, fb.optim.SGD, 0.5)
    x, y = (fb.tensor(part, device="cpu") for part in batches([21])[0])
    loss = F.cross_entropy(model(x), y)
    optimizer.step(loss.backward())
    for ours, mean in run_threads(2, step):
        assert mean == pytest.approx(loss.item(), rel=1e-5)
        for value, expected in zip(ours, model.state_dict().values(), strict=True):
            np.testing.assert_allclose(value, expected.numpy(), rtol=1e-4, atol=1e-6)


def test_a_step_is_that_of_the_whole_batch():
    """y = w x by least squares, 5 items in 8 shards: the gradient is written out."""
    x, y = np.arange(5, dtype="f")[:, None], np.ones((5, 1), "f")

    def step(group):
        w = fb.tensor([[0.5]], requires_grad=True, device="cpu")
        optimizer = wrap(fb.optim.SGD([w], lr=0.1), group=group)
        batch = [fb.tensor(part, device="cpu") for part in (x, y)]
        loss = optimizer.step(lambda x, y: ((x @ w - y) ** 2).mean(), *batch)
        return w.item(), loss

    for w, loss in run_threads(2, step):
        assert loss == pytest.approx(np.mean((0.5 * x - y) ** 2), rel=1e-6)
        assert w == pytest.approx(0.5 - 0.1 * np.mean(2 * x * (0.5 * x - y)), rel=1e-6)


def test_gradients_of_each_worker_are_averaged():
    def step(group):
        w = fb.tensor([1.0, 2.0], requires_grad=True, device="cpu")
        optimizer = wrap(fb.optim.SGD([w], lr=1.0), group=group)
        loss = optimizer.step((w * (group.rank + 1.0)).sum().backward())
        return w.tolist(), loss

    assert run_threads(3, step) == [([-1.0, 0.0], 6.0)] * 3


def test_steps_are_those_of_torch(torch):
    def train_here(group):
        model, optimizer = build("cpu", Plain, fb.optim.SGD, 0.1)
        first = [p.numpy().copy() for p in model.parameters()]
        optimizer = wrap(optimizer, model, group=group)
        loss_of = lambda x, y: F.cross_entropy(model(x), y)  # noqa: E731
        losses = [optimizer.step(loss_of, *batch) for batch in batches((32, 20, 5))]
        return first, [p.numpy() for p in model.parameters()], losses

    first, last, losses = run_threads(3, train_here)[0]
    model = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    for p, value in zip(model.parameters(), first, strict=True):
        p.data = torch.from_numpy(value)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x, y), ours in zip(batches((32, 20, 5)), losses, strict=True):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y).long())
        loss.backward()
        optimizer.step()
        assert ours == pytest.approx(loss.item(), rel=1e-5)
    for p, ours in zip(model.parameters(), last, strict=True):
        np.testing.assert_allclose(ours, p.detach().numpy(), rtol=1e-5, atol=1e-6)


class Plain(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4))


# --- errors ---


def test_models_that_differ_are_named_on_all_workers():
    def build_differently(group):
        model = nn.Linear(4, 3, device="cpu") if group.rank < 2 else nn.Linear(4, 3, device="cpu").half()
        with pytest.raises(
            ValueError, match=r"parameter 0: rank 0 has 'weight' f32\[3, 4\], rank 2 has 'weight' f16"
        ):
            wrap(fb.optim.SGD(model.parameters(), lr=0.1), model, group=group)

    run_threads(3, build_differently)


def test_weights_are_those_of_rank_0():
    def begin(group):
        model = nn.Linear(2, 2, device="cpu")
        model.weight.assign_(fb.full((2, 2), float(group.rank + 5), device="cpu"))
        wrap(fb.optim.SGD(model.parameters(), lr=0.1), model, group=group)
        return model.weight.tolist()

    assert run_threads(2, begin) == [[[5.0, 5.0], [5.0, 5.0]]] * 2


def test_nan_stops_all_with_the_rank():
    def step(group):
        model, optimizer = build("cpu", Plain, fb.optim.SGD)
        optimizer = wrap(optimizer, model, group=group)
        x, y = batches([16])[0]
        x[12] = np.nan  # of shard 6, which the last of two workers has
        with pytest.raises(
            FlambeauError,
            match=r"step 0: the gradient of '2.bias' is NaN or infinite on rank 1 \(shards 4 to 7\)",
        ):
            optimizer.step(
                lambda x, y: F.cross_entropy(model(x), y),
                fb.tensor(x, device="cpu"),
                fb.tensor(y, device="cpu"),
            )

    run_threads(2, step)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: wrap(w, wire="int4"), "wire='int4': is unknown"),
        (lambda w: wrap(w, shards=0), "shards=0: must be a positive integer"),
        (lambda w: wrap(w).step(lambda x: 1.0, fb.ones(8, device="cpu")), r"step\(function\) returned 1.0"),
        (lambda w: wrap(w).step(lambda: 1.0, 3), "must have a dim of items"),
        (lambda w: deal(2, 3), "a worker without a shard has nothing to do"),
    ],
)
def test_misuse(call, text):
    with pytest.raises((ValueError, TypeError), match=text):
        call(fb.optim.SGD([fb.ones(2, device="cpu").requires_grad_()], lr=0.1))


# --- parts ---


def test_shards_cover_the_batch_in_order():
    for items in range(40):
        parts = bounds(items, 8)
        assert [i for first, end in parts for i in range(first, end)] == list(range(items))
        assert len({end - first for first, end in parts} - {0}) <= 2
    assert [list(owned) for owned in deal(8, 3)] == [[0, 1], [2, 3, 4], [5, 6, 7]]


def test_a_sum_is_the_same_however_it_is_divided():
    rng = np.random.default_rng(1)

    def by_recursion(leaves, first, end):
        part = [s for s in range(first, end) if s in leaves]
        if end - first == 1 or not part:
            return leaves.get(first)
        middle = first + (end - first + 1) // 2
        both = by_recursion(leaves, first, middle), by_recursion(leaves, middle, end)
        return both[0] if both[1] is None else both[1] if both[0] is None else both[0] + both[1]

    for shards in (1, 2, 5, 8, 11):
        for _ in range(20):
            filled = sorted(rng.choice(shards, rng.integers(1, shards + 1), replace=False).tolist())
            leaves = {s: np.float32(rng.standard_normal() * 10.0 ** rng.integers(-4, 5)) for s in filled}
            owner = rng.integers(0, 3, shards)
            whole = TreeSum(shards, filled, np.add)
            for worker in range(3):
                owned = np.flatnonzero(owner == worker).tolist()
                local = TreeSum(shards, filled, np.add)
                for s in rng.permutation([s for s in owned if s in leaves]):
                    local.put((int(s), int(s) + 1), leaves[int(s)])
                assert sorted(local.values) == spans_of(shards, filled, owned)
                for span, value in local.values.items():
                    whole.put(span, value)
            assert whole.total == by_recursion(leaves, 0, shards)


@pytest.mark.parametrize("flushes", [False, True])
def test_partial_sums_are_added_in_chunks_and_threads(flushes, monkeypatch):
    """As the device adds them: one that replaces subnormal numbers by zero does so after each addition."""
    monkeypatch.setattr("flambeau.distributed.carrier.SHARE", 3000)
    monkeypatch.setattr("flambeau.distributed.exchange.CHUNK", 1000)
    threads = CopyThreads()
    threads.count = 2
    tree = TreeAdd([[(0, 1)], [(1, 2)], [(2, 3)]], 3, range(3), threads, flushes=flushes)
    parts = np.random.default_rng(0).standard_normal((3, 8000)).astype("f")
    # Halves of the smallest normal number, and a difference of two normal ones that is subnormal.
    parts[:, 5] = np.float32(2.0**-127), np.float32(2.0**-127), 2.0**-126
    parts[:, 4999] = np.float32(1.5 * 2.0**-126), np.float32(-(2.0**-126)), 1.0
    parts[:, 7000] = np.float32(1.5 * 2.0**-126), np.float32(-(2.0**-126)), 0.0
    total = np.empty(8000, "f")
    for _ in range(2):  # memory of the first is used again
        assert tree.add(list(parts), total)
        wanted = (parts[0] + parts[1]) + parts[2]
        wanted[7000] = 0.0 if flushes else 2.0**-127
        np.testing.assert_array_equal(total, wanted)
    for place, value in ((3999, np.inf), (6500, np.nan)):
        parts[1, place] = value
        assert not tree.add(list(parts), total)
        parts[1, place] = 0.0


@pytest.mark.parametrize(("nbytes", "size"), [(5, 8), (48, 12), (100, 25), (496, 32), (9000, 32)])
def test_rounds_of_small_models_are_small(nbytes, size):
    assert round_size(nbytes << 20) == size << 20


def test_rounds_hold_every_tensor_once():
    sizes, exact = [5, 300, 1, 70, 8, 8], [False] * 4 + [True] * 2
    owners = owners_of(sizes, 3)
    assert owners[1] != owners[3]
    for rounds in (rounds_of(sizes, exact, 3, 400), owned_rounds(sizes, exact, owners, 3, 400)):
        pieces = [p for r in rounds for p in r.pieces]
        for tensor, size in enumerate(sizes):  # the slices of a large tensor follow each other
            mine = [p for p in pieces if p.tensor == tensor]
            assert [p.first for p in mine] == np.cumsum([0, *(p.size for p in mine[:-1])]).tolist()
            assert sum(p.size for p in mine) == size
        for r in rounds:
            assert sum(p.size for p in r.pieces) == r.size and (r.is_owned or r.size <= 100)
            assert r.is_exact == all(exact[p.tensor] for p in r.pieces)
            for p in r.pieces if r.is_owned else ():
                part = r.segment(owners[p.tensor])
                assert part.start <= p.start and p.start + p.size <= part.stop


@pytest.mark.parametrize("name", WIRES)
def test_errors_of_a_wire_do_not_add_up(name, monkeypatch):
    monkeypatch.setattr("flambeau.distributed.compression.CHUNK", 256)  # three parts, the last one shorter
    rng = np.random.default_rng(2)
    feedback, wire = Feedback(wire_named(name)), wire_named(name)
    total, sent = np.zeros(700, np.float64), np.zeros(700, np.float64)
    for _ in range(20):
        values = rng.standard_normal(700).astype("f")
        raw, decoded = feedback.encode("key", values, sent=np.empty(700, "f"))
        assert raw.nbytes == wire.nbytes(700)
        np.testing.assert_array_equal(wire.encode(decoded), raw)
        np.testing.assert_array_equal(wire.decode(raw, 700), decoded)
        total, sent = total + values, sent + decoded
    error = {"float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2, "int8": 3e-2}[name]  # half a step
    np.testing.assert_allclose(sent, total, atol=error)


@pytest.mark.parametrize("name", WIRES)
def test_parts_of_a_message_are_decoded_alone(name, monkeypatch):
    monkeypatch.setattr("flambeau.distributed.compression.CHUNK", 256)
    wire = wire_named(name)
    values = np.random.default_rng(3).standard_normal(1500).astype("f")
    numbers = Encoded(wire, wire.encode(values), 1500)
    decoded = wire.decode(wire.encode(values), 1500)
    for first, end in ((0, 1500), (0, 256), (256, 700), (3, 255), (511, 1300), (1499, 1500)):
        np.testing.assert_array_equal(numbers[first:end], decoded[first:end])
        target = np.zeros(end - first, "f")
        copy_numbers(target, numbers, first)
        np.testing.assert_array_equal(target, decoded[first:end])


def test_bfloat16_rounds_in_one_array_as_in_several():
    ties = np.array([0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0xBF818000], np.uint32).view("f")
    values = np.concatenate([ties, np.array([0.0, -0.0, np.inf, -np.inf, 3.4e38, 1e-40, -1.5], "f")])
    for special in (values, np.append(values, np.float32(np.nan))):
        raw, rounded = WIRES["bfloat16"].round_trip(special.copy())
        np.testing.assert_array_equal(raw, WIRES["bfloat16"].encode(special))
        np.testing.assert_array_equal(rounded, WIRES["bfloat16"].decode(raw, special.size))
    assert rounded[:5].tolist() == [1.0, 1.015625, 1.0, 1.0078125, -1.015625]


@pytest.mark.parametrize("wire", in_turn(["float16", "bfloat16", "int8"], 3))
def test_training_over_a_lossy_wire(wire):
    exact, lossy = results(2), results(2, wire=wire)
    assert lossy[0] != exact[0]
    np.testing.assert_allclose(lossy[1], exact[1], rtol=0.05)


# --- DiLoCo ---


def test_diloco_moves_by_the_mean_of_what_workers_learned():
    """Two exchanges, with the outer steps written out."""
    rates = [0.1, 0.3]  # inner steps of the two workers: p - rate * 1

    def train_alone(group):
        p = fb.tensor([1.0, 2.0], requires_grad=True, device="cpu")
        inner = fb.optim.SGD([p], lr=rates[group.rank])
        optimizer = DiLoCo(inner, every=3, wire="float32", group=group)
        seen = []
        for _ in range(6):
            optimizer.step(p.sum().backward())
            seen.append(p.tolist())
        return seen, optimizer.sent, optimizer.state_dict()["count"]

    first, second = run_threads(2, train_alone)
    before = np.array([1.0, 2.0])
    moved = np.float64(3 * np.mean(rates))  # the mean of 3 steps: the outer gradient
    velocity = moved
    after = before - 0.7 * (moved + 0.9 * velocity)
    velocity = 0.9 * velocity + moved
    last = after - 0.7 * (moved + 0.9 * velocity)
    np.testing.assert_allclose(first[0][1], before - 0.2, atol=1e-6)
    np.testing.assert_allclose(second[0][1], before - 0.6, atol=1e-6)
    for seen, sent, count in (first, second):
        np.testing.assert_allclose(seen[2], after, atol=1e-6)
        np.testing.assert_allclose(seen[5], last, atol=1e-6)
        assert sent == 2 * (4 + 4 + 8) and count == 6  # a half, the half's sum and its status, twice


def test_diloco_needs_a_step():
    with pytest.raises(ValueError, match=r"DiLoCo\(every=0\): must be at least 1"):
        DiLoCo(fb.optim.SGD([fb.ones(2, device="cpu").requires_grad_()], lr=0.1), every=0)

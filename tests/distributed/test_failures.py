"""Ranks that die, hang, leave, stop others or come later; full shared memory; connections by strangers."""

import threading
import time
import warnings
from datetime import timedelta

import numpy as np
import pytest

from flambeau import distributed
from flambeau.distributed import DistributedError, StoreServer, connect_threads, run_threads
from flambeau.distributed.memory import Blocks, host_key
from flambeau.distributed.rendezvous import Worker
from flambeau.distributed.threads import join_threads


def error_of(function, *arguments, **options) -> str:
    with pytest.raises(DistributedError) as caught:
        function(*arguments, **options)
    return str(caught.value)


def test_a_rank_that_dies_in_a_message():
    """kill -9 closes the sockets: here in the middle of a frame."""
    groups = connect_threads(3, timeout=60)
    began = time.monotonic()

    def die():
        peer = groups[2].mesh.peers[0]
        with peer.lock:
            peer.socket.send(b"FLMB\1\0\0\0half a header")
        groups[2].close(goodbye=False)

    threading.Timer(0.05, die).start()
    texts = [None, None]

    def call(rank):
        texts[rank] = error_of(groups[rank].all_reduce, np.ones(100_000, "f4"))

    threads = [threading.Thread(target=call, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - began < 30  # sooner than the timeout
    for text in texts:
        assert text.startswith("all_reduce(sum, float32, [100000]): rank 2 died ("), text
    assert "rank 2 died" in error_of(groups[0].barrier)  # also later calls
    for group in groups:
        group.close(goodbye=False)


def test_a_rank_that_dies_before_its_memory_is_mapped(monkeypatch):
    """Its last frame names shared memory that ended with it."""
    groups = connect_threads(2, timeout=20)
    view = Blocks.view

    def late(blocks, pid, file, first, length):
        groups[1].close(goodbye=False)
        return view(blocks, pid, file, first, length)

    if not host_key():
        pytest.skip("no shared memory between processes on this system")
    monkeypatch.setattr(Blocks, "view", late)
    thread = threading.Thread(target=lambda: error_of(groups[1].all_reduce, np.ones(100_000, "f4")))
    thread.start()
    text = error_of(groups[0].all_reduce, np.ones(100_000, "f4"))
    thread.join()
    assert text.startswith("all_reduce(sum, float32, [100000]): rank 1 died ("), text
    groups[0].close(goodbye=False)


def test_a_rank_that_does_not_arrive_is_named_on_all():
    failed = threading.Semaphore(0)

    def run(group):
        if group.rank == 1:  # after both others: their threads may start late
            assert failed.acquire(timeout=60) and failed.acquire(timeout=60)
        text = error_of(group.all_reduce, np.ones(3))
        failed.release()
        return text

    for text in run_threads(3, run, timeout=0.3):
        assert "rank 1 did not arrive in all_reduce(sum, float64, [3]) of rank " in text, text


def test_a_rank_that_left_is_named_and_what_it_sent_counts():
    def run(group):
        copy = np.full(3, float(group.rank))
        if group.rank == 0:
            group.broadcast(copy, 0)
            group.close()
            return ""
        time.sleep(0.2)
        group.broadcast(copy, 0)
        assert copy.tolist() == [0.0] * 3
        return error_of(group.barrier)

    assert run_threads(2, run, timeout=20)[1] == (
        "barrier(): rank 0 has left: it called destroy_process_group or ended"
    )


def test_abort_stops_all_with_its_reason():
    def run(group):
        if group.rank == 1:
            group.abort("the loss is NaN in step 7")
        return error_of(group.barrier)

    for text in run_threads(3, run, timeout=20):
        assert text == "barrier(): rank 1: the loss is NaN in step 7"


def test_an_error_of_one_thread_stops_the_others():
    def run(group):
        if group.rank == 2:
            raise KeyError("column")
        group.barrier()

    with pytest.raises((KeyError, DistributedError), match="column"):
        run_threads(3, run, timeout=20)


def test_different_dtypes_shapes_ops_roots_and_counts():
    cases = {
        "shape": lambda g: g.all_reduce(np.ones(3 + (g.rank == 1))),
        "dtype": lambda g: g.broadcast(np.ones(3, "f4" if g.rank else "f8"), 0),
        "op": lambda g: g.all_reduce(np.ones(3), list(distributed.ReduceOp)[g.rank]),
        "root": lambda g: g.broadcast(np.ones(3), g.rank),
        "sizes": lambda g: g.all_to_all([np.ones(2), np.ones(3)], [np.ones(2 + g.rank), np.ones(3)]),
        "message": lambda g: g.send(np.ones(3), 1) if g.rank == 0 else g.recv(np.ones(4), 0),
    }  # fmt: skip
    for name, call in cases.items():

        def run(group, call=call):
            with pytest.raises(DistributedError) as caught:
                call(group)
                group.barrier()
            return str(caught.value)

        for text in run_threads(2, run, timeout=20):
            assert ("rank 0 sends 24 bytes, rank 1 has space for 16" if name == "sizes" else "rank 1") in text


A = np.ones(3)
WRONG = [
    (lambda g: g.broadcast(A, 1), ValueError, "broadcast(src=1): ranks are 0 to 0"),
    (lambda g: g.send(A, 0), ValueError, "send(dst=0): it is the caller's own rank"),
    (
        lambda g: g.all_gather([A, A], A), ValueError,
        "all_gather(a list of 2): the group has 1 ranks: pass one array each",
    ),
    (lambda g: g.scatter(A, None, 0), ValueError, "scatter(src=0): only rank 0 passes the list of arrays"),
    (lambda g: g.all_reduce([1]), TypeError, "all_reduce(list): pass a tensor or a NumPy array"),
    (
        lambda g: g.all_reduce(np.array(["a"])), TypeError,
        "all_reduce(array of <U1): pass numbers or bool in native byte order",
    ),
    (
        lambda g: g.all_reduce(A.astype("i4"), distributed.ReduceOp.AVG), TypeError,
        "all_reduce(op=AVG, dtype=int32): this dtype has no AVG",
    ),
    (
        lambda g: g.all_reduce(A.copy(), dtype="bfloat16"), TypeError,
        "all_reduce(dtype='bfloat16'): the array is float64: only uint16 can hold another dtype, bfloat16",
    ),
    (
        lambda g: g.all_reduce(np.broadcast_to(A, (2, 3))), ValueError,
        "a collective writes its result to the array, and this one is read-only: pass a copy",
    ),
]  # fmt: skip


def test_a_call_before_the_one_that_differs_completes():
    first, second = connect_threads(2, timeout=20)
    array, other = np.ones(3), np.ones(3)
    work = first.all_reduce(array, async_op=True)
    with first.mesh.changed:
        first.mesh._fail("call 1 differs", (0, 1))  # found by another rank while call 0 is under way
    second.all_reduce(other)
    assert work.wait() and array.tolist() == other.tolist() == [2, 2, 2]
    for group in (first, second):
        assert error_of(group.barrier) == "barrier(): call 1 differs"
        group.close(goodbye=False)


def test_wrong_arguments():
    (group,) = connect_threads(1)
    for call, error, text in WRONG:
        with pytest.raises(error) as caught:
            call(group)
        assert str(caught.value) == text
    group.close()


def test_full_shared_memory_falls_back_to_sockets(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full)
    monkeypatch.setattr("flambeau.core.warn_once._said", set())

    def run(group):
        array = np.full(100_000, group.rank + 1.0)
        group.all_reduce(array)
        return array[0], array[-1]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run_threads(2, run, shared_memory=True, timeout=20) == [(3, 3)] * 2
    assert "shared memory is full" in str(caught[0].message)


def test_where_processes_cannot_read_each_other_sockets_are_used(monkeypatch):
    monkeypatch.setattr("flambeau.distributed.rendezvous.can_map", lambda *_: False)
    store = StoreServer()
    groups = join_threads(2, store, timeout=20)
    works = [group.all_reduce(np.ones(100_000), async_op=True) for group in groups]
    assert all(work.wait() for work in works)
    for group in groups:
        assert not group.mesh.blocks.own and group.empty(100_000).base is None
        group.close(goodbye=False)
    store.close()


def test_few_blocks_are_enough(monkeypatch):
    monkeypatch.setattr("flambeau.distributed.memory.CAPACITY", 1 << 17)
    monkeypatch.setattr("flambeau.distributed.group.PIECE", 1 << 16)

    def run(group):
        array = np.full(200_000, group.rank + 1.0)
        group.all_reduce(array)
        group.broadcast(array, 1)
        return float(array.sum())

    assert run_threads(3, run, shared_memory=True, timeout=20) == [1_200_000.0] * 3


def test_the_group_shrinks_and_grows():
    """Rank 1 of 3 dies; the others go on; a new worker joins; the ranks keep their order."""
    store = StoreServer(token="secret")
    groups = join_threads(3, store, timeout=20)
    assert [g.generation for g in groups] == [1, 1, 1]
    groups[1].close(goodbye=False)
    results = {}

    def survive(old):
        group = groups[old]
        assert "rank 1 died" in error_of(group.barrier)
        began = time.monotonic()
        group = group.reconfigure(60)
        assert time.monotonic() - began < 30  # sooner than the timeout
        total = np.array([1.0])
        group.all_reduce(total)
        assert (group.size, group.generation, total[0]) == (2, 2, 2.0)
        while not group.joiners():  # a step each
            time.sleep(0.01)
        group.barrier()
        go_on(group.reconfigure(60), old)

    def go_on(group, name):
        members = np.array([name, group.elastic.old_ranks[group.rank]])
        rows = [np.zeros(2, np.int64) for _ in range(group.size)]
        group.all_gather(rows, members)
        results[name] = (group.rank, group.generation, [r.tolist() for r in rows])
        group.barrier()
        group.close()

    def arrive():
        time.sleep(0.1)
        (group,) = join_threads(1, store, timeout=20, first=-1, size=3)
        go_on(group, 9)

    threads = [threading.Thread(target=survive, args=(r,)) for r in (0, 2)] + [
        threading.Thread(target=arrive)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    rows = [[0, 0], [2, 1], [9, -1]]
    assert results == {0: (0, 3, rows), 2: (1, 3, rows), 9: (2, 3, rows)}
    store.close()


def test_a_rank_that_hangs_is_left_out():
    store = StoreServer()
    groups = join_threads(3, store, timeout=20)
    following = [None] * 3
    threads = [
        threading.Thread(target=lambda r=r: following.__setitem__(r, groups[r].reconfigure(1.0)))
        for r in (0, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [g.size for g in following[:2]] == [2, 2]
    store.close()
    assert "the store has closed" in error_of(following[0].reconfigure, 1)


def test_missing_ranks_wrong_tokens_and_versions(monkeypatch):
    store = StoreServer(token="secret")
    worker = distributed.Store(store.host, store.port, "secret", 5)
    text = error_of(Worker(worker, "secret", 0, 3).join, 0.2)
    assert "1 of 3 ranks arrived within 0.2 s: rank 1, 2 did not" in text
    assert "the tokens differ" in error_of(distributed.Store, store.host, store.port, "wrong", 5)
    assert "rank 5 is out of range: the world size is 3" in error_of(Worker(worker, "secret", 5, 3).join, 1)
    monkeypatch.setattr("flambeau.distributed.rendezvous.__version__", "9.9")
    assert "rank 0 runs flambeau 9.9, the store" in error_of(Worker(worker, "secret", 0, 3).join, 1)
    store.close()


def test_ports_and_hosts():
    store = StoreServer()
    assert f"cannot listen on 127.0.0.1:{store.port}: " in error_of(StoreServer, "127.0.0.1", store.port)
    assert "listening on 0.0.0.0 needs a token: set FLAMBEAU_TOKEN" in error_of(StoreServer, "0.0.0.0")
    store.close()
    text = error_of(distributed.Store, "127.0.0.1", store.port, timeout=0.1)
    assert f"no server at 127.0.0.1:{store.port} within 0.1 s" in text


def test_the_store():
    server = StoreServer()
    first, second = (distributed.Store("127.0.0.1", server.port) for _ in range(2))
    first.set("a", "text")
    assert second.get("a") == b"text"
    assert [first.add("n", 2), second.add("n", 3)] == [2, 5]
    threading.Timer(0.05, first.set, ("late", b"x")).start()
    second.wait(["late", "a"], timeout=60)
    assert "get('never'): no rank set this key before the timeout" in error_of(second.get, "never", 0.05)
    assert first.delete_key("a") and not first.delete_key("a")
    assert "too large" in error_of(first.set, "big", bytes((16 << 20) + 1))
    server.close()


def test_stragglers():
    ready = threading.Semaphore(0)

    def run(group):
        if group.rank == 1:  # half a second after both others
            assert ready.acquire(timeout=60) and ready.acquire(timeout=60)
            time.sleep(0.5)
        ready.release()
        group.barrier()
        return group.stragglers()

    slow, seconds = run_threads(3, run, timeout=60)[0][0]
    assert slow == 1 and 0.1 < seconds < 60


def test_a_failed_start_leaves_the_port_free(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "FLAMBEAU_STORE", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    server = StoreServer()
    address = f"tcp://127.0.0.1:{server.port}"
    server.close()
    for _ in range(2):
        text = error_of(distributed.init_process_group, None, address, 0.1, 2, 0)
        assert "1 of 2 ranks arrived within " in text and "rank 1 did not" in text
    distributed.init_process_group(init_method=address, world_size=1, rank=0)
    assert distributed.get_world_size() == 1
    distributed.destroy_process_group()


def test_a_slow_rank_of_many_calls_leaves_nothing_behind(monkeypatch):
    monkeypatch.setattr("flambeau.distributed.mesh.REMEMBERED", 2)

    def run(group):
        array = np.full(3, float(group.rank))
        for _ in range(20):
            time.sleep(0.005 * group.rank)
            group.broadcast(array, 0)
        works = [group.barrier(async_op=True) for _ in range(3)]
        assert group.new_group([0, 1]).size == 2  # after the calls that still run
        for work in works:
            work.wait(timedelta(seconds=20))
        return len(group.mesh.early), len(group.mesh.inbox), len(group.mesh.posted)

    assert run_threads(2, run, timeout=20) == [(0, 0, 0)] * 2


def test_a_late_answer_of_the_store_is_not_taken_for_another(monkeypatch):
    server = StoreServer()
    client = distributed.Store("127.0.0.1", server.port, timeout=5)
    monkeypatch.setattr("flambeau.distributed.store.PATIENCE", 0.05)
    late = threading.Timer(0.2, distributed.Store("127.0.0.1", server.port).set, ("a", b"late"))
    late.start()
    assert "the store has closed" in error_of(client.request, {"request": "get", "key": "a", "timeout": 5})
    assert "the store has closed" in error_of(client.get, "b", 1)
    late.join()
    server.close()

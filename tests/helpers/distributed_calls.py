"""Calls that provoke what docstrings of flambeau.distributed, remote and tabs say that they raise."""

import asyncio
import socket
import time
from contextlib import contextmanager
from unittest.mock import Mock, patch

import numpy as np

import flambeau as fb
from flambeau import distributed as dist
from flambeau import remote, tabs
from flambeau.distributed.threads import join_threads
from flambeau.remote.handshake import Welcome

CPU = {"device": "cpu"}
HERE = "127.0.0.1"
ONE, TWO = fb.ones(1, **CPU), fb.ones(2, **CPU)
BATCH = fb.ones(4, 2, **CPU)
SGD = fb.optim.SGD


def in_ranks(function, seconds: float = 0.05):
    """A call of function(rank) in two threads that are ranks, whose collectives wait for so many seconds."""
    return lambda: dist.run_threads(2, lambda group: function(group.rank), timeout=seconds)


def alone(function):
    """A call of function() in a process group of this thread alone."""

    def call():
        with dist.as_rank(dist.current_group()):
            function()

    return call


def lost(collective, absent: int = 1):
    """Calls of a collective of one tensor: ranks differ in its shape, one does not call it, one dies.

    absent: the rank that the other one waits for, as for the root of a broadcast
    """

    def dies(rank: int) -> None:
        if rank == absent:
            dist.get_default_group().close(goodbye=False)
        else:
            collective(ONE)

    return [
        in_ranks(lambda rank: collective(fb.ones(1 + rank, **CPU))),
        in_ranks(lambda rank: rank == absent or collective(ONE)),
        in_ranks(dies, 5.0),
    ]


def roots(collective, name: str):
    """Calls of a collective with two roots, and with one that is not in the group."""
    return [
        alone(lambda: collective(**{name: 0, f"group_{name}": 0})),
        alone(lambda: collective(**{name: 5})),
    ]


@contextmanager
def used_port():
    with socket.create_server((HERE, 0)) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with used_port() as port:
        return port


def with_port(function):
    """A call of function(port) with a port that is in use."""

    def call():
        with used_port() as port:
            function(port)

    return call


def with_store(function):
    """A call of function(server) with a store whose token is "one"."""

    def call():
        server = dist.StoreServer(token="one")
        try:
            function(server)
        finally:
            server.close()

    return call


def join(port: int, rank: int = 0):
    dist.init_process_group(init_method=f"tcp://{HERE}:{port}", world_size=2, rank=rank, timeout=0.05)


def second_group():
    with patch.object(dist, "_default", dist.current_group()):
        dist.init_process_group()


def without_store(reconfigure):
    """A call of a change of the members after the store has gone."""

    def call():
        store = dist.StoreServer()
        (group,) = join_threads(1, store, 5.0)
        store.close()
        try:
            with dist.as_rank(group):
                reconfigure(group)
        finally:
            group.close()

    return call


def send_to_dead(send):
    def call(rank: int):
        group = dist.get_default_group()
        if rank:
            return group.close(goodbye=False)
        while not group.failure:
            time.sleep(0.001)
        return send(ONE, 1)

    return in_ranks(call, 5.0)


def mismatch(rank: int):
    return dist.recv(TWO, 0) if rank else dist.send(ONE, 1)


def optimizer(size: int = 2):
    return SGD(fb.nn.Linear(2, size, **CPU).parameters(), lr=0.1)


def wrong_token():
    with remote.Server(HERE, 0, "one", ()) as server:
        remote.connect(server.address, "two")


def train_with_tabs(model=None, example=(BATCH, BATCH), **options):
    model = fb.nn.Linear(2, 2, **CPU) if model is None else model
    tabs.TabWorkers(model, fb.nn.functional.mse_loss, example, **{"shards": 2, **options}).close()


LISTS = [TWO, TWO]  # of other sizes than ONE
DIFFERENT_PAIRS = in_ranks(
    lambda rank: dist.all_to_all([np.ones(1), np.ones(1)], [np.ones(1 + rank), np.ones(2 - rank)])
)
CALLS = {
    "DiLoCo": [lambda: dist.DiLoCo(optimizer(), every=0), lambda: dist.DiLoCo(optimizer(), wire="most")],
    "DistributedOptimizer": [
        in_ranks(
            lambda rank: dist.DistributedOptimizer(
                optimizer(2 + rank), None, dist.get_default_group(), dist.ParallelOptions()
            ),
            5.0,
        ),
        in_ranks(
            lambda rank: dist.DistributedOptimizer(
                optimizer(), None, dist.get_default_group(), dist.ParallelOptions(shards=1)
            ),
            5.0,
        ),
    ],
    "ParallelOptions": [
        lambda: dist.ParallelOptions(wire="most"),
        lambda: dist.ParallelOptions(shards=0),
    ],
    "Store": [
        lambda: dist.Store(HERE, free_port(), timeout=0.05),
        with_store(lambda server: dist.Store(HERE, server.port, "two")),
    ],
    "StoreServer": [
        with_port(lambda port: dist.StoreServer(port=port)),
        lambda: dist.StoreServer("0.0.0.0"),
    ],
    "all_gather": [
        *lost(lambda x: dist.all_gather([fb.ones_like(x), fb.ones_like(x)], x)),
        alone(lambda: dist.all_gather([ONE, ONE], ONE)),
        alone(lambda: dist.all_gather([TWO], ONE)),
    ],
    "all_gather_into_tensor": [
        *lost(lambda x: dist.all_gather_into_tensor(fb.ones(2 * len(x), **CPU), x)),
        alone(lambda: dist.all_gather_into_tensor(TWO, ONE)),
    ],
    "all_gather_object": [
        in_ranks(lambda rank: rank or dist.all_gather_object([None, None], 1)),
        alone(lambda: dist.all_gather_object([None], object())),
        alone(lambda: dist.all_gather_object([], 1)),
    ],
    "all_reduce": [
        *lost(dist.all_reduce),
        alone(lambda: dist.all_reduce(3)),
        alone(lambda: dist.all_reduce(ONE, op=dist.ReduceOp.BAND)),
    ],
    "all_to_all": [
        *lost(lambda x: dist.all_to_all([x, x], [x, x])),
        DIFFERENT_PAIRS,
        alone(lambda: dist.all_to_all([ONE, ONE], [ONE])),
        alone(lambda: dist.all_to_all([TWO], [ONE])),
        alone(lambda: dist.all_to_all([ONE.int()], [ONE])),
    ],
    "all_to_all_single": [
        *lost(lambda x: dist.all_to_all_single(fb.ones(2, 1, **CPU), fb.ones(2, len(x), **CPU))),
        alone(lambda: dist.all_to_all_single(TWO, TWO, [1])),
        in_ranks(lambda rank: dist.all_to_all_single(ONE, ONE), 5.0),
        alone(lambda: dist.all_to_all_single(ONE.int(), ONE)),
    ],
    "barrier": [in_ranks(lambda rank: rank or dist.barrier())],
    "broadcast": [
        *lost(lambda x: dist.broadcast(x, 0), 0),
        *roots(lambda **root: dist.broadcast(ONE, **root), "src"),
    ],
    "broadcast_object_list": [
        in_ranks(lambda rank: rank and dist.broadcast_object_list([None], 0)),
        alone(lambda: dist.broadcast_object_list([object()])),
        in_ranks(lambda rank: dist.broadcast_object_list([None] * (1 + rank)), 5.0),
        *roots(lambda **root: dist.broadcast_object_list([1], **root), "src"),
    ],
    "connect": [
        lambda: remote.connect(":0"),
        lambda: remote.connect(f"{HERE}:{free_port()}", timeout=0.1),
        wrong_token,
        lambda: remote.connect(f"{HERE}:1", ca=__file__),
    ],
    "connect_async": [
        lambda: asyncio.run(remote.connect_async(":0")),
        lambda: asyncio.run(remote.connect_async(f"{HERE}:{free_port()}", timeout=0.1)),
    ],
    "gather": [
        *lost(lambda x: dist.gather(x, None if dist.get_rank() else [fb.ones_like(x), fb.ones_like(x)])),
        *roots(lambda **root: dist.gather(ONE, [ONE], **root), "dst"),
        alone(lambda: dist.gather(ONE, LISTS)),
        in_ranks(lambda rank: dist.gather(ONE, [ONE, ONE]), 5.0),
    ],
    "get_global_rank": [lambda: dist.get_global_rank(dist.current_group(), -1)],
    "get_group_rank": [lambda: dist.get_group_rank(dist.current_group(), 1)],
    "init_process_group": [
        with_port(join),
        lambda: join(free_port()),
        with_store(lambda server: join(server.port, 1)),
        second_group,
        lambda: dist.init_process_group("most"),
        lambda: dist.init_process_group(init_method="udp://"),
        lambda: dist.init_process_group(),
        lambda: dist.init_process_group(init_method=f"tcp://{HERE}:1", rank=2, world_size=2),
    ],
    "irecv": [
        *roots(lambda **root: dist.irecv(ONE, **root), "src"),
        alone(lambda: dist.irecv(ONE)),
        alone(lambda: dist.irecv(ONE, 0)),
    ],
    "isend": [
        send_to_dead(dist.isend),
        *roots(lambda **root: dist.isend(ONE, **root), "dst"),
        alone(lambda: dist.isend(ONE)),
        alone(lambda: dist.isend(ONE, 0)),
    ],
    "new_group": [
        in_ranks(lambda rank: dist.new_group([rank])),
        lambda: dist.new_group(),
        alone(lambda: dist.new_group([1])),
    ],
    "next_group": [lambda: dist.next_group(dist.current_group()), without_store(dist.next_group)],
    "reconfigure": [alone(dist.reconfigure), without_store(lambda _: dist.reconfigure(0.1))],
    "recv": [
        in_ranks(mismatch, 5.0),
        in_ranks(lambda rank: rank or dist.recv(ONE, 1)),
        *roots(lambda **root: dist.recv(ONE, **root), "src"),
        alone(lambda: dist.recv(ONE, 0)),
    ],
    "reduce": [
        *lost(dist.reduce),
        alone(lambda: dist.reduce(3)),
        alone(lambda: dist.reduce(ONE, op=dist.ReduceOp.BAND)),
        *roots(lambda **root: dist.reduce(ONE, **root), "dst"),
    ],
    "reduce_scatter": [
        *lost(lambda x: dist.reduce_scatter(x, [x, x])),
        alone(lambda: dist.reduce_scatter(ONE, [ONE], dist.ReduceOp.BAND)),
        alone(lambda: dist.reduce_scatter(ONE, LISTS)),
    ],
    "reduce_scatter_tensor": [
        *lost(lambda x: dist.reduce_scatter_tensor(x, fb.ones(2 * len(x), **CPU))),
        alone(lambda: dist.reduce_scatter_tensor(ONE, ONE, dist.ReduceOp.BAND)),
        alone(lambda: dist.reduce_scatter_tensor(ONE, TWO)),
    ],
    "scatter": [
        *lost(lambda x: dist.scatter(x, None if dist.get_rank() else [x, x]), 0),
        *roots(lambda **root: dist.scatter(ONE, [ONE], **root), "src"),
        alone(lambda: dist.scatter(ONE, LISTS)),
        in_ranks(lambda rank: dist.scatter(ONE, [ONE, ONE]), 5.0),
    ],
    "send": [
        send_to_dead(dist.send),
        lambda: dist.send(ONE, 1),
        *roots(lambda **root: dist.send(ONE, **root), "dst"),
        alone(lambda: dist.send(ONE)),
        alone(lambda: dist.send(ONE, 0)),
        alone(lambda: dist.send(ONE, 0, 3)),
    ],
    "RemoteDevice": [lambda: remote.RemoteDevice(Mock(), "remote:host:1", Welcome({}, None))],
    "Server": [
        with_port(lambda port: remote.Server(port=port, devices=())),
        lambda: remote.Server("0.0.0.0", 0, devices=()),
        lambda: remote.Server(port=0, devices=("cpu",)),
        lambda: remote.Server(port=0, devices=(), cert=__file__),
    ],
    "TabWorkers": [
        lambda: train_with_tabs(shards=3),
        lambda: train_with_tabs(limit=0.0),
        lambda: train_with_tabs(token="short"),
        lambda: train_with_tabs(example=(ONE,)),
        lambda: train_with_tabs(fb.nn.Linear(2, 2, dtype=fb.float16, **CPU)),
        with_port(lambda port: train_with_tabs(port=port)),
    ],
    "wrap": [
        in_ranks(lambda rank: dist.wrap(optimizer(2 + rank)), 5.0),
        in_ranks(lambda rank: dist.wrap(optimizer(), shards=1), 5.0),
        lambda: dist.wrap(optimizer(), wire="most"),
    ],
}

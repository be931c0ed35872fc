"""Predicts how long a data parallel step takes on many workers, from constants that one machine measures."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from ..errors import ValueError
from .carrier import threads_of
from .layout import round_size

ENCODE_PASSES = 15  # copies that take as long as encoding to float16 with error feedback


class Machine(NamedTuple):
    """Constants of a host.

    read, write: bytes per second from a device to an array of the host and back. add: bytes per second of
    checked sums of two arrays. These three with as many threads as a worker has, while the other workers and
    the other stages of the exchange do the same: alone, each is faster. copy: bytes per second that a core
    moves in memory. cores: of the host. message: seconds that a worker takes for a message. network: bytes
    per second of the host in each direction. latency: seconds to another host. bus: bytes per second at which
    a device copies to and from mapped memory; it computes nothing then.
    """

    read: float
    write: float
    add: float
    copy: float
    cores: int
    message: float = 1e-4
    network: float = 3.1e9
    latency: float = 5e-5
    bus: float = 37e9


class WorkerStep(NamedTuple):
    """A training step of one worker.

    nbytes: of the gradients in float32. compute: seconds of its forward and backward passes. update: seconds
    of the optimiser. last: bytes of the gradients that are complete only when backward ends, such as those of
    word vectors.
    """

    nbytes: float
    compute: float
    update: float = 0.0
    last: float = 0.0


class Method(NamedTuple):
    """How gradients are exchanged.

    wire: the bytes of an element over 4: 0.5 for float16, 0.25 for int8. overlap: the fraction of `compute`
    during which gradients are exchanged: that of the backward pass of a worker's last shard. every: steps
    between two exchanges (DiLoCo).
    hierarchical: whether a host's workers add their gradients before these leave the host; this version does
    not.
    """

    wire: float = 1.0
    overlap: float = 0.0
    every: int = 1
    hierarchical: bool = False


PLAIN = Method()  # every step, in float32


class Prediction(NamedTuple):
    """The seconds of a step: the parts of the exchange, and all together.

    read, write: device to host and back; host: additions, and encoding for a wire below 1; network; messages.
    exchange: their time, with overlapping parts counted once. efficiency: the fraction of the step that
    computes.
    """

    read: float
    write: float
    host: float
    network: float
    messages: float
    exchange: float
    step: float
    efficiency: float


def predict(
    work: WorkerStep, machine: Machine, devices: int = 1, hosts: int = 1, method: Method = PLAIN
) -> Prediction:
    """Predict the step of `devices` workers on each of `hosts`, each with the same part of the batch.
    ValueError for sizes below 1."""
    if devices < 1 or hosts < 1 or method.every < 1:
        call = f"predict({devices} devices, {hosts} hosts, every={method.every})"
        raise ValueError(f"{call}: must be at least 1: pass other numbers")
    workers = devices * hosts
    rounds = max(ceil(work.nbytes / round_size(int(work.nbytes))), 1)
    others = (workers - 1) / workers
    crowd = max(devices / machine.cores, 1.0)  # workers that share a core
    read, write = work.nbytes / machine.read, work.nbytes / machine.write
    # The additions read a worker's segment of all workers' sums and write it once, n + 1 passes: for two
    # workers three.
    adding = work.nbytes / workers * (workers + 1) / 3 / machine.add if workers > 1 else 0.0
    passes = ENCODE_PASSES * others if method.wire < 1 else 0.0
    encoding = passes * work.nbytes / machine.copy / threads_of(machine.cores, devices)
    host = (adding + encoding) * crowd
    # Each worker sends its part of each segment, and its sums, to all workers of other hosts.
    leaving = 1 if method.hierarchical else devices
    network = 2 * leaving * (hosts - 1) / hosts * work.nbytes * method.wire / machine.network
    peers = (devices - 1 + hosts - 1) if method.hierarchical else workers - 1
    messages = 2 * peers * rounds * machine.message * crowd + 2 * machine.latency * (hosts > 1)
    stages = (read, host, network, write)
    # The stages of the rounds are a pipeline: the first round passes all, the others wait for the slowest.
    exchange = sum(stages) / rounds + max(stages) * (rounds - 1) / rounds + messages
    if workers == 1:
        exchange = 0.0
    # Only gradients that are complete before backward ends can be hidden.
    hidden = min(exchange * max(1 - work.last / work.nbytes, 0.0), method.overlap * work.compute)
    compute = work.compute + work.update
    # The part that is hidden from the host still shares the device's queue with the kernels.
    copying = 2 * work.nbytes / machine.bus * hidden / exchange if exchange else 0.0
    step = compute + (exchange - hidden + copying) / method.every
    return Prediction(read, write, host, network, messages, exchange, step, compute / step)

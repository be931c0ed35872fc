"""The limits of one kernel on a device: bindings, workgroups, turns, matrix units."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

SOFTWARE_TURNS = 50000  # `Limits.turns` of software adapters: llvmpipe's limit, minus room for epilogues


class MachineSpeed(NamedTuple):
    """The speeds of a GPU for cost estimates of kernels, by default of the NVIDIA H200 used to fit them.

    cores: multiprocessors, each of which runs its own workgroups. multiply_add: picoseconds of a float32
    multiply-add in a core. byte: picoseconds per byte of memory traffic.
    """

    cores: int = 132
    multiply_add: float = 5.7
    byte: float = 0.25


H200 = MachineSpeed()


@dataclass(frozen=True)
class Limits:
    """The resources that a kernel may use; by default the minimum that every WebGPU device has."""

    storage_buffers: int = 8
    bundle_buffers: int = 8  # storage buffers of a kernel of horizontal fusion
    invocations: int = 256
    groups: int = 65535
    workgroup_memory: int = 16384  # bytes
    software: bool = False  # the adapter is a CPU: reads are expensive, barriers and registers cost otherwise
    lanes: int = 8  # numbers in a register of a software adapter
    # Loop iterations that a thread may take in all. llvmpipe silently ends a thread's loops after 65,535
    # (Mesa's LP_MAX_TGSI_LOOP_ITERATIONS).
    turns: int = 1 << 31  # no limit
    matrix: "tuple[Unit, ...]" = ()  # shapes that its matrix units multiply
    # Operations and bytes a second that it reaches at least. Kernels that take long by these figures are
    # split, see runtime/pipeline.py. A CPU has no watchdog.
    pace: tuple[float, float] = (1e11, 1e10)
    machine: MachineSpeed = H200
    # (family, bucket) or (family, bucket, default) -> the fastest variant measured here; see core/choose.py
    tuned: dict[tuple[Any, ...], str] = field(default_factory=dict[tuple[Any, ...], str], compare=False)


class Unit(NamedTuple):
    """A shape that matrix units multiply: float16 [m, k] by [k, n], added to float32 [m, n], by a subgroup of
    `lanes` threads. kind: the language that kernels for it are written in."""

    kind: str
    m: int
    n: int
    k: int
    lanes: int

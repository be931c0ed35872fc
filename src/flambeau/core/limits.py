"""What one kernel may use on a device: bindings, workgroups, turns, the units for products."""

from dataclasses import dataclass, field
from typing import NamedTuple

SOFTWARE_TURNS = 50000  # `Limits.turns` of software adapters: what llvmpipe allows, and room for epilogues


@dataclass(frozen=True)
class Limits:
    """What a kernel may use; the portable minimum of WebGPU unless the device says more."""

    storage_buffers: int = 8
    bundle_buffers: int = 8  # those of a kernel that does the work of several
    invocations: int = 256
    groups: int = 65535
    workgroup_memory: int = 16384  # bytes
    software: bool = (
        False  # the adapter is a CPU: reads are dear, registers and barriers are not what they seem
    )
    lanes: int = 8  # numbers in a register of a software adapter
    # Turns of loops that a thread may take. llvmpipe ends a thread's loops, silently, when they have taken
    # 65,535 altogether (Mesa's LP_MAX_TGSI_LOOP_ITERATIONS).
    turns: int = 1 << 31  # no limit
    matrix: tuple = ()  # what its matrix units multiply: Units
    # Operations and bytes a second that it surely reaches: what takes long by these is cut, see
    # runtime/pipeline.py. A CPU has no watchdog.
    pace: tuple[float, float] = (1e11, 1e10)
    # (family, bucket) -> the variant that was measured to be fastest here; see core/choose.py.
    tuned: dict = field(default_factory=dict, compare=False)


class Unit(NamedTuple):
    """What an adapter's matrix units multiply: float16 [m, k] by [k, n], added to float32 [m, n], by a
    subgroup of so many lanes. kind: the language that kernels for it are written in."""

    kind: str
    m: int
    n: int
    k: int
    lanes: int

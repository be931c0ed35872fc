"""The device of a server: an adapter opened for clients that are not trusted."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

from ..core.faults import DECLARED
from ..device.adapters import Adapter, provider
from ..device.memory import SMALLEST
from ..device.native import PARAMS_ALIGN, PARAMS_WINDOW, UNIFORM, NativeDevice
from ..errors import DeviceError

__all__ = ["PARAMS_ALIGN", "PARAMS_WINDOW", "SMALLEST", "ServedDevice"]

KERNELS_KEPT = 4096  # compiled texts that no client uses
NOT_FAULTS = DECLARED.replace(":", " :")  # the same WGSL, in which NativeDevice finds no faults


class ServedDevice(NativeDevice):
    """An adapter for clients. All kernels check indices, so that none reaches another client's memory, and
    loops, which may hide an index from the checks if they never end.

    Buffers of clients have at least SMALLEST bytes, and bind group layouts say so. A text that needs more
    for a binding is then refused when it compiles; without, the driver would end the process at a dispatch.
    Each client has a separate buffer for faults, which is an ordinary output here.

    trusts: leave out the checks of kernels that a client says are proven (`trusts` of the device: some).
    """

    def __init__(self, adapter: Adapter, trusts: bool = False):
        if os.environ.get("FLAMBEAU_CHECKS") == "off":
            raise DeviceError("remote: FLAMBEAU_CHECKS=off: clients could read each other's memory: unset it")
        super().__init__(adapter)
        # A counter in each loop, against loops without an end, makes small kernels ten times as slow on a
        # CPU (llvmpipe, 2026-11-27). Compilers of GPUs may drop the checks after such a loop; these don't.
        self.trusts = trusts or (
            adapter.is_software and adapter.backend == "Vulkan" and self._fast.keep_bounds()
        )
        self._clears = provider().__name__ != "wgpu"  # wgpu clears new buffers; Dawn is configured not to
        self._mark = self.alloc(SMALLEST, SMALLEST)
        self._by_text: dict[bytes, int] = {}  # compiled texts, those that were first used longest ago first
        self._uses: Counter[int] = Counter()  # how many connected clients sent each

    def _layout(self, inputs: int, outputs: int) -> tuple[Any, Any]:
        layout = self._layouts.get((inputs, outputs))
        if layout is None:
            kinds = ["uniform", *["read-only-storage"] * inputs, *["storage"] * outputs]
            least = [PARAMS_WINDOW, *[SMALLEST] * (inputs + outputs)]
            entries = [
                {"binding": i, "visibility": 4, "buffer": {"type": kind, "min_binding_size": n}}
                for i, (kind, n) in enumerate(zip(kinds, least, strict=True))
            ]
            group = self._wgpu.create_bind_group_layout(entries=entries)
            layout = group, self._wgpu.create_pipeline_layout(bind_group_layouts=[group])
            self._layouts[inputs, outputs] = layout
        return layout

    def kernel(self, text: str, label: str, inputs: int, outputs: int, proven: bool) -> int:
        """The pipeline of a text. Clients that send the same text share it."""
        trusted = proven and self.trusts
        key = hashlib.sha256(f"{inputs} {outputs} {trusted} {text}".encode()).digest()
        number = self._by_text.get(key)
        if number is None:
            number = self.pipeline(text.replace(DECLARED, NOT_FAULTS), label, inputs, outputs, trusted)
            if trusted:
                self.check_texts()  # later, another client's submit would report it
            self._by_text[key] = number
        self._uses[number] += 1
        return number

    def release(self, numbers: Iterable[int]) -> None:
        """A client has ended: drop the kernels that nobody uses, beyond those kept for the next clients."""
        self._uses.subtract(numbers)
        idle = [key for key, number in self._by_text.items() if self._uses[number] <= 0]
        for key in idle[: max(len(idle) - KERNELS_KEPT, 0)]:
            number = self._by_text.pop(key)
            del self._uses[number]
            self.forget_pipeline(number)

    def alloc_cleared(self, size: int, is_uniform: bool) -> int:
        """Allocate a buffer of zeros: freed memory may hold another client's values."""
        handle = self.alloc(size, size, UNIFORM) if is_uniform else self.alloc(size, size)
        if self._clears:
            self.write(handle, bytes(size))
        return handle

    def fetch_nothing(self) -> Any:
        """A pending read that arrives when everything submitted is done: a mapping without a copy would not
        wait."""
        return self.fetch([(self._mark, 4)])

    def describe(self) -> dict[str, Any]:
        """The facts that a client needs to plan kernels for it."""
        limits = {
            name: value for name, value in vars(self.limits).items() if name not in ("tuned", "machine")
        }
        return {
            "name": str(self.adapter),
            "limits": limits,
            "machine": list(self.limits.machine),
            "tuned": [[list(key), value] for key, value in self.limits.tuned.items()],
            "max_binding": self.max_binding,
            "compilers": self.compilers,
        }

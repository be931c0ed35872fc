"""Dawn beyond WebGPU: the toggles that matrix units need, and the shapes that they multiply."""

from contextlib import suppress
from importlib import import_module
from typing import Any

from ..core.limits import Unit

MATRICES = "chromium-experimental-subgroup-matrix"
# for the feature, for float16 on NVIDIA (which it needs), and for buffer_view, by which kernels write memory
SWITCHES = ("allow_unsafe_apis", "vulkan_enable_f16_on_nvidia", "expose_wgsl_experimental_features")
# off: timestamps in steps of 65 us are too coarse for kernels
UNWANTED = ("timestamp_quantization",)
# Dawn clears a buffer at its first use. On an H200 (2026-11-27, driver 580.159.04) that clear ran beside the
# copy of an upload to the buffer's start: one upload in a thousand had zeros for about 500 elements. The pool
# reads nothing that it has not written, so no clear is needed.
CLEARING = "lazy_clear_resource_on_first_use"
RANGES, UNCHECKED = "enable_integer_range_analysis_in_robustness", "disable_robustness"


def switch_on(wgpudawn: Any) -> None:
    """Set Dawn's toggles, which is possible only before its first use. If another package has used it
    already, there are no matrix units, and timestamps are as coarse as in web pages."""
    extras: Any = import_module("wgpudawn.backends.dawn.extras")
    all_toggles = extras.all_toggles()
    with suppress(RuntimeError):  # it is in use
        extras.set_instance_extras(
            enable_toggles=[s for s in SWITCHES if s in all_toggles], disable_toggles=UNWANTED
        )


def open_device(adapter: Any, unchecked: bool, more: tuple[str, ...] = (), **wanted: Any) -> Any:
    """Open a device of an adapter. New buffers have undefined contents. unchecked: no kernel's indices
    are checked; else only those whose range the compiler knows are not. more: toggles."""
    extras: Any = import_module("wgpudawn.backends.dawn.extras")
    all_toggles = extras.all_toggles()
    toggles = [t for t in (RANGES, *([UNCHECKED] if unchecked else []), *more) if t in all_toggles]
    cleared = [CLEARING] if CLEARING in all_toggles else []
    return extras.request_device_sync(adapter, enable_toggles=toggles, disable_toggles=cleared, **wanted)


def units(adapter: Any) -> tuple[Unit, ...]:
    """Return the shapes of float16 matrices that the adapter's matrix units multiply and accumulate in
    float32, if its subgroups have a single size."""
    if MATRICES not in adapter.features or "shader-f16" not in adapter.features:
        return ()
    extras: Any = import_module("wgpudawn.backends.dawn.extras")
    configs = extras.get_adapter_properties(adapter).get("subgroup_matrix_configs", ())
    return tuple(
        Unit("subgroup", c["m"], c["n"], c["k"], c["max_subgroup_size"])
        for c in configs
        if (c["component_type"], c["result_component_type"]) == ("f16", "f32")
        and c["min_subgroup_size"] == c["max_subgroup_size"]
    )

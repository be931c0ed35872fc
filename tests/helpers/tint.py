"""Shaders (JSON on stdin) and their pipelines checked by Tint and Dawn; what is refused to stdout (JSON).

A process of its own: Dawn reads once which adapter it is to open, and WGPU_BACKEND_TYPE=Null, the one that
computes nothing, is not the other tests'. It checks what the others do, and has no driver compile anything.
"""

import glob
import json
import os
import shutil
import sys

FILE = "vk_swiftshader_icd.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "brave-browser")
FOLDERS = (
    "/usr/lib/chromium*", "/usr/lib64/chromium*", "/usr/local/lib/chromium*", "/usr/share/chromium*",
    "/opt/google/chrome*", "/opt/chromium*", "/snap/chromium/current/usr/lib/chromium-browser",
)  # fmt: skip
LIMITS = {  # the portable minimum
    "max-storage-buffers-per-shader-stage": 8,
    "max-compute-invocations-per-workgroup": 256,
    "max-compute-workgroup-size-x": 256,
    "max-compute-workgroup-storage-size": 16384,
    "max-compute-workgroups-per-dimension": 65535,
}


def driver_file() -> str:
    """The driver file of the SwiftShader that lies beside a Chromium, or an empty string."""
    programs = [os.environ.get("FLAMBEAU_CHROMIUM"), *map(shutil.which, BROWSERS)]
    beside = [os.path.dirname(os.path.realpath(p)) for p in programs if p]
    folders = [*beside, *(f for pattern in FOLDERS for f in sorted(glob.glob(pattern)))]
    return next((path for f in folders if os.path.exists(path := os.path.join(f, FILE))), "")


def open_device(provider):
    adapter = provider.gpu.request_adapter_sync()
    return adapter.request_device_sync(required_limits=LIMITS)


class Compiler:
    """Tint, and layouts such as src/flambeau/device/native.py makes."""

    def __init__(self, provider):
        self.device, self.layouts = open_device(provider), {}

    def layout(self, inputs: int, outputs: int):
        if (inputs, outputs) not in self.layouts:
            kinds = ["uniform", *["read-only-storage"] * inputs, *["storage"] * outputs]
            entries = [{"binding": i, "visibility": 4, "buffer": {"type": k}} for i, k in enumerate(kinds)]
            layout = self.device.create_bind_group_layout(entries=entries)
            self.layouts[inputs, outputs] = self.device.create_pipeline_layout(bind_group_layouts=[layout])
        return self.layouts[inputs, outputs]

    def refusal(self, wgsl: str, label: str, inputs: int | None) -> str:
        """What is wrong with a shader, and with inputs with its pipeline too; an empty string for nothing."""
        try:
            module = self.device.create_shader_module(label=label, code=wgsl)
            if inputs is not None:
                layout = self.layout(inputs, wgsl.count("var<storage, read_write>"))
                compute = {"module": module, "entry_point": "main"}
                self.device.create_compute_pipeline(label=label, layout=layout, compute=compute)
        except Exception as e:
            return str(e).strip() or type(e).__name__
        return ""


def main() -> None:
    import wgpudawn

    compiler = Compiler(wgpudawn)
    refused = {}
    for i, shader in enumerate(json.load(sys.stdin)):
        if found := compiler.refusal(*shader):
            refused[i] = found
    json.dump(refused, sys.stdout)


if __name__ == "__main__":
    main()

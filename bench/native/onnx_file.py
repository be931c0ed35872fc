"""Turns `python -m native.onnx_file SIDE FILE SCALE BATCH` into that pair's process, spoken to in JSON lines
as `native`.

Beside FILE.onnx lies FILE.npz: its inputs by name, and under "" what the first output has to be.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from _measure import timed
from peers.__main__ import private_stdout
from peers.protocol import Unsupported

PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
    "cuda": "CUDAExecutionProvider",
}


def flambeau(path: Path, feeds: dict):
    """(the device's name, a call) of Flambeau, which records by itself from the second call on."""
    import flambeau as fb

    model = fb.onnx.load(str(path))
    names = list(feeds)
    assert names == [v.name for v in model.inputs]

    def call():
        with fb.no_grad():
            return first(model(*[fb.tensor(feeds[name]) for name in names])).numpy()

    return str(model.device), call


def torch(side: str):
    """The same of the network in torch that the file was made of: eager, or compiled."""

    def start(path: Path, feeds: dict):
        import torch

        from native.networks import NETWORKS

        torch.manual_seed(0)  # as when the file was made
        scale, batch = sys.argv[3:5]
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        model = NETWORKS[path.stem](scale == "tiny", int(batch))[0].eval().to(device)
        model = torch.compile(model) if side == "compile" else model

        def call():
            with torch.no_grad():
                y = model(*[torch.from_numpy(v).to(device) for v in feeds.values()])
            return first(y).cpu().numpy()

        return f"torch {side} on {device}", call

    return start


def first(outputs):
    return outputs[0] if isinstance(outputs, tuple | list) else outputs


def onnxruntime(side: str):
    """The same, of a provider of onnxruntime."""

    def start(path: Path, feeds: dict):
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.log_severity_level = 4
        if PROVIDERS[side] not in ort.get_available_providers():
            raise Unsupported(f"this onnxruntime has no {PROVIDERS[side]}")
        session = ort.InferenceSession(str(path), options, providers=[PROVIDERS[side]])
        if session.get_providers()[0] != PROVIDERS[side]:
            raise Unsupported(f"falls back to {session.get_providers()[0]} here")
        return f"onnxruntime {side}", lambda: session.run(None, feeds)[0]

    return start


START = {"flambeau": flambeau, "torch": torch("torch"), "compile": torch("compile")}


def main(side: str, file: str, *_: str) -> None:
    say, path = private_stdout(), Path(file)
    with np.load(path.with_suffix(".npz")) as found:
        feeds = dict(found)
    wanted = feeds.pop("")
    start = START.get(side) or onnxruntime(side)
    try:
        begin = time.perf_counter()
        adapter, call = start(path, feeds)
        result = np.asarray(call())
        first_ms = (time.perf_counter() - begin) * 1e3
    except (Unsupported, ImportError) as e:
        return say({"unavailable": str(e)})
    error = float(np.abs(result - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), 1e-30))
    say({"adapter": adapter, "error": error, "first_ms": first_ms})
    for line in sys.stdin:
        if not (asked := json.loads(line)):
            return
        say(timed(call, asked["seconds"])._asdict())


if __name__ == "__main__":
    main(*sys.argv[1:])

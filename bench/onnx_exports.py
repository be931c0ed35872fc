"""Do torch's exports compute here what they compute in onnxruntime? Small networks with random weights.

    python bench/onnx_exports.py [--only unet t5] [--devices cpu gpu] [--dynamo]

A row is a network: the largest difference from onnxruntime's CPU on each device, in parts of the output's
largest element. It ends with 1 where one is above 2e-3, or cannot be loaded. --dynamo takes torch's newer
exporter, which needs onnxscript; else the one by tracing.
"""

import argparse
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _measure import show_table
from native.small_networks import SMALL

import flambeau as fb

TOLERANCE = 2e-3  # of the largest element
OPSET = 18


def main() -> None:
    args = options()
    rows = [(name, *row(name, args)) for name in args.only]
    show_table("dynamo" if args.dynamo else "traced", ("network", *args.devices), rows)
    sys.exit(any("!" in cell for found in rows for cell in found))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SMALL, default=list(SMALL))
    parser.add_argument("--devices", nargs="+", default=["cpu", "gpu"])
    parser.add_argument("--dynamo", action="store_true")
    return parser.parse_args()


def row(name: str, args: argparse.Namespace) -> list[str]:
    """The difference on each device, or what is wrong behind a "!"."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        feeds = exported(name, path, args.dynamo)
        wanted = peer(path, feeds)
        found = []
        for device in args.devices:
            try:
                worst = difference(ours(path, feeds, device), wanted)
            except fb.FlambeauError as e:
                found.append(f"! {e}")
            else:
                found.append(f"{'' if worst <= TOLERANCE else '! '}{worst:.0e}")
    print(name, *found, flush=True)
    return found


def exported(name: str, path: Path, dynamo: bool) -> dict[str, np.ndarray]:
    """Write a network's file; its inputs by name."""
    import onnx
    import torch

    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # ONNX has no operator for it
    model, inputs = SMALL[name]()
    drawn(model.eval())
    how: dict[str, Any] = {"external_data": False} if dynamo else {"opset_version": OPSET}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, inputs, str(path), dynamo=dynamo, **how)
    names = [v.name for v in onnx.load(path, load_external_data=False).graph.input]
    return {n: x.numpy() for n, x in zip(names, inputs, strict=True)}


def drawn(model: Any) -> None:
    """Draw what networks begin with as zeros or ones: heads, gates, norms; faults would hide behind them."""
    from torch import nn

    for p in model.parameters():
        if p.numel() > 1 and p.std() == 0:
            nn.init.uniform_(p, 0.1, 1) if p.dim() == 1 else nn.init.normal_(p, 0, 0.1)
    for name, buffer in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            nn.init.uniform_(buffer, 0.1, 1)


def peer(path: Path, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return [np.asarray(v) for v in session.run(None, feeds)]


def ours(path: Path, feeds: dict[str, np.ndarray], device: str) -> list[np.ndarray]:
    with fb.no_grad():
        return [v.numpy() for v in fb.onnx.load(path, device=device)(feeds)]


def difference(found: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """The largest of any output, in parts of its largest element; inf where shapes differ or one is NaN."""
    if [a.shape for a in found] != [b.shape for b in wanted]:
        return np.inf
    worst = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(found, wanted, strict=True))
    return float(np.nan_to_num(worst, nan=np.inf))


if __name__ == "__main__":
    main()

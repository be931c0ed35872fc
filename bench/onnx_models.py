"""Ten networks as torch.onnx exports them: latency beside onnxruntime's providers, and beside torch.

    python bench/onnx_models.py --python-peers .venv-peers/bin/python [--scale tiny] [--only resnet18 gpt2]
    python bench/onnx_models.py --sides flambeau cpu cuda torch compile [--batch 64]  # on a card

Every pair of a side and a network has a process of its own; they take turns in rounds. A call takes arrays of
the host and ends when the result is there. Results are compared with onnxruntime's on the CPU before anything
is timed; who is wrong, or falls back to another provider, is named and left out. A ratio is a side's time
through ours. At "tiny" the networks are as small as their shape allows: whether all of it runs.
"""

import argparse
import json
import os
import sys
import warnings
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _measure import Timing, interleave, show_table
from native.networks import NETWORKS
from peers.child import Child, PeerError
from peers_native import ICDS, choose_adapter

SIDES = ("flambeau", "cpu", "webgpu", "cuda", "torch", "compile")
TOLERANCE = 2e-3  # of the largest element
OPSET = 18


def main() -> None:
    args = options()
    if args.adapter:
        choose_adapter(args.adapter)
    rows: list[tuple[str, ...]] = []
    with TemporaryDirectory() as folder:
        for name in args.only or NETWORKS:
            try:
                path = exported(name, args, Path(folder))
            except ImportError as e:
                print(f"{name}: left out: {e}")
                continue
            found = measured(name, path, args)
            rows += [row(name, side, found) for side in found]
            print(*rows[len(rows) - len(found) :], sep="\n", flush=True)
            path.unlink()
    show_table(
        f"{args.scale}, batch {args.batch}", ("network", "side", "first ms", "ms", "x ours", "error"), rows
    )
    if args.json:
        args.json.write_text(json.dumps({"rows": rows}, indent=2))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adapter", choices=ICDS, help="a software adapter; else the best one there is")
    parser.add_argument("--only", nargs="+", choices=NETWORKS)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=["flambeau", "cpu", "webgpu"])
    parser.add_argument("--scale", choices=("tiny", "full"), default="full")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--python-peers", default=os.environ.get("FLAMBEAU_PYTHON_PEERS", sys.executable))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def exported(name: str, args: argparse.Namespace, folder: Path) -> Path:
    """The network's file; its inputs and what onnxruntime's CPU makes of them lie beside it."""
    import onnxruntime
    import torch

    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # ONNX has no operator for it
    model, inputs = NETWORKS[name](args.scale == "tiny", args.batch)
    path = folder / f"{name}.onnx"
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), inputs, str(path), dynamo=False, opset_version=OPSET)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds: dict[str, Any] = {v.name: x.numpy() for v, x in zip(session.get_inputs(), inputs, strict=True)}
    result = np.asarray(session.run(None, feeds)[0])
    np.savez(path.with_suffix(".npz"), **feeds, **{"": result})
    return path


def measured(name: str, path: Path, args: argparse.Namespace) -> dict[str, dict]:
    """Each side's first call, median call and error; those that cannot are named and left out."""
    found: dict[str, dict] = {}
    with ExitStack() as stack:
        children = {}
        for side in args.sides:
            python = sys.executable if side != "webgpu" else os.path.abspath(args.python_peers)
            try:
                words = [side, str(path), args.scale, str(args.batch)]
                child = stack.enter_context(Child([python, "-m", "native.onnx_file", *words], 600))
                ready = child.ready()
            except PeerError as e:
                print(f"{name}, {side}: {e}")
                continue
            if "unavailable" in ready or not ready["error"] <= TOLERANCE:
                print(f"{name}, {side}: {ready.get('unavailable') or 'WRONG, error ' + str(ready['error'])}")
                continue
            found[side], children[side] = ready, child
        calls = {s: (lambda seconds, c=c: Timing(**c.ask({"seconds": seconds}))) for s, c in children.items()}
        for side, timings in interleave(calls, args.rounds, args.seconds).items():
            found[side]["ms"] = median(t.median_ms for t in timings)
    return found


def row(name: str, side: str, found: dict[str, dict]) -> tuple[str, ...]:
    it, ours = found[side], found.get("flambeau", found[side])
    ratio = f"{it['ms'] / ours['ms']:.2f}"
    return name, side, f"{it['first_ms']:.0f}", f"{it['ms']:.2f}", ratio, f"{it['error']:.0e}"


if __name__ == "__main__":
    main()

"""Nine workloads beside other WebGPU frameworks on a software adapter: the first call, and the median call.

    python bench/peers_native.py --python-peers .venv-peers/bin/python [--adapter llvmpipe] [--only mm512 ...]

Every pair of a framework and a workload has a process of its own; contestants take turns in rounds. Results
are compared with NumPy's before anything is timed. A ratio is a peer's time through ours.
"""

import argparse
import json
import os
import sys
from contextlib import ExitStack
from math import exp, log
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from _measure import Timing, interleave, show_table
from native.given import NAMES
from peers.child import Child, PeerError

SIDES = ("flambeau", "tinygrad", "ferrotensor", "onnx")
TOLERANCE = 1e-3  # ||found - NumPy's|| / ||NumPy's||
ICDS = {
    "llvmpipe": [Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")],
    "swiftshader": [Path("/usr/lib/chromium/vk_swiftshader_icd.json")],
}


def main() -> None:
    args = options()
    choose_adapter(args.adapter)
    rows, factors = [], {name: ([], []) for name in args.sides if name != "flambeau"}
    for work in args.only or NAMES:
        found = measured(work, args)
        rows += [row(work, side, found) for side in found]
        print(*rows[-len(found) :], sep="\n", flush=True)
        for side, (medians, firsts) in factors.items():
            if side in found and "flambeau" in found:
                medians.append(found[side]["ms"] / found["flambeau"]["ms"])
                firsts.append(found[side]["first_ms"] / found["flambeau"]["first_ms"])
        if args.json:
            args.json.write_text(json.dumps({"rows": rows}, indent=2))
    show_table(f"on {args.adapter}", ("work", "side", "first ms", "x ours", "ms", "x ours", "error"), rows)
    for side, (medians, firsts) in factors.items():
        if medians:
            print(f"{side}: {mean(medians):.2f}x our time, least {min(medians):.2f}x; first call "
                  f"{mean(firsts):.2f}x, least {min(firsts):.2f}x")  # fmt: skip


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adapter", choices=ICDS, default="llvmpipe")
    parser.add_argument("--only", nargs="+", choices=NAMES)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--python-peers", default=os.environ.get("FLAMBEAU_PYTHON_PEERS", sys.executable))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def choose_adapter(name: str) -> None:
    """Let Vulkan show one driver, to every child."""
    icd = next((str(path) for path in ICDS[name] if path.is_file()), "")
    if not icd:
        raise SystemExit(f"{name}: no driver file: {', '.join(map(str, ICDS[name]))}")
    os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = icd


def measured(work: str, args: argparse.Namespace) -> dict[str, dict]:
    """Each side's first call, median call and error; those that cannot are named and left out."""
    found: dict[str, dict] = {}
    with ExitStack() as stack:
        children = {}
        for side in args.sides:
            python = sys.executable if side == "flambeau" else os.path.abspath(args.python_peers)
            # empty: who ran yesterday compiles too. But there: tinygrad makes its pipelines at every call
            os.environ["MESA_SHADER_CACHE_DIR"] = stack.enter_context(TemporaryDirectory())
            try:
                child = stack.enter_context(Child([python, "-m", "native", side, work]))
                ready = child.ready()
            except PeerError as e:
                print(f"{work}, {side}: {e}")
                continue
            if "unavailable" in ready or ready["error"] > TOLERANCE:
                print(f"{work}, {side}: {ready.get('unavailable') or 'WRONG, error ' + str(ready['error'])}")
                continue
            found[side], children[side] = ready, child
        rounds = {
            s: (lambda seconds, c=c: Timing(**c.ask({"seconds": seconds}))) for s, c in children.items()
        }
        for side, timings in interleave(rounds, args.rounds, args.seconds).items():
            found[side]["ms"] = min(t.median_ms for t in timings)
            found[side]["worst_ms"] = median(t.median_ms for t in timings)
    return found


def row(work: str, side: str, found: dict[str, dict]) -> tuple[str, ...]:
    it, ours = found[side], found.get("flambeau", found[side])
    first, steady = it["first_ms"] / ours["first_ms"], it["ms"] / ours["ms"]
    error = f"{it['error']:.0e}"
    return work, side, f"{it['first_ms']:.0f}", f"{first:.2f}", f"{it['ms']:.2f}", f"{steady:.2f}", error


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, ratios)) / len(ratios))


if __name__ == "__main__":
    main()

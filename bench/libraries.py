"""The models of docs/libraries.md on a GPU: PyTorch's answers, and milliseconds of warm calls beside PyTorch.

python bench/libraries.py --out libraries.json [NAME ...]: first all models on PyTorch, then four processes of
Flambeau compare each with it (which also fills the driver's cache of kernels), then one process times each.
The file is written after each model. `python scripts/write_libraries.py --measured libraries.json` writes the
results into docs/libraries.md. --missing: only the models of the scoreboard without times of ours, and
PyTorch, whose times it has, is not timed again. --torch-device cpu: PyTorch without a GPU of its own.
--theirs and --ours: more folders of packages for one side. The packages are those of `pip install
flambeau[torch]`.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers import scoreboard  # noqa: E402
from helpers.library_cases import CASES  # noqa: E402

from flambeau.device.adapters import adapters  # noqa: E402

TIMES = ("forward ms", "step ms", "compiled ms")
START = time.perf_counter()


class Results:
    """Rows by model, written to a file after each change."""

    def __init__(self, path: Path, facts: dict[str, Any]):
        self.path, self.facts, self.rows = path, facts, dict[str, dict[str, Any]]()
        self.lock = Lock()

    def add(self, name: str, **facts: Any) -> None:
        with self.lock:
            self.rows.setdefault(name, {}).update(facts)
            self.path.write_text(json.dumps(self.facts | {"models": self.rows}, indent=1), encoding="utf-8")
        print(f"{time.perf_counter() - START:5.0f} s  {name}: {facts}", flush=True)


def variables(folder: str, **more: str) -> dict[str, str]:
    """What a process is started with: the folder's packages come first."""
    paths = [folder] if folder else []
    paths += [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(paths), "FLAMBEAU_CUDA": "1"} | more


def facts_of_machine() -> dict[str, Any]:
    """What the times are of: the GPU and its driver, the day, and the version of PyTorch."""
    gpu = adapters()[0]
    return {
        "name": f"{gpu.name} (driver {gpu.driver})" if gpu.driver else gpu.name,
        "is_software": gpu.is_software,
        "date": date.today().isoformat(),
        "torch": f"{version('torch')}",
    }


def times(facts: dict[str, Any], side: str) -> dict[str, Any]:
    return {f"{side} {key}": facts[key] for key in TIMES if key in facts}


def without_times() -> list[str]:
    """The models of the scoreboard whose step was not timed on a GPU."""
    board = tomllib.loads((ROOT / "tests/torch_mode/scoreboard.toml").read_text(encoding="utf-8"))
    return [name for name, row in board["models"].items() if "step" not in row.get("gpu", {})]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--torch-device", default="cuda")
    parser.add_argument("--theirs", default="")
    parser.add_argument("--ours", default="")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--timers", type=int, default=1, help="processes that time; one disturbs none")
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    names = options.names or (without_times() if options.missing else list(CASES))
    timed_torch = {} if options.missing else {"FLAMBEAU_LIBRARY_WARM": "1"}
    results = Results(options.out, facts_of_machine())
    ours = variables(options.ours, FLAMBEAU_LIBRARY_DEVICE="cuda")
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(options.processes) as pool:
        folder = Path(place)
        theirs = variables(options.theirs, FLAMBEAU_LIBRARY_DEVICE=options.torch_device)
        known = dict[str, dict[str, Any]]()
        for name, facts in scoreboard.stream("torch", folder, names, **theirs, **timed_torch):
            known[name] = facts
            results.add(name, **times(facts, "torch"), **{k: facts[k] for k in ("error",) if k in facts})
        ready = [name for name in names if known[name]["stage"] == "end"]

        def check(part: list[str]) -> None:
            for name, facts in scoreboard.stream("flambeau", folder, part, **ours):
                row = scoreboard.compare(name, folder, known[name], facts)
                seconds = sum(
                    facts.get(f"{stage} seconds", 0.0) for stage in ("forward", "gradients", "step")
                )
                results.add(name, **row, first_seconds=round(seconds, 2))

        list(pool.map(check, [ready[i :: options.processes] for i in range(options.processes)]))

        def measure(part: list[str]) -> None:
            for name, facts in scoreboard.stream("flambeau", folder, part, **ours, FLAMBEAU_LIBRARY_WARM="1"):
                more = {k: facts[k] for k in ("error", "unrecorded") if facts.get(k)}
                results.add(name, **times(facts, "flambeau"), **more)

        list(pool.map(measure, [ready[i :: options.timers] for i in range(options.timers)]))


if __name__ == "__main__":
    main()

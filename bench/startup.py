"""From the start of a process to the first result of `(x @ w).relu()`: where the time goes.

    python bench/startup.py [--runs 5] [--packages 12]

Medians over new processes: the whole, Python alone, the import, opening the adapter, the first result; then
the packages whose own import takes longest. PYTHONDONTWRITEBYTECODE is taken out of their environment: where
it is set, modules that have no bytecode yet are compiled in each process anew, which adds 0.15 to 0.3 s.
"""

import argparse
import os
import subprocess
import sys
import time
from statistics import median

from _measure import show_table

GOAL = 0.6  # seconds for the whole
STEPS = """
import time
t0 = time.perf_counter()
import flambeau as fb
t1 = time.perf_counter()
fb.zeros(1).device
from flambeau.device import get_device
get_device()
t2 = time.perf_counter()
x, w = fb.randn(64, 64), fb.randn(64, 64)
(x @ w).relu().tolist()
t3 = time.perf_counter()
print(t1 - t0, t2 - t1, t3 - t2)
"""


def run(*args: str) -> tuple[float, str, str]:
    """(seconds, stdout, stderr) of a new interpreter."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begin = time.perf_counter()
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, check=True, env=env)
    return time.perf_counter() - begin, done.stdout, done.stderr


def imports(log: str) -> dict[str, float]:
    """Milliseconds that each package's modules themselves take, of what `-X importtime` prints."""
    found: dict[str, float] = {}
    for line in log.splitlines():
        parts = line.removeprefix("import time:").split("|")
        if line.startswith("import time:") and parts[0].strip().isdigit():
            package = parts[2].strip().split(".")[0]
            found[package] = found.get(package, 0.0) + int(parts[0]) / 1000
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--packages", type=int, default=12)
    args = parser.parse_args()
    run("-c", STEPS)  # what is compiled and cached once
    bare = median(run("-c", "pass")[0] for _ in range(args.runs))
    whole, parts = [], []
    for _ in range(args.runs):
        seconds, out, _ = run("-c", STEPS)
        whole.append(seconds)
        parts.append([float(t) for t in out.split()])
    names = ("import flambeau", "open the adapter", "first result")
    rows = [("all", f"{median(whole) * 1e3:.0f}"), ("Python alone", f"{bare * 1e3:.0f}")]
    rows += [(n, f"{median(p[i] for p in parts) * 1e3:.0f}") for i, n in enumerate(names)]
    show_table(f"process to first result (goal {GOAL * 1e3:.0f} ms)", ("what", "ms"), rows)
    found = imports(run("-X", "importtime", "-c", STEPS)[2])
    top = sorted(found.items(), key=lambda item: -item[1])[: args.packages]
    show_table("imports, by package", ("package", "ms"), [(n, f"{t:.1f}") for n, t in top])


if __name__ == "__main__":
    main()

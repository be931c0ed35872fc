"""onnx's own suite of backends, case by case in this process: how many pass, and why others do not.

python scripts/onnx_scoreboard.py                  # all cases, on NumPy
python scripts/onnx_scoreboard.py --device gpu -k gemm -v
"""

import argparse
import fnmatch
import sys
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers.onnx_cases import cases, model_of, operators, read, run, same


def operator_of(name: str, names: list[str]) -> str:
    """The operator that a case is about."""
    plain = name.replace("_", "").lower()
    about = [n for n in names if n.lower().split(".")[-1] in plain]
    return max(about, key=len) if about else names[0] if names else "none"


def main() -> bool:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--device", default="cpu", choices=("cpu", "gpu"))
    options.add_argument(
        "-k", default="", help="part of a case's name, or a pattern with *; several by commas"
    )
    options.add_argument("-x", action="store_true", help="stop at the first that fails")
    options.add_argument("-v", action="store_true", help="say why each fails")
    options.add_argument("-e", action="store_true", help="leave out the *_expanded twins")
    options.add_argument("-s", action="store_true", help="show the slowest")
    options.add_argument("--readers", action="store_true", help="compare the two readers of files instead")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    wanted = [w if "*" in w else f"*{w}*" for w in given.k.split(",")]
    chosen = {n: c for n, c in cases().items() if any(fnmatch.fnmatch(n, w) for w in wanted)}
    chosen = {n: c for n, c in chosen.items() if not (given.e and "_expanded" in n)}
    if given.readers:
        files = {n: model_of(c).SerializeToString() for n, c in chosen.items()}
        other = [n for n, data in files.items() if not same(read(data, True), read(data, False))]
        print(f"{len(files) - len(other):,} of {len(files):,} files are read alike", *other)
        return bool(other)
    passed, failed, times = Counter(), defaultdict(list), {}
    for name, case in chosen.items():
        start = time.perf_counter()
        why = run(case, {"cpu": "CPU", "gpu": "CUDA"}[given.device])
        times[name] = time.perf_counter() - start
        key = operator_of(name, operators(model_of(case)))
        passed[key] += not why
        if why:
            failed[key].append((name, why))
            if given.x:
                break
    for key in sorted(failed):
        print(f"{key:32} {passed[key]:4} passed {len(failed[key]):4} failed")
        for name, why in failed[key] if given.v else failed[key][:1]:
            print(f"    {name}: {why}")
    bad, good = sum(map(len, failed.values())), sum(passed.values())
    print(f"{good:,} of {good + bad:,} passed on {given.device} in {sum(times.values()):.0f} s")
    for name in sorted(times, key=lambda n: -times[n])[: 20 if given.s else 0]:
        print(f"{times[name]:8.2f} s {name}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

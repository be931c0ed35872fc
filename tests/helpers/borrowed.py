"""Scripts written for PyTorch in processes: under torch and under `flambeau run`, compared line by line.

`printed.toml` has what the scripts of tests/torch_mode/scripts print under torch 2.13:
`from helpers.borrowed import write; write()`, PYTHONPATH=src:tests, writes it.
"""

import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

from helpers.paths import ROOT, TESTS

FOLDER = TESTS / "torch_mode"
SCRIPTS = {p.stem: p for p in sorted((FOLDER / "scripts").glob("*.py"))}
JOBS = {p.stem: p for p in sorted((FOLDER / "jobs").glob("*.py"))}
PRINTED = FOLDER / "printed.toml"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\binf\b|\bnan\b")
SMALL = 0.05  # numbers below it are printed with few digits
# torchvision's wheel is CUDA's: its own operators do not load beside a CPU's torch
BY_TORCH = """
import runpy, sys, torch
torch.set_num_threads(1)
try:
    from helpers.torchvision_here import torchvision
    torchvision(torch)
except ImportError:
    pass
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@cache
def printed() -> dict[str, str]:
    """What each script prints under torch 2.13."""
    return tomllib.loads(PRINTED.read_text(encoding="utf-8"))


def start(path: Path, by_torch: bool, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Start a script, under torch or under Flambeau."""
    command = ["-c", BY_TORCH] if by_torch else ["-m", "flambeau.torch"]
    paths = os.pathsep.join((str(ROOT / "src"), str(TESTS)))
    variables = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", *command, path.name, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=path.parent,
        env=variables,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """What a script has printed, once it has ended; AssertionError with its errors if it failed."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-4000:]
    return out


def compare(got: str, want: str, within: float) -> None:
    """The same words, and numbers that differ by at most `within` of their size."""
    assert NUMBER.sub("0", got).splitlines() == NUMBER.sub("0", want).splitlines()
    for line, other in zip(got.splitlines(), want.splitlines(), strict=True):
        for a, b in zip(NUMBER.findall(line), NUMBER.findall(other), strict=True):
            assert abs(float(a) - float(b)) <= within * max(abs(float(b)), SMALL) or (a, b) == (
                "nan",
                "nan",
            ), f"{line!r}, not {other!r}"


def write() -> None:
    """Write what the scripts print under torch."""
    started = {name: start(path, True) for name, path in SCRIPTS.items()}
    rows = (f"{name} = '''\n{finish(process)}'''\n" for name, process in started.items())
    head = "# What scripts/*.py print under torch 2.13 (tests/helpers/borrowed.py writes it).\n"
    PRINTED.write_text(head + "\n".join(rows), encoding="utf-8")

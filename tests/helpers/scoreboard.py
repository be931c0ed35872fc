"""Compares what models of libraries compute on the real torch and on flambeau.torch."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
PASSES = ("forward", "gradients", "state", "step")
CLOSE = 1e-3  # of the norm of an array
NOISE = 1e-5  # share of the largest gradient below which one is rounding of a sum that is 0


def run(
    library: str, folder: Path, names: list[str], module: str = "helpers.library_cases", **more: str
) -> dict:
    """The facts of each model, run in a process. One that ends the process is run by itself no more."""
    return dict(stream(library, folder, names, module, **more))


def stream(
    library: str, folder: Path, names: list[str], module: str = "helpers.library_cases", **more: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same, each model's facts as soon as it has run."""
    paths = [str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(paths), "FLAMBEAU_DEVICE": "cpu", "HF_HUB_OFFLINE": "1"}
    call = [sys.executable, "-m", "helpers.library_run", library, str(folder), module]
    rest = list(names)
    while rest:
        with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
            [*call, *rest], stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**os.environ, **variables, **more},
        ) as process:  # fmt: skip
            assert process.stdout
            for line in process.stdout:
                if line.startswith('{"name"'):
                    yield rest.pop(0), json.loads(line)
            code = process.wait()
            errors.seek(0)
            error = " ".join(errors.read().split())[-300:] or f"exit code {code}"
        if rest:
            yield rest.pop(0), {"stage": "construct", "error": f"the process ended: {error}"}


def difference(got: np.ndarray, want: np.ndarray) -> str:
    """How two arrays differ, "" if they agree."""
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, torch {list(want.shape)}"
    a, b = (np.asarray(x, np.float64) for x in (got, want))
    if (np.isfinite(a) != np.isfinite(b)).any():
        return "infinities or NaN differ"
    size = np.linalg.norm(np.nan_to_num(b, posinf=0, neginf=0))
    off = np.linalg.norm(np.nan_to_num(a - b, posinf=0, neginf=0))
    return "" if off <= CLOSE * size + 1e-5 * np.sqrt(a.size) else f"off by {off / max(size, 1e-30):.1e}"


def compare(name: str, folder: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """What passes, and `why` what does not."""
    row: dict[str, Any] = {"why": "", **dict.fromkeys(PASSES, False)}
    if theirs["stage"] != "end":
        raise RuntimeError(f"{name} does not run on torch: {theirs.get('error')}")
    if "error" in ours:
        row["why"] = f"{ours['stage']}: {ours['error']}"
    if ours["stage"] in ("construct", "forward"):
        return row
    path = folder / name.replace("/", "_")
    with np.load(path.with_suffix(".torch.npz")) as a, np.load(path.with_suffix(".flambeau.npz")) as b:
        want, got = ({key: file[key] for key in file.files} for file in (a, b))
    problems = []
    row["state"] = theirs["state"] == ours["state"]
    if not row["state"]:
        problems.append("state dict: names or shapes differ")
    largest = max((np.abs(v).max() for k, v in want.items() if k.startswith("g:") and v.size), default=0)

    def is_noise(key: str) -> bool:
        gradient = want.get(f"g:{key[2:]}")
        return gradient is not None and bool(np.abs(gradient).max() <= NOISE * largest)

    for start, stage in (("o:", "forward"), ("g:", "gradients"), ("s:", "step")):
        wanted = {k: v for k, v in want.items() if k.startswith(start)}
        if not wanted or not any(k.startswith(start) for k in got):
            continue
        wrong = sorted(set(wanted) ^ {k for k in got if k.startswith(start)})
        differ = {k: d for k, v in wanted.items() if k in got and (d := difference(got[k], v))}
        differ = {k: d for k, d in differ.items() if start == "o:" or not is_noise(k)}
        row[stage] = not wrong and not differ
        problems += [f"{stage}: only one has {', '.join(wrong[:3])}"] if wrong else []
        problems += [f"{stage}: {k[2:]} {d}" for k, d in list(differ.items())[:2]]
    row["why"] = row["why"] or "; ".join(problems)
    return row

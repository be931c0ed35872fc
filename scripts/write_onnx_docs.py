"""Runs onnx's own suite on NumPy and on the GPU, and writes the table of docs/onnx.md.

    python scripts/write_onnx_docs.py [--cases FILE]     # writes the results to FILE, or reads them

This takes minutes on a software driver.
"""

import argparse
import json
import sys
import warnings
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from helpers.onnx_cases import cases, model_of, operators, run
from onnx_scoreboard import operator_of

PAGE = Path(__file__).resolve().parents[1] / "docs" / "onnx.md"
BEGIN = "<!-- written by scripts/write_onnx_docs.py -->"
CORNERS = (
    "the reference computes corners from scale times size, ONNX Runtime and PyTorch from the output's size"
)
REASONS = {  # prefix of the names of failing cases: why they fail
    "test_bernoulli": "expects the numbers of NumPy's random generator",
    "test_training_dropout": "expects the numbers of NumPy's random generator",
    "test_dft": "float32 rounding of 2e-7 where the exact result is 0; the tolerance is 1e-7",
    "test_loop16_seq_none": "the suite's comparison does not support sequences of 0-d arrays",
    "test_resize_downsample_scales": CORNERS,
    "test_attention_4d_causal_fp16_expanded": "two of 192 elements differ by one float16 step",
}


def results() -> dict[str, dict]:
    """By case: its operator, why it fails on NumPy and on the GPU ("" where it passes), where it ran."""
    warnings.simplefilter("ignore")
    found = {}
    for name, case in cases().items():
        there: set[str] = set()
        whys = {"cpu": run(case, "CPU"), "gpu": run(case, "CUDA", there)}
        found[name] = {"operator": operator_of(name, operators(model_of(case))), **whys, "on": sorted(there)}
    return found


def page(found: dict[str, dict]) -> str:
    """The generated part of the page."""
    import onnx

    total = len(found)
    passed = {d: sum(not r[d] for r in found.values()) for d in ("cpu", "gpu")}
    kernels = sum(not r["gpu"] and "gpu" in r["on"] for r in found.values())
    lines = [
        BEGIN,
        f"onnx {onnx.__version__} has {total:,} cases that need no download. **{passed['cpu']:,} pass on"
        f" NumPy and {passed['gpu']:,} on a GPU. WebGPU computes {kernels:,} of these**; the host computes"
        " the others, which have dtypes that no GPU supports (float64, 8-bit floats), strings or shapes.",
        "",
        "| failing cases | why |",
        "|---|---|",
        *[f"| {cell} | {why} |" for cell, why in failures(found)],
        "",
        "| operator | cases | on NumPy | on a GPU | of these by WebGPU |",
        "|---|---|---|---|---|",
        *rows(found),
    ]
    return "\n".join(lines) + "\n"


def failures(found: dict[str, dict]) -> list[tuple[str, str]]:
    """Cases that fail anywhere, with the reason."""
    grouped = defaultdict(list)
    for name, r in found.items():
        if r["cpu"] or r["gpu"]:
            why = next((w for start, w in REASONS.items() if name.startswith(start)), r["cpu"] or r["gpu"])
            where = "" if r["cpu"] and r["gpu"] else " (on a GPU)" if r["gpu"] else " (on NumPy)"
            grouped[why.replace("|", "/")[:200]].append(f"`{name}`{where}")
    return [(", ".join(names), why) for why, names in sorted(grouped.items(), key=lambda item: item[1])]


def rows(found: dict[str, dict]) -> list[str]:
    """A row an operator."""
    groups = defaultdict(list)
    for r in found.values():
        groups[r["operator"]].append(r)
    return [
        f"| {name} | {len(rs)} | {sum(not r['cpu'] for r in rs)} | {sum(not r['gpu'] for r in rs)}"
        f" | {sum(not r['gpu'] and 'gpu' in r['on'] for r in rs)} |"
        for name, rs in sorted(groups.items(), key=lambda item: item[0].lower())
    ]


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--cases", type=Path, help="a JSON file of results")
    given = options.parse_args()
    if given.cases and given.cases.exists():
        found = json.loads(given.cases.read_text(encoding="utf-8"))
    else:
        found = results()
        if given.cases:
            given.cases.write_text(json.dumps(found, indent=1), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.partition(BEGIN)[0] + page(found), encoding="utf-8")


if __name__ == "__main__":
    main()

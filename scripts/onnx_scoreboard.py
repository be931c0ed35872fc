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


def cases():
    """(name, case) of all that need no download, by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [c for kind in KINDS for c in load_model_tests(kind=kind)]
    return {c.name: c for c in sorted(found, key=lambda c: c.name)}


KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


def model_of(case):
    import onnx

    return case.model if case.model is not None else onnx.load(Path(case.model_dir) / "model.onnx")


def data_of(case, model):
    """(inputs, outputs) of each data set."""

    from onnx.backend.test.runner import Runner, _normalize_tensor

    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [_normalize_tensor(v) for v in inputs], [_normalize_tensor(v) for v in outputs]
        return
    load = Runner._load_proto
    for folder in sorted(Path(case.model_dir).glob("test_data_set*")):
        sides = {"input": model.graph.input, "output": model.graph.output}
        found = {side: [] for side in sides}
        for side, values in sides.items():
            for i in range(len(list(folder.glob(f"{side}_*.pb")))):
                load(None, str(folder / f"{side}_{i}.pb"), found[side], values[i].type)
        yield found["input"], found["output"]


def operators(model):
    """The operators of a model's nodes."""
    return sorted({f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in model.graph.node})


def run(case, device):
    """(why it does not pass, or "", seconds)."""
    from onnx.backend.test.runner import Runner

    from flambeau.onnx.backend import FlambeauBackend

    start = time.perf_counter()
    try:
        model = model_of(case)
        prepared = FlambeauBackend.prepare(model, device)
        for inputs, outputs in data_of(case, model):
            Runner.assert_similar_outputs(outputs, prepared.run(inputs), case.rtol, case.atol)
        why = ""
    except Exception as e:
        text = [line for line in f"{type(e).__name__}: {e}".splitlines() if line.strip()]
        why = " | ".join(text[: None if isinstance(e, AssertionError) else 1])[:400]
    return why, time.perf_counter() - start


def main():
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
    given = options.parse_args()
    warnings.simplefilter("ignore")
    wanted = [w if "*" in w else f"*{w}*" for w in given.k.split(",")]
    chosen = {n: c for n, c in cases().items() if any(fnmatch.fnmatch(n, w) for w in wanted)}
    if given.e:
        chosen = {n: c for n, c in chosen.items() if "_expanded" not in n}
    name_of = {"cpu": "CPU", "gpu": "CUDA"}[given.device]
    passed, failed, times = Counter(), defaultdict(list), {}
    for name, case in chosen.items():
        why, times[name] = run(case, name_of)
        ops = operators(model_of(case))
        key = next(
            (o for o in ops if o.lower().split(".")[-1] in name.replace("_", "")), ops[0] if ops else "none"
        )
        if why:
            failed[key].append((name, why))
            if given.x:
                break
        else:
            passed[key] += 1
    for key in sorted(failed):
        print(f"{key:32} {passed[key]:4} passed {len(failed[key]):4} failed")
        for name, why in failed[key] if given.v else failed[key][:1]:
            print(f"    {name}: {why}")
    bad, good = sum(map(len, failed.values())), sum(passed.values())
    print(f"{good:,} of {good + bad:,} passed on {given.device} in {sum(times.values()):.0f} s")
    if given.s:
        for name in sorted(times, key=times.get, reverse=True)[:20]:
            print(f"{times[name]:8.2f} s {name}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

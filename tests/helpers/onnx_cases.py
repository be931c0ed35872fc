"""Cases of onnx's own suite of backends: loaded, run in this process, and how each ended."""

import dataclasses
import importlib
import pkgutil
import warnings
from functools import cache
from pathlib import Path

import numpy as np

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
SLOW = ("averagepool", "lppool", "maxpool")  # whose cases take 10 s to be made


@cache
def cases(every: bool = True) -> dict:
    """Those that need no download, by name. every: those too that are slow to make."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [*node_cases(every)]
        found += [c for kind in KINDS[1:] for c in load_model_tests(kind=kind)]
    return {c.name: c for c in sorted(found, key=lambda c: c.name)}


def node_cases(every: bool) -> list:
    """The cases of one operator each: modules add them to a list as they are imported."""
    from onnx.backend.test.case import node

    for module in pkgutil.walk_packages(node.__path__, f"{node.__name__}."):
        if every or module.name.rpartition(".")[2] not in SLOW:
            importlib.import_module(module.name)
    return node._NodeTestCases


def model_of(case):
    """The ModelProto of a case."""
    import onnx

    return case.model if case.model is not None else onnx.load(Path(case.model_dir) / "model.onnx")


def data_of(case, model):
    """(inputs, outputs) of each data set."""
    from onnx.backend.test.runner import Runner, _normalize_tensor

    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield [_normalize_tensor(v) for v in inputs], [_normalize_tensor(v) for v in outputs]
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set*")):
        sides = {"input": model.graph.input, "output": model.graph.output}
        found = {side: [] for side in sides}
        for side, values in sides.items():
            for i in range(len(list(folder.glob(f"{side}_*.pb")))):
                Runner._load_proto(None, str(folder / f"{side}_{i}.pb"), found[side], values[i].type)
        yield found["input"], found["output"]


def operators(model) -> list[str]:
    """The operators of a model's nodes."""
    return sorted({f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in model.graph.node})


def run(case, device: str, ran_on: set | None = None) -> str:
    """Why a case does not pass on a device of the suite's names ("CPU", "CUDA"), or "".

    ran_on: takes the kinds of devices that its outputs lay on.
    """
    from onnx.backend.test.runner import Runner

    from flambeau.onnx.backend import FlambeauBackend

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = model_of(case)
            prepared = FlambeauBackend.prepare(model, device)
            for inputs, outputs in data_of(case, model):
                Runner.assert_similar_outputs(outputs, prepared.run(inputs), case.rtol, case.atol)
                if ran_on is not None:
                    ran_on |= prepared.ran_on
    except Exception as e:
        text = [line.strip() for line in f"{type(e).__name__}: {e}".splitlines() if line.strip()]
        return " | ".join(text)[:600]
    return ""


def same(a, b) -> bool:
    """Whether two files say the same, arrays bit for bit."""
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        equal = (a == b).all() if a.dtype == object else a.tobytes() == b.tobytes()
        return a.dtype == b.dtype and a.shape == b.shape and bool(equal)
    return a == b or (a != a and b != b)


def read(data: bytes, by_onnx: bool):
    """A file as either reader reads it."""
    from flambeau.onnx.convert import model_of
    from flambeau.onnx.read import Beside, parse_model

    return model_of(parse_model(data, "the file", by_onnx), "the file", Beside(None))

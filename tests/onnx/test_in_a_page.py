"""Models where a page runs them: no onnx package, and the site's small NumPy in NumPy's place."""

import json
import subprocess
import sys

import numpy as np
import pytest
from helpers import onnx_files
from helpers.paths import ROOT

# What the worker has: the module numpy is arrays.py, flambeau_page tells the page, and there is no onnx.
PAGE = """
import asyncio, importlib.util, sys, types

for name in ("onnx", "google", "ml_dtypes"):
    sys.modules[name] = None
def loaded(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
loaded("numpy", sys.argv[1] + "/web/selftest/arrays.py")
sys.modules["flambeau_page"] = types.SimpleNamespace(emit=lambda event, value: None)
if sys.version_info < (3, 12):  # the page's Python sees buffers of classes that are written in Python
    from flambeau.core import host
    with_arrays = host._from_array
    def with_bytes(data, dtype, *more):
        raw, *rest = with_arrays(data, dtype, *more)
        return raw.tobytes(), *rest
    host._from_array = with_bytes
network = loaded("network", sys.argv[1] + "/web/image/network.py")
"""


PAGE += """
import json
named, words, typed, *others = sys.argv[2:]
canvas, found = bytes((7 * i) % 251 for i in range(448 * 448 * 4)), {}
found["look"] = told = network.look(named, "colours.onnx")
for scale in (told["scale"], "unit"):
    network.scaled(scale)
    found[scale] = asyncio.run(network.see(memoryview(canvas), 300.0))["best"]
found["words"] = network.look(words, "words.onnx")["inputs"]
found["draws"] = [asyncio.run(network.draw(seed))["outputs"] for seed in (5, 5, 6)]
found["problems"] = [network.look(path, path.split("/")[-1])["problems"] for path in others]
found["typed"] = [t.tolist() for t in network.OnnxModel(network.read_model(typed), "cpu")()]
print(json.dumps(found))
"""
BAD = ("cut.onnx", "text.onnx", "bits.onnx")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Networks that run and that do not, and files that are none."""
    folder = tmp_path_factory.mktemp("files")
    whole = onnx_files.classifier(folder / "colours.onnx").read_bytes()
    onnx_files.words(folder / "words.onnx")
    onnx_files.typed(folder / "typed.onnx")
    onnx_files.unknown(folder / "unknown.onnx")
    for name, data in zip(BAD, (whole[:-900], b"<!doctype html>", whole[9:99]), strict=True):
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture(scope="module")
def found(files):
    """What a page makes of them."""
    paths = [str(files / name) for name in ("colours.onnx", "words.onnx", "typed.onnx", "unknown.onnx", *BAD)]
    call = [sys.executable, "-c", PAGE, str(ROOT), *paths]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.share(5)
def test_a_picture_is_named_as_elsewhere(files, found):
    """By the same file with NumPy and onnx, on the same canvas, in two scales."""
    canvas = np.array([(7 * i) % 251 for i in range(448 * 448 * 4)], "u1").reshape(448, 448, 4)
    assert (found["look"]["picture"], found["look"]["weights"]) == ("224 x 224", 300 + 4000 + 1000 + 1)
    assert found["look"]["scale"] == "imagenet"
    for scale in ("imagenet", "unit"):
        best, shares = onnx_files.named(files / "colours.onnx", canvas, 300.0, scale)
        assert found[scale]["label"] == best
        np.testing.assert_allclose(found[scale]["share"], shares, rtol=1e-4)


def test_random_inputs(found):
    """Integers are 0 and 1, sizes that are open 1; the same seed draws the same."""
    first, again, other = found["draws"]
    assert found["words"] == [["ids", "int64[n, 64]"], ["x", "float32[3]"]]
    assert first == again != other
    assert [(o["name"], o["what"]) for o in first] == [("y", "float32[1, 64, 3]"), ("z", "int64[1, 64]")]
    assert set(first[1]["numbers"].split(", ")) == {"0", "1", "…"} and first[1]["range"] == "0 to 1"


def test_numbers_that_lie_in_fields(found):
    """float_data, double_data and the others, which the onnx package's helpers write."""
    *tensors, floats, sparse = found["typed"]
    assert tensors == [[1, 0, 1]] * len(onnx_files.TYPED)
    assert floats == [1.5, -2.5] and sparse == [1, 0, 0, 2]


def test_what_a_page_cannot_run(found):
    """All reasons at once, each a line with the file's or the node's name; of bad files one."""
    unknown, *others = found["problems"]
    assert unknown == onnx_files.PROBLEMS
    assert all(len(lines) == 1 and lines[0].startswith(name) for name, lines in zip(BAD, others)), others

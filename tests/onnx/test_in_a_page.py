"""Models where a page runs them: no onnx package, and the site's small NumPy in NumPy's place."""

import json
import subprocess
import sys

import numpy as np
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
    def with_bytes(data, dtype):
        raw, *rest = with_arrays(data, dtype)
        return raw.tobytes(), *rest
    host._from_array = with_bytes
network = loaded("network", sys.argv[1] + "/web/image/network.py")
"""


def in_a_page(source: str, *args: str) -> str:
    """What a script prints there."""
    call = [sys.executable, "-c", PAGE + source, str(ROOT), *args]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


SEE = """
canvas = bytes((7 * i) % 251 for i in range(448 * 448 * 4))
told = network.look(sys.argv[2], "colours.onnx")
for scale in (told["scale"], "unit"):
    network.scaled(scale)
    found = asyncio.run(network.see(memoryview(canvas), 300.0))["best"]
    print(told["picture"], told["weights"], scale, *found["label"], *found["share"])
"""


def test_a_picture_is_named_as_elsewhere(tmp_path):
    """By the same file with NumPy and onnx, on the same canvas, in two scales."""
    classifier = onnx_files.classifier(tmp_path / "colours.onnx")
    canvas = np.array([(7 * i) % 251 for i in range(448 * 448 * 4)], "u1").reshape(448, 448, 4)
    lines = in_a_page(SEE, str(classifier)).splitlines()
    for line, scale in zip(lines, ("imagenet", "unit"), strict=True):
        best, shares = onnx_files.named(classifier, canvas, 300.0, scale)
        words = line.split()
        assert words[:5] == ["224", "x", "224", str(300 + 4000 + 1000 + 1), scale]
        assert [int(w) for w in words[5:10]] == best
        np.testing.assert_allclose([float(w) for w in words[10:]], shares, rtol=1e-4)


DRAW = """
print(network.look(sys.argv[2], "words.onnx")["inputs"])
first, again, other = (asyncio.run(network.draw(seed))["outputs"] for seed in (5, 5, 6))
print(first == again, first == other, [(o["name"], o["what"]) for o in first])
print(sorted(set(first[1]["numbers"].split(", "))))
"""


def test_random_inputs(tmp_path):
    """Integers are 0 and 1, sizes that are open 1; the same seed draws the same."""
    path = onnx_files.words(tmp_path / "words.onnx")
    assert in_a_page(DRAW, str(path)).splitlines() == [
        "[['ids', 'int64[n, 64]'], ['x', 'float32[3]']]",
        "True False [('y', 'float32[1, 64, 3]'), ('z', 'int64[1, 64]')]",
        "['0', '1', '…']",
    ]


LOOK = """
import json
print(json.dumps([network.look(path, path.split("/")[-1])["problems"] for path in sys.argv[2:]]))
"""


def test_what_a_page_cannot_run(tmp_path):
    """All reasons at once, each a line with the file's or the node's name; of bad files one."""
    bad = onnx_files.unknown(tmp_path / "bad.onnx")
    whole = onnx_files.classifier(tmp_path / "whole.onnx").read_bytes()
    files = {"cut.onnx": whole[:-900], "text.onnx": b"<!doctype html>", "bits.onnx": whole[9:99]}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = json.loads(in_a_page(LOOK, str(bad), *(str(tmp_path / name) for name in files)))
    assert found[0] == onnx_files.PROBLEMS
    assert all(len(lines) == 1 and lines[0].startswith(name) for name, lines in zip(files, found[1:])), found

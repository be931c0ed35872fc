"""Files that are given to the loader of another kind: what they are, and what reads them."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.io import load_gguf, load_npz, load_safetensors, open_weights, save_gguf

LOADERS = {"load": fb.load, "gguf": load_gguf, "npz": load_npz, "safetensors": load_safetensors}
LOADERS |= {"open": open_weights, "onnx": fb.onnx.load}
ORT = "ONNX Runtime's .ort format: use the .onnx file that it was converted from"
GGUF, ONNX = "a .gguf file of llama.cpp: use fb.load", "an ONNX file: use fb.onnx.load"
PAGE = "a web page instead of the file: download the file itself"
POINTER = "a pointer of Git LFS: get the file by `git lfs pull`"
CASES = [  # beginnings, what reads another, what it says
    (b"\x24\0\0\0ORTM" + bytes(90), ("load", "onnx", "gguf", "safetensors", "npz", "open"), ORT),
    (b"\x08\x08\x12\x07pytorch" + bytes(90), ("load", "gguf", "safetensors", "npz", "open"), ONNX),
    (b"<!DOCTYPE html><html></html>" + bytes(90), ("load", "gguf", "safetensors", "onnx"), PAGE),
    (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:1",
        ("load", "gguf", "safetensors", "onnx"),
        POINTER,
    ),
    ("x.gguf", ("safetensors", "npz", "onnx"), GGUF),
    ("x.safetensors", ("gguf", "npz", "onnx"), "a .safetensors file: use fb.load"),
    ("x.npz", ("gguf", "safetensors", "onnx"), "a zip archive (.pt, .npz): use fb.load"),
    ("x.pt", ("gguf", "safetensors", "onnx"), "a zip archive (.pt, .npz): use fb.load"),
]


@pytest.mark.parametrize("given, loaders, text", CASES, ids=range(len(CASES)))
def test_what_a_file_is(given, loaders, text, tmp_path):
    path = tmp_path / "given"
    if isinstance(given, str):
        path = tmp_path / given
        tensors = {"w": fb.tensor(np.ones(4, "float32"), device="cpu")}
        (save_gguf if given.endswith("gguf") else fb.save)(tensors, path)
    else:
        path.write_bytes(given)
    for name in loaders:
        for f in (path, path.read_bytes()):
            with pytest.raises(fb.FlambeauError) as told:
                LOADERS[name](f)
            assert str(told.value).endswith(f": is {text}"), name

"""`flambeau inspect`: what it takes for a target, what it writes, and what it says of anything else."""

import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flambeau as fb
from flambeau.cli import main

pytestmark = pytest.mark.usefixtures("gpu")

SCRIPT = """
import flambeau as fb
from flambeau import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x).relu()

net = Net()

def step(x):
    return net(x)

if __name__ == "__main__":
    step(fb.ones(2, 3))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    from flambeau.device import get_device
    from flambeau.profiling.roofline import Ceilings

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(get_device("gpu"), "ceilings", Ceilings(1e10, 1e11))
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, ["inspect", *words])


def test_a_script_as_a_table_a_page_and_json(folder):
    ran = run("train.py::step", "--html", "step.html", "--json", "step.json", "--send", "0", "kernel.py")
    assert ran.exit_code == 0, ran.output
    for told in ("train.py::step on gpu:", "Net.layer", "train.py:11 Linear"):
        assert told in ran.output, ran.output
    made = fb.Inspection.from_json(folder / "step.json")
    assert [k.name for k in made.kernels] == ["matmul+add+relu"]
    page = (folder / "step.html").read_text("utf-8")
    assert len(page) < 100_000 and f"wrote step.html: {len(page.encode()) / 1e3:.1f} kB" in ran.output
    assert "matmul+add+relu of train.py::step" in (folder / "kernel.py").read_text("utf-8")
    again = run("step.json", "--rows", "1")
    assert again.exit_code == 0 and "train.py::step on gpu:" in again.output
    same = run("--compare", "step.json", "step.json")
    assert same.output.endswith("no kernel is gained, lost, slower or faster\n")


def test_expressions_and_models():
    ran = run("-e", "(x * 2).exp()", "--input", "x=f32[N, 3]", "--batch", "5")
    assert ran.exit_code == 0 and "(x * 2).exp() on gpu:" in ran.output and "mul+exp" in ran.output
    assert "a warm call, times by" in ran.output
    unknown = run("-e", "y.sum()", "--cold")
    assert "the first call, times by" in unknown.output
    assert "y is f32[64, 64]: --input 'y=...' changes it" in unknown.output
    ran = run("train.py:Net", "--input", "x=f32[2, 3]")
    assert ran.exit_code == 0 and "matmul+add+relu" in ran.output


def test_a_saved_program(folder):
    fb.save_program(lambda x: (x * 3 + 1).exp(), {"x": "f32[N, 4]"}, folder / "saved", 8)
    ran = run("saved", "--json", "saved.json")
    assert ran.exit_code == 0, ran.output
    (kernel,) = fb.Inspection.from_json(folder / "saved.json").kernels
    assert kernel.ops == () and kernel.head == -1
    made = fb.Inspection.from_json(folder / "saved.json")
    assert "fn main" in made.shaders[kernel.shader].wgsl
    refused = run("saved", "--send", "0", "kernel.py")
    told = "it was planned before the call: its bindings are unknown"
    assert refused.exit_code == 1 and refused.output.endswith(f": {told}\n")


def test_an_onnx_model(folder):
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [helper.make_node("Gemm", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    weight = onnx.numpy_helper.from_array(np.ones((3, 4), "float32"), "w")
    ends = [helper.make_tensor_value_info(n, 1, s) for n, s in (("x", ["batch", 3]), ("y", ["batch", 4]))]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "net.onnx")
    ran = run("net.onnx", "--batch", "2", "--json", "net.json")
    assert ran.exit_code == 0, ran.output
    made = fb.Inspection.from_json(folder / "net.json")
    assert [(k.name, k.shape) for k in made.kernels] == [("matmul+relu", (2, 4))]
    assert [layer.kind for layer in made.layers] == ["OnnxModel"]
    (folder / "bad.onnx").write_bytes(b"\0")
    assert run("bad.onnx").exit_code == 1


WRONG = {
    (): "inspect: no target: write `train.py::step`, or -e '(x @ w + b).relu()'",
    ("train.py::stop",): "inspect: train.py: it defines no stop: did you mean 'step'?",
    ("none.py",): "inspect: none.py: No such file or directory: check the path",
    ("train.py:Net",): "inspect train.py:Net: no inputs: name each, as in --input 'x=f32[8, 784]'",
    ("-e", "x", "--input", "x"): "inspect: --input 'x': write it as 'x=f32[N, 1, 28, 28]'",
    ("none.json",): "inspect: none.json: No such file or directory: name a file of --json",
    ("--compare", "a.json"): "inspect --compare: takes two files of --json: before.json after.json",
    ("train.py::step", "--send", "0", "k.txt"): (
        "inspect --send 0 k.txt: the file must end with .py or .html"
    ),
    ("train.py::step", "--emit", "0", "k.txt"): (
        "inspect --emit 0 k.txt: the file ends with one of .spvasm, .metal, .hlsl, .glsl"
    ),
    ("train.py::step", "--emit", "5", "k.hlsl"): "inspect: kernel 5 does not exist: pass 0",
    ("train.py::step", "--send", "5", "k.py"): "inspect: kernel 5 does not exist: pass 0",
}
# and what is refused before a script runs, which would raise
BEFORE = {
    ("--runs", "0"): "inspect --runs 0: it must be at least 1",
    ("--runs", "-3", "--sanitize"): "inspect --runs -3: it must be at least 1",
    (
        "--emit",
        "-1",
        "k.hlsl",
    ): "inspect --emit -1: kernels are numbered from 0: see the column #",
    (
        "--emit",
        "0",
        "k.txt",
    ): "inspect --emit 0 k.txt: the file ends with one of .spvasm, .metal, .hlsl, .glsl",
    ("--html", "no/p.html"): "inspect --html no/p.html: no folder no: create it, or name another",
    ("--json", "no/p.json"): "inspect --json no/p.json: no folder no: create it, or name another",
    ("--check", "--json", "no/p"): "inspect --json no/p: no folder no: create it, or name another",
    ("--trace", "no/p"): "inspect --trace no/p: no folder no: create it, or name another",
    ("--send", "0", "no/k.py"): "inspect --send no/k.py: no folder no: create it, or name another",
    ("--html", "shut/p"): "inspect --html shut/p: the folder shut can't be written: name another",
    ("--html", "shut.html"): "inspect --html shut.html: the file can't be written: name another",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_what_is_refused(words):
    ran = run(*words)
    assert ran.exit_code == 1 and ran.output.splitlines()[-1] == f"flambeau: {WRONG[words]}"


@pytest.mark.parametrize("words", BEFORE, ids=" ".join)
def test_what_is_refused_before_it_runs(words, folder, monkeypatch):
    (folder / "bad.py").write_text("raise ValueError('it ran')\n")
    (folder / "shut").mkdir()
    (folder / "shut.html").write_text("")
    access = os.access

    def shut(path, how):  # nobody shuts a folder for root
        return not (how == os.W_OK and "shut" in Path(path).name) and access(path, how)

    monkeypatch.setattr(os, "access", shut)
    ran = run("bad.py", *words)
    assert ran.exit_code == 1 and ran.output == f"flambeau: {BEFORE[words]}\n"

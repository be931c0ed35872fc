"""`flambeau inspect --sanitize`, `--check`, `--watch`: of every kind of target, what is printed and written,
and the exit code."""

import json
import shlex

import pytest
from click.testing import CliRunner

import flambeau as fb
from flambeau.cli import main
from flambeau.device import get_device

pytestmark = pytest.mark.usefixtures("gpu")

SCRIPT = """
import sys

import flambeau as fb
from flambeau import nn, optim
from flambeau.learner import Learner

late = fb.custom_op(
    "looked_late",
    inputs=["x"],
    kernel='''
//% extends "launch.wgsl"
//% block work
  let i = group * 64u + lid.x;
  out[i] = in0[i + 1u];
//% endblock
''',
    launch=lambda limits, x: [fb.Launch("", reads=(0,), groups=1)],
    reference=lambda xp, x: x,
)

@fb.jit
def step(x):
    return (x * 2).exp()

def bad(x):
    return late(x) * 1

def empty():
    return 3

def wrong(x):
    return x @ x

def train():
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    batches = [(fb.ones(n, 3), fb.ones(n, 1)) for n in (2, 3)]
    Learner(model, optimizer, nn.functional.mse_loss, renderers=[]).fit(batches)

if __name__ == "__main__":
    step(fb.arange(4).float().realize())
    bad(fb.arange(64).float().realize())
    train()
    empty()
    if sys.argv[1:]:
        wrong(fb.ones(2, 3))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    from flambeau.profiling.roofline import Ceilings

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(get_device("gpu"), "ceilings", Ceilings(1e10, 1e11))
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def run(*words):
    return CliRunner().invoke(main, ["inspect", *words])


def found(*words, code=0):
    """Lines that were printed, without the device."""
    ran = run(*words)
    assert ran.exit_code == code, ran.output
    return [line.replace(str(get_device("gpu")), "GPU") for line in ran.output.splitlines()]


def line_of(text):
    return next(i for i, line in enumerate(SCRIPT.splitlines(), 1) if text in line)


def test_a_call_with_nothing_wrong(folder):
    assert found("train.py::step", "--sanitize") == ["train.py::step on GPU: 1 kernel, 1 run: no fault"]
    told = found("train.py::step", "--check", "--json", "found.json")
    assert told[0] == "train.py::step on GPU: 2 values, 3 kernels, 0 gradients, replayed: all right"
    data = json.loads((folder / "found.json").read_text())
    assert (data["format"], data["version"], data["target"]) == ("flambeau check", 1, "train.py::step")
    assert data["wrong"] == [] and data["values"] == 2
    assert told[1:] == [f"wrote found.json: {len(json.dumps(data)) / 1e3:.1f} kB"]


def test_faults_are_told_and_the_code_is_1(folder):
    told = found("train.py::bad", "--sanitize", "--json", "found.json", code=1)
    (fault,) = json.loads((folder / "found.json").read_text())["faults"]
    name = fault["kernel"]  # the script has run before: an op of the same name is there
    assert told[:-1] == [
        "train.py::bad on GPU: 2 kernels, 2 runs: 1 fault",
        "",
        f"1  out of bounds read in {name}",
        "   what      in0[64] of 64 elements",
        f"   template  {name}.wgsl:5, line {fault['line']} of the kernel",
        "   WGSL      out[i] = in0[i + 1u];",
        "   where     workgroup (0, 0, 0), thread (63, 0, 0)",
        f"   Python    train.py:{line_of('return late(x)')}",
    ]
    told = found("train.py::bad", "--check", code=1)
    assert told[0] == "train.py::bad on GPU: 2 values, 2 kernels, 0 gradients, not replayed: 1 wrong"
    name = told[2].removeprefix("1  op: ")
    assert name.startswith("looked_late") and told[3] == f"   call    {name}(f32[64]) -> f32[64]"
    assert told[4].startswith("   worst   ")
    assert told[5:] == [
        f"   kernel  {name} ({name}.wgsl)",
        f"   Python  train.py:{line_of('return late(x)')}",
    ]


def test_a_value_in_all_threads(folder):
    told = found("train.py::step", "--watch", "mul+exp.t2", "--json", "found.json")
    assert told[0] == "train.py::step on GPU: 1 run" and told[2].startswith("1  mul+exp.t2: ")
    assert any(line.split()[:2] == ["largest", "6"] for line in told), told
    (value,) = json.loads((folder / "found.json").read_text())["runs"]
    numbers = value["values"][0][0]
    assert (numbers if isinstance(numbers, list) else [row[0] for row in value["values"]])[:1] == [0.0]
    nan = found("-e", "(x - x) / (x - x)", "--input", "x=f32[4]", "--watch", "div.y", "--json", "nan.json")
    assert any(line.split()[0] == "NaN" for line in nan if line), nan
    assert '"nan"' in (folder / "nan.json").read_text()


def test_the_helps_examples_of_expressions_run():
    lines = [line.strip() for line in main.commands["inspect"].help.splitlines()]
    examples = [shlex.split(line)[3:] for line in lines if line.startswith("Example: flambeau inspect -e")]
    assert [e[2] for e in examples] == ["--input", "--watch"]
    for words in examples:
        found(*words)


def test_a_learners_step():
    told = found("train.py::Learner.step", "--call", "2")
    assert told[0].startswith("train.py::Learner.step on GPU: ")
    assert any("optimizer" in line for line in told) and any("Linear" in line for line in told), told
    late = run("train.py::Learner.step", "--call", "3")
    told = "it ran to the end and called Learner.step 2 times, not 3: train with a Learner there"
    assert late.exit_code == 1 and late.output.endswith(f"flambeau: inspect: train.py: {told}\n")


def test_a_saved_program(folder):
    fb.save_program(lambda x: (x * 3 + 1).exp(), {"x": "f32[N, 4]"}, folder / "saved", 8)
    assert found("saved", "--sanitize", "--batch", "3") == ["saved on GPU: 1 kernel, 1 run: no fault"]
    told = found("saved", "--watch", "mul+add+exp.y")
    assert told[3].startswith("   template") and " kernels.wgsl:" in told[3]
    text = (folder / "saved" / "kernels.wgsl").read_text()
    assert "in0[" in text
    (folder / "saved" / "kernels.wgsl").write_text(text.replace("in0[", "in0[9u + "))
    told = found("saved", "--sanitize", code=1)
    assert told[2] == "1  out of bounds read in mul+add+exp"
    place = told[4].removeprefix("   template  kernels.wgsl:").split(",")[0]
    assert "in0[" in text.splitlines()[int(place) - 1], told
    lines = found("saved")
    assert not any(line.startswith("memory:") for line in lines)
    assert lines[0].startswith("saved on GPU: 1 dispatch of 1 kernel, ")
    refused = run("saved", "--check")
    rule = "a saved program has kernels and no ops: check the function that it was saved of"
    assert refused.exit_code == 1 and refused.output == f"flambeau: check(saved): {rule}\n"


NOTHING = "it ran nothing on a GPU: pass it tensors of one, or return what it makes"
WRONG = {
    ("train.py::step", "--sanitize", "--check"): (
        "inspect --sanitize --check: these options exclude each other: pass one of them"
    ),
    ("train.py::step", "--check", "--html", "x.html"): (
        "inspect --check --html: --html belongs to an inspection: pass only one of them"
    ),
    ("train.py::step", "--sanitize", "--runs", "3"): (
        "inspect --sanitize --runs: --runs belongs to an inspection: pass only one of them"
    ),
    ("train.py::step", "--turn", "3"): (
        "inspect --turn: it selects an assignment of --watch: pass --watch too"
    ),
    ("train.py::step", "--watch", "exp.y", "--turn", "-1"): (
        "watch(turn=-1): turns count from 0: pass 0 or more"
    ),
    ("x.json", "--check"): "inspect --check x.json: a saved file can't be run: name the script or model",
    ("train.py::step", "--watch", "exp"): (
        "watch(name='exp'): is not KERNEL.NAME: inspect or .wgsl() shows the names"
    ),
    ("train.py::step", "--watch", "sin.y"): "watch(name='sin.y'): no kernel 'sin': its kernels: mul+exp",
    ("train.py::empty", "--sanitize"): f"sanitize(train.py::empty): {NOTHING}",
    ("train.py::empty", "--check"): f"check(train.py::empty): {NOTHING}",
    ("runs", "--check"): (
        "inspect: runs: is the folder of a run, which holds results but no program:"
        " name the script, as in train.py::Learner.step"
    ),
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_what_is_refused(words, folder):
    (folder / "runs").mkdir()
    (folder / "runs" / "events.jsonl").write_text("")
    ran = run(*words)
    assert ran.exit_code == 1 and ran.output.splitlines()[-1] == f"flambeau: {WRONG[words]}"


def test_an_error_of_the_script_is_told_with_its_line():
    ran = run("train.py::wrong", "--check", "--", "go")
    told = f"flambeau: inspect: train.py:{line_of('return x @ x')} (return x @ x): it raised ValueError: "
    assert ran.exit_code == 1 and told in ran.output

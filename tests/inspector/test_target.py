"""Scripts into the call that is inspected, and what is said of those that never make it."""

import sys

import pytest

import flambeau as fb
from flambeau.errors import FlambeauError
from flambeau.inspector.target import of_expression, of_script

pytestmark = pytest.mark.usefixtures("gpu")

SCRIPT = """
import sys
import flambeau as fb

total = []

@fb.jit
def step(x):
    total.append(1)
    return x * 2 + 1

class Trainer:
    def go(self, x):
        return x.exp()

def never(x):
    return x

async def later(x):
    return x

if __name__ == "__main__":
    renamed = fb.jit(lambda x: x.sqrt())
    print("given", *sys.argv[1:])
    for n in (2, 3, 4):
        step(fb.ones(n))
    Trainer().go(fb.ones(5))
    renamed(fb.ones(6))
    if "raise" in sys.argv:
        fb.ones(2) @ fb.ones(3)
    if "exit" in sys.argv:
        sys.exit("no data")
    print("the end")
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    from pathlib import Path

    return Path("train.py")


def names(made):
    return [(k.name, k.shape) for k in made.kernels]


def test_functions_methods_and_what_is_assigned(script, capsys):
    before = list(sys.argv), list(sys.path)
    assert names(of_script(script, "step", ("--fast",), 1)) == [("mul+add", (2,))]
    assert capsys.readouterr().out == "given --fast\n"  # it ends there
    assert names(of_script(script, "step", (), 3)) == [("mul+add", (4,))]
    assert names(of_script(script, "Trainer.go", (), 1)) == [("exp", (5,))]
    made = of_script(script, "renamed", (), 1)
    assert names(made) == [("sqrt", (6,))] and made.target == "train.py::renamed"
    assert (list(sys.argv), list(sys.path)) == before
    assert {s.text for s in of_script(script, "step", (), 1).sites} == {"return x * 2 + 1"}


def test_a_learners_run_ends_without_an_error(tmp_path, capsys):
    path = tmp_path / "learn.py"
    path.write_text(
        "import flambeau as fb\nfrom flambeau import nn, optim\n"
        "from flambeau.learner import Learner, PlainLines\n"
        "model = nn.Linear(3, 1)\n"
        "opt = optim.SGD(model.parameters(), lr=0.1)\n"
        "learner = Learner(model, opt, nn.MSELoss(), renderers=[PlainLines()])\n"
        "learner.fit([(fb.ones(2, 3), fb.ones(2, 1))])\n"
    )
    assert of_script(path, "Learner.step", (), 1, lambda call: call.target) == f"{path}::Learner.step"
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("ended: stopped at step 0 after ")


def test_a_whole_script(script, capsys):
    made = of_script(script, "", (), 1)
    assert [n for n, _ in names(made) if n != "copy"] == ["mul+add"] * 3 + ["sqrt"]  # nobody asks for exp
    assert capsys.readouterr().out.endswith("the end\n")


REFUSED = {  # function, arguments, number of the call: what is said after the script's name
    "never called": ("never", (), 1, ": it ran to the end and never called never: call it there"),
    "too few": (
        "Trainer.go",
        (),
        2,
        ": it ran to the end and called Trainer.go 1 time, not 2: call it there",
    ),
    "unknown": ("stp", (), 1, ": it defines no stp: did you mean 'step'?"),
    "no method": ("Trainer.stop", (), 1, ": it defines no Trainer.stop"),
    "class": ("Trainer", (), 1, ": Trainer is a class: name one of its methods"),
    "no class": ("step.go", (), 1, ": step is not a class: name a function, or Class.method"),
    "asynchronous": ("later", (), 1, ": later is asynchronous"),
    "exits": ("never", ("exit",), 1, ": it ended by exit('no data')"),
    "raises": (
        "never",
        ("raise",),
        1,
        ":30 (fb.ones(2) @ fb.ones(3)): it raised ValueError: ",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_scripts_that_never_get_there(script, name, capsys):
    function, arguments, number, told = REFUSED[name]
    with pytest.raises(FlambeauError) as e:
        of_script(script, function, arguments, number)
    assert str(e.value).startswith(f"inspect: train.py{told}")
    if name != "raises":
        assert str(e.value) == f"inspect: train.py{told}"


def test_files_that_are_no_scripts(tmp_path):
    path = tmp_path / "bad.py"
    with pytest.raises(FlambeauError) as e:
        of_script(path, "step", (), 1)
    assert str(e.value) == f"inspect: {path}: No such file or directory: check the path"
    path.write_text("x = 1\ndef step(:\n")
    with pytest.raises(FlambeauError) as e:
        of_script(path, "step", (), 1)
    assert str(e.value) == f"inspect: {path}:2: is not Python: invalid syntax"


def test_a_script_that_runs_nothing_on_a_gpu(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text("def step():\n    return 3\nstep()\n")
    for function in ("step", ""):
        with pytest.raises(FlambeauError, match="nothing ran on a GPU: it computes no tensor"):
            of_script(path, function, (), 1)


def test_expressions():
    made_up = []

    def make(name):
        made_up.append(name)
        return fb.ones(4, 4).realize()

    made = of_expression("(x @ w + b).relu()", {"b": fb.ones(4).realize()}, make)
    assert made_up == ["w", "x"] and names(made) == [("matmul+add+relu", (4, 4))]
    for text, told in {
        "(x @": "is not an expression: '(' was never closed",
        "x = 3": "is not an expression: invalid syntax",
        "x + fb.ones(3)": "it raised ValueError: add(f32[4, 4], f32[3]): ",
    }.items():
        with pytest.raises(FlambeauError) as e:
            of_expression(text, {"fb": fb}, make)
        assert str(e.value).startswith(f"inspect -e {text!r}: {told}")

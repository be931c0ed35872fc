"""Turns pieces of PyTorch scripts into ours: the text that comes out, what is left, and what is said."""

import tomllib

import pytest
from click.testing import CliRunner
from helpers.paths import TESTS

import flambeau as fb
from flambeau.cli import main
from flambeau.porting import convert
from flambeau.porting.missing import REASONS, why_not

CASES = tomllib.loads((TESTS / "porting" / "cases.toml").read_text(encoding="utf-8"))["case"]


def told(found):
    return [f"{left.line}: {left.what}: {left.words}" for left in found.left]


@pytest.mark.parametrize("case", CASES, ids=[c["name"] for c in CASES])
def test_case(case):
    found = convert(case["before"])
    assert found.text == case["after"]
    assert told(found) == case.get("left", [])
    compile(found.text, "case", "exec")
    lines = case["before"].split("\n")
    assert all(lines[c.line - 1] == c.before for c in found.changes if c.before and "\n" not in c.before)


def test_reasons_are_of_what_is_not_here():
    """`torch.jit` is something else here: what is in it is not."""
    assert [path for path in REASONS if not why_not(path)] == ["torch.jit"]
    assert why_not("torch.jit.script") == REASONS["torch.jit"]
    assert why_not("torch.nn.init.xavier_normal") == "write fb.nn.init.xavier_normal_"


def test_zero_and_gradients_are_gradients():
    """What `grads = 0; grads += loss.backward()` needs."""
    w = fb.tensor([1.0, 2.0], requires_grad=True, device="cpu")
    grads = 0
    grads += (w * w).sum().backward()
    grads += (3 * w).sum().backward()
    assert grads[w].tolist() == [5, 7] and grads.loss.item() == 14
    assert sum([w.sum().backward(), w.sum().backward()])[w].tolist() == [2, 2]
    with pytest.raises(TypeError):
        1 + grads


def test_what_is_printed_and_written(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import torch\n\ntorch.manual_seed(0)\nloss.backward()\nopt.step()\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["port", str(script), "--write"])
    assert done.exit_code == 0, done.output
    assert done.output == (
        "    1 - import torch\n"
        "      + import flambeau as torch                              # the same names\n"
        "    4 - loss.backward()\n"
        "      + grads = loss.backward()                               # backward() returns the gradients\n"
        "    5 - opt.step()\n"
        "      + opt.step(grads)                                       # step() takes the gradients\n"
        "note: a seed gives different numbers than in torch: to compare runs, load the same weights"
        " and data\n"
        f"{script}: 3 of 4 lines change\n"
        f"wrote {tmp_path / 'train_flambeau.py'}\n"
    )
    written = (tmp_path / "train_flambeau.py").read_text(encoding="utf-8")
    assert written.splitlines()[3:] == ["grads = loss.backward()", "opt.step(grads)"]


def test_what_is_left_ends_with_1(tmp_path):
    script, out = tmp_path / "train.py", tmp_path / "ours.py"
    script.write_text("import torch\nopt.step()\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["port", str(script), "-o", str(out)])
    assert done.exit_code == 1 and out.read_text(encoding="utf-8") == "import flambeau as torch\nopt.step()\n"
    words = "the gradients come from a backward() that is not in this function: pass them to it,"
    told = f"{script}:2: opt.step(): {words} grads = loss.backward() there and opt.step(grads) here"
    assert done.output.splitlines()[2:] == [
        told,
        f"{script}: 1 of 2 lines change, 1 left to do by hand",
        f"wrote {out}",
    ]


def test_files_that_are_no_scripts(tmp_path):
    none, bytes_, other, plain = (tmp_path / name for name in ("none.py", "b.py", "c.py", "d.py"))
    bytes_.write_bytes(b"\xff\xfe")
    other.write_text("x = 1\nprint 'old'\n", encoding="utf-8")
    plain.write_text("x = 1\n", encoding="utf-8")
    said = {
        none: f"flambeau: port {none}: can't be read: No such file or directory\n",
        bytes_: f"flambeau: port {bytes_}: is not UTF-8 text: pass a .py file\n",
        other: f"flambeau: port({str(other)!r}): line 2: Missing parentheses in call to 'print'. Did you mean"
        " print(...)?: it must be a script of Python 3\n",
    }
    for path, words in said.items():
        done = CliRunner().invoke(main, ["port", str(path)])
        assert (done.exit_code, done.output) == (1, words)
    done = CliRunner().invoke(main, ["port", str(plain)])
    assert done.exit_code == 0
    assert done.output == f"note: it does not import torch: nothing to change\n{plain}: 0 of 1 lines change\n"

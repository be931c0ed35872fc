"""Turns the stubs into what they promise: they are current, complete, and a type checker reads them."""

import ast
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from helpers.expressions import EXPRESSIONS, arrays
from helpers.scripts import script

import flambeau as fb
from flambeau.core.habits import Missing

ROOT = Path(__file__).parents[1]
TYPED = ROOT / "tests" / "typed"
stubs = script("write_stubs")


@pytest.mark.parametrize("name", stubs.STUBS)
def test_stub_is_current(name):
    written = (stubs.SOURCE / f"{name}.pyi").read_text(encoding="utf-8")
    assert written == stubs.stub(name), f"{name}.pyi is not current: run `{stubs.COMMAND}`"


# --- what a type checker says of scripts that use the package ---


@cache
def told() -> dict[str, list[tuple[int, str]]]:
    """(line, rule) of all that pyright says of each script in tests/typed, by its name."""
    call = [
        sys.executable,
        "-m",
        "pyright",
        "--project",
        TYPED,
        "--pythonpath",
        sys.executable,
        "--outputjson",
    ]
    found = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(call, capture_output=True, text=True, env=found)
    out: dict[str, list[tuple[int, str]]] = {}
    for d in json.loads(done.stdout)["generalDiagnostics"]:
        line = d["range"]["start"]["line"] + 1
        out.setdefault(Path(d["file"]).name, []).append((line, f"{d.get('rule')}: {d['message']}"))
    return out


def test_strict_mode_accepts_a_users_script():
    assert told().get("user_script.py", []) == []


def test_mistakes_are_found():
    text = (TYPED / "mistakes.py").read_text(encoding="utf-8").splitlines()
    wrong = [i for i, line in enumerate(text, 1) if "# wrong: " in line]
    assert len(wrong) == 5
    assert [line for line, _ in told()["mistakes.py"]] == wrong, told()["mistakes.py"]


def test_the_users_script_runs(monkeypatch, capsys):
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")
    runpy.run_path(str(TYPED / "user_script.py"), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) == 3


SPACE = {"linalg": "linalg_", "fft": "fft_"}


@pytest.mark.parametrize("text", [text for text, _ in EXPRESSIONS], ids=[text for text, _ in EXPRESSIONS])
def test_results_are_what_the_stubs_say(text):
    """A call gives several tensors where its stub says so, and one elsewhere."""
    call = ast.parse(text.format(m="m"), mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return
    space = SPACE.get(getattr(call.func.value, "attr", ""), "")
    name = space + call.func.attr
    with fb.device("cpu"):
        found = eval(text.format(m="m"), {"m": fb, **{k: fb.tensor(a) for k, a in arrays().items()}})
    told = stubs.RESULTS.get(name, " or ".join(stubs.OVERLOADS.get(name, ["Tensor"])))
    kind = type(found).__name__
    assert kind in told or (kind == "list" and "tuple" in told), f"{name} gives {kind}, its stub says {told}"


# --- what an editor lists ---


@cache
def definitions(name: str) -> dict[str, ast.AST]:
    """What a stub defines or hands on, by name."""
    tree = ast.parse((stubs.SOURCE / f"{name}.pyi").read_text(encoding="utf-8"))
    found: dict[str, ast.AST] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.setdefault(node.name, node)  # the first of several forms has the docstring
    return found


def below(name: str, owner: str) -> dict[str, ast.AST]:
    """The members of a class of a stub."""
    found: dict[str, ast.AST] = {}
    for node in definitions(name)[owner].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.setdefault(node.name, node)
    return found


SPACES = {"functions": fb, "nn/functional": fb.nn.functional, "linalg": fb.linalg, "fft": fb.fft,
          "special": fb.special}  # fmt: skip


def mute(found: dict[str, ast.AST], names) -> list[str]:
    """The names that are not there, or have no docstring."""
    return [n for n in names if n not in found or not ast.get_docstring(found[n])]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SPACES)
def test_every_function_is_listed_with_its_docstring(name):
    names = stubs.functions.__all__ if name == "functions" else SPACES[name].__all__
    assert not mute(definitions(name), names)


def test_every_method_is_listed_with_its_docstring():
    found = below("tensor", "Tensor")
    own = {n: vars(fb.Tensor).get(n, fb.Tensor) for n in dir(fb.Tensor)}
    own = {n: v for n, v in own.items() if n[0] != "_" and not inspect.ismemberdescriptor(v)}
    names = [n for n, v in own.items() if not isinstance(v, Missing)]
    assert len(names) > 300
    assert not mute(found, names)
    operators = [n for n in dir(fb.Tensor) if n[:2] == "__" and n not in dir(object)]
    skipped = {"__module__", "__dict__", "__weakref__", "__annotations__", "__array_namespace__", "__slots__"}
    skipped.add("__array_priority__")  # a number
    assert not set(operators) - set(found) - skipped


def test_every_window_is_listed_with_its_docstring():
    assert not mute(below("signal", "windows"), vars(fb.signal.windows))


def test_every_name_of_the_package_is_listed():
    assert not set(fb.__all__) - set(definitions("__init__"))


def test_layers_are_classes_with_their_settings():
    pool = below("nn/pool", "MaxPool2d")["__init__"]
    assert [a.arg for a in pool.args.args][1:3] == ["kernel_size", "stride"]  # type: ignore[attr-defined]
    layers = {n for n, v in vars(fb.nn).items() if isinstance(v, type) and hasattr(v, "__signature__")}
    stubbed = ("nn/activation", "nn/loss", "nn/pool", "nn/stateless")
    assert not layers - {name for stub in stubbed for name in definitions(stub)}


def test_every_layer_is_handed_on():
    assert set(fb.nn.__all__) <= set(definitions("nn/__init__"))


def test_no_more_arguments_are_unknown():
    """Arguments of any type are few, and `Any` is not a way out for new ones."""
    text = "".join((stubs.SOURCE / f"{n}.pyi").read_text(encoding="utf-8") for n in SPACES)
    unknown = [n for n in re.findall(r"(\w+): Any\b", text) if n != "device"]
    assert sorted(set(unknown)) == UNKNOWN


UNKNOWN = sorted(
    {
        "args",  # what a variant of a function hands on to it
        "data",  # whatever tensor() takes
        "ext_tensor",  # another library's array
        "given",  # what multi_head_attention_forward hands on
        "how",  # and its keywords, and those of linear_cross_entropy
        "i",  # Reading's index
        "key",  # of indexing: numbers, slices, tensors, lists
        "kw",  # see args
        "ndarray",  # NumPy's, which is no dependency of the stubs
        "obj",  # is_tensor's
        "operands",  # einsum's: tensors, or tensors and lists in turn
        "other",  # Reading's ==
        "output_ratio",  # fractional pools': a number or one for each dim
        "spacing",  # gradient's: a number, tensors or lists of either
        "tensors",  # tensors or sequences of them, or of numbers
    }
)

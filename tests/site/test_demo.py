"""`flambeau demo`: how it asks for inputs and shows outputs, the folder it writes, and what it refuses."""

import json
import os
import re
import shlex
import signal
import time

import pytest
from click.testing import CliRunner
from helpers import onnx_files
from helpers.paths import ROOT
from onnx import TensorProto

import flambeau as fb
from flambeau import nn
from flambeau.cli import main
from flambeau.cli.web import scratch_folder
from flambeau.errors import FlambeauError
from flambeau.export.inputs import spec_of
from flambeau.site.demo import _examples
from flambeau.site.widgets import ProgramValue, Wishes, widgets

DOCS = ROOT / "docs" / "demo.md"


def guessed(inputs: dict[str, str], outputs: dict[str, str], **wishes):
    specs = [spec_of(name, text) for name, text in inputs.items()]
    values = [spec_of(name, text) for name, text in outputs.items()]
    return widgets(specs, [ProgramValue(v.name, v.dtype, v.at(1)) for v in values], Wishes(**wishes), "demo")


KINDS = [  # inputs, outputs, wishes, kinds of both
    ({"x": "f32[N, 3, 224, 224]"}, {"y": "f32[N, 1000]"}, {}, "picture", "classes"),
    ({"x": "u8[1, 48, 64, 3]"}, {"y": "f32[1, 3, 48, 64]"}, {}, "picture", "picture"),
    ({"x": "f32[N, 784]"}, {"y": "f32[N, 10]", "best": "i64[N]"}, {}, "picture", "classes numbers"),
    ({"x": "f32[N, 784]"}, {"best": "i64[N]"}, {"labels": ["a", "b"]}, "picture", "label"),
    ({"x": "f32[N, 3, 64, 64]"}, {"y": "f32[N, 21, 64, 64]"}, {}, "picture", "map"),
    ({"x": "f32[N, 3, 64, 64]"}, {"y": "f32[N, 3, 64, 64]"}, {"labels": ["a", "b", "c"]}, "picture", "map"),
    ({"image": "f32[N, 32, 40]"}, {"depth": "f32[N, 32, 40]"}, {}, "picture", "picture"),
    ({"x": "f32[N, 4]", "size": "f32[]"}, {"y": "f32[N, 1]"}, {}, "fields fields", "numbers"),
    ({"x": "f32[N, 300]"}, {"y": "f32[N, 2]"}, {"show": "numbers"}, "list", "numbers"),
    ({"input_ids": "i64[N, 64]", "attention_mask": "i64[N, 64]", "token_type_ids": "i64[N, 64]"},
     {"logits": "f32[N, 2]"}, {}, "tokens mask zeros", "classes"),
    ({"ids": "i32[N, 16]", "position_ids": "i32[N, 16]"}, {"logits": "f32[N, 16, 50]"}, {},
     "tokens positions", "next"),
    ({"audio": "f32[N, 1, 4000]"}, {"y": "f32[N, 16, 2, 2]"}, {}, "list", "numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "outputs", "wishes", "asked", "shown"), KINDS)
def test_kinds(inputs, outputs, wishes, asked, shown):
    found = guessed(inputs, outputs, **wishes)
    assert [" ".join(w["kind"] for w in part) for part in found] == [asked, shown]


def test_colours():
    def scale(wish, shape="f32[1, 3, 32, 32]", classes=1000):
        asked, _ = guessed({"x": shape}, {"y": f"f32[1, {classes}]"}, scale=wish)
        return asked[0]["less"], asked[0]["by"]

    assert scale(None, classes=10) == ([0, 0, 0], [255, 255, 255])
    assert scale(None) == scale("imagenet") == ([123.675, 116.28, 103.53], [58.395, 57.12, 57.375])
    assert scale(None, "u8[1, 3, 32, 32]") == ([0, 0, 0], [1, 1, 1])
    less, by = scale("0.5/0.25", "f32[1, 1, 28, 28]", 10)
    assert (less, by) == ([127.5], [63.75])


def test_names_and_vocabularies():
    asked, shown = guessed({"a": "f32[N, 2]", "b": "i32[]"}, {"y": "f32[N, 2]"}, labels=["no", "yes"])
    assert [w["names"] for w in asked] == [["a[0]", "a[1]"], ["b"]] and asked[1]["whole"]
    assert shown[0]["labels"] == ["no", "yes"] and shown[0]["softmax"]
    asked, _ = guessed({"a": "f32[N, 2]", "b": "i32[]"}, {"y": "f32[N, 1]"}, names=["x", "y", "z"])
    assert [w["names"] for w in asked] == [["x", "y"], ["z"]]
    for words, by in ((["a", "##b"], "wordpiece"), (["a", "b", "[PAD]"], "letters"), (["at", "b"], "words")):
        assert guessed({"ids": "i32[1, 8]"}, {"y": "f32[1, 2]"}, vocabulary=words)[0][0]["by"] == by


REFUSED = [
    ({"x": "f32[4, 3, 64, 64]"}, {}, "x f32[4, 3, 64, 64]: its batch is fixed"),
    (
        {"x": "f32[N, 100, 100]"},
        {},
        "x f32[1, 100, 100]: a page asks for pictures, token ids and up to 4,096",
    ),
    ({"attention_mask": "i64[N, 8]"}, {}, "are all derived from tokens: name token ids 'input_ids'"),
    ({"x": "f32[N, 4]"}, {"labels": ["a"] * 3}, "3 labels fit no output (y f32[1, 2]): pass one for each"),
    ({"x": "f32[N, 4]"}, {"names": ["a"]}, "1 names for 4 numbers"),
    ({"x": "f32[N, 4]"}, {"scale": "unit"}, "--scale: no input takes a picture"),
    ({"x": "f32[N, 4]"}, {"vocabulary": ["a"]}, "--vocab: no input takes token ids"),
    ({"x": "f32[N, 4]"}, {"show": "picture"}, "--show picture: y f32[1, 2] can't be shown this way"),
    ({"x": "f32[N, 3, 9, 9]"}, {"scale": "dark"}, "--scale 'dark': pass unit, symmetric, imagenet, bytes"),
    ({"x": "f32[N, 1, 9, 9]"}, {"scale": "imagenet"}, "--scale 'imagenet' does not fit 1 channels"),
]


@pytest.mark.parametrize(("inputs", "wishes", "text"), REFUSED)
def test_what_it_refuses(inputs, wishes, text):
    with pytest.raises(FlambeauError, match=re.escape(text)) as e:
        guessed(inputs, {"y": "f32[N, 2]"}, **wishes)
    assert str(e.value).startswith("demo: ")


def demo(*arguments):
    return CliRunner().invoke(main, ["demo", *map(str, arguments)])


def test_the_commands_of_the_documentation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = DOCS.read_text("utf-8")
    (tmp_path / "nets.py").write_text(re.search(r"^```python\n(.*?)^```$", text, re.M | re.S)[1])
    x, y = onnx_files.value("image", ["batch", 3, 16, 16]), onnx_files.value("scores", ["batch", 3])
    nodes = [
        onnx_files.helper.make_node("GlobalAveragePool", ["image"], ["means"]),
        onnx_files.helper.make_node("Flatten", ["means"], ["scores"]),
    ]
    onnx_files.saved(tmp_path / "model.onnx", nodes, [x], [y])
    lines = [line for line in re.findall("^flambeau (demo .*)$", text, re.M) if "--open" not in line]
    assert len(lines) == 2
    for line in lines:
        done = CliRunner().invoke(main, shlex.split(line))
        assert done.exit_code == 0, done.output
    facts = json.loads((tmp_path / "shapes" / "demo.json").read_text("utf-8"))
    assert facts["title"] == "Shapes" and facts["outputs"][0]["labels"] == ["circle", "square", "star"]
    assert facts["inputs"][0]["name"] == "image"
    iris = tmp_path / "iris"
    assert (iris / "model" / "index.js").is_file() and 'from "./model/index.js"' in (
        iris / "page.js"
    ).read_text()
    # each module that a script imports is in the folder
    for script in iris.rglob("*.js"):
        for name in re.findall(r'(?:from|import\()\s*"(\.[^"]+)"', script.read_text("utf-8")):
            assert (script.parent / name).is_file(), (script, name)


def test_folders_of_export_and_files(tmp_path):
    """A saved program without its module gets one; other files are named."""
    with fb.device("cpu"):
        saved = fb.save_program(nn.Linear(3, 2), {"x": "f32[N, 3]"}, tmp_path / "saved", max_batch=2)
    assert demo(saved, "--out", tmp_path / "page", "--title", "A <b>").exit_code == 0
    assert "<h1>A &lt;b&gt;</h1>" in (tmp_path / "page" / "index.html").read_text("utf-8")
    assert demo(saved, "--out", tmp_path / "page").exit_code == 0  # again
    onnx_files.saved(
        tmp_path / "words.onnx",
        [onnx_files.helper.make_node("Identity", ["words"], ["same"])],
        [onnx_files.value("words", ["n"], TensorProto.STRING)],
        [onnx_files.value("same", ["n"], TensorProto.STRING)],
    )
    onnx_files.saved(
        tmp_path / "open.onnx",
        [onnx_files.helper.make_node("Relu", ["x"], ["y"])],
        [onnx_files.value("x", ["n", "wide"])],
        [onnx_files.value("y", ["n", "wide"])],
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    for arguments, text in (
        ((saved, "--out", tmp_path / "mine"), "mine holds other files"),
        ((saved, "--input", "x=f32[N]"), "a saved program has its inputs and weights"),
        ((saved, "--example", "cat.jpg"), "--example cat.jpg: no such file"),
        ((tmp_path / "mine",), "the folder has no program.txt"),
        ((tmp_path / "words.onnx",), "the input 'words' is string[n]: a page takes tensors of numbers"),
        ((tmp_path / "open.onnx",), "the size wide is open: pass --size wide=N"),
        (
            (tmp_path / "open.onnx", "--size", "width=5"),
            "--size width: no input has this size: open are n, wide",
        ),
        ((tmp_path / "open.onnx", "--size", "wide=5", "--labels", "a," * 300), "labels fit no output"),
        ((tmp_path / "none.onnx",), "no such file"),
        ((tmp_path / "digits",), "digits: no such file or folder: pass an ONNX file"),
    ):
        done = demo(*arguments)
        assert done.exit_code == 1 and text in done.output and done.output.count("\n") == 1, done.output
    done = demo(tmp_path / "open.onnx", "--size", "wide=5", "--out", tmp_path / "wide")
    assert "asks for x (f32[1, 5]) as fields; shows y (f32[1, 5]) as classes; --names A,B" in done.output


def test_examples_have_the_name_of_their_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ball").mkdir()
    for name in ("ball/000.png", "cat.jpg"):
        (tmp_path / name).write_bytes(b"")
    _, rows = _examples(("ball/000.png", "cat.jpg"), [{"kind": "picture"}], "demo")
    assert [row["text"] for row in rows] == ["Example 1: ball/000", "Example 2: cat"]


def test_sigterm_removes_the_scratch_folder():
    with pytest.raises(SystemExit) as ended, scratch_folder() as scratch:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)  # the handler runs before
    assert ended.value.code == 143 and not scratch.exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_the_server_names_pages_that_the_folder_has(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr("flambeau.cli.web.run_server", lambda server, text, open_it: said.append(text))
    for folders in ([], ["mnist"]):
        for name in folders:
            (tmp_path / name).mkdir()
        assert CliRunner().invoke(main, ["web", "serve", str(tmp_path), "--port", "0"]).exit_code == 0
    plain, site = said
    assert re.fullmatch(r"serving http://localhost:\d+/", plain)
    assert re.fullmatch(r"serving (http://localhost:\d+/), digits at \1mnist/", site)

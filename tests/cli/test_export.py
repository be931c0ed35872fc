"""`flambeau export`: what it takes for a model, what it writes, and what it says of anything else."""

import json
import re
from hashlib import sha256

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.gguf_models import tiny_chat
from helpers.paths import ROOT

import flambeau as fb
from flambeau.cli import main
from flambeau.cli.mnist import network

FILE = """
from flambeau import nn

class Net(nn.Module):
    def __init__(self, width=4):
        self.layer = nn.Linear(3, width)

    def forward(self, x):
        return self.layer(x).softmax(-1)

class Wide(Net):
    def __init__(self, width):
        super().__init__(width)

def make():
    return Net(2)

def double(x):
    return x * 2

net = Net()
number = 3
"""


DOCS = ROOT / "docs" / "export.md"


@pytest.mark.share(3)
def test_the_documentation_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block, *_rest = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text("utf-8"), flags=re.M | re.S)
    exec(block, {})
    assert capsys.readouterr().out == "SavedProgram(x=f32[N, 4])\n"


def export(*arguments):
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


@pytest.fixture(scope="module", autouse=True)
def on_gpu(gpu):
    """Exported programs are kernels."""


@pytest.fixture
def nets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets_for_export.py").write_text(FILE)
    return tmp_path / "nets_for_export.py"


def test_the_network_of_mnist(tmp_path):
    fb.manual_seed(0)
    model = network()
    model.save(tmp_path / "digits.safetensors")
    out = tmp_path / "digits"
    done = export(tmp_path / "digits.safetensors", "--out", out, "--max-batch", "3")
    assert done.exit_code == 0, done.output
    assert re.fullmatch(
        r"exported .*digits: 0\.\d\d MB, of which the module is 3\d\.\d kB,"
        r" and \d\.\d for pictures, plain arrays and buffers\n"
        r'in a page: import { load } from "\./digits/index\.js";\n'
        r"           const model = await load\(\), y = await model\.run\({ x }\);\n"
        r"a page to try it: flambeau demo .*digits --open\n",
        done.output,
    )
    assert sorted(p.name for p in out.iterdir()) == [
        "executor.js", "index.d.ts", "index.js", "kernels.wgsl", "package.json", "program.txt", "values.js",
        "weights.safetensors",
    ]  # fmt: skip
    x = fb.rand(3, 1, 28, 28)
    np.testing.assert_array_equal(fb.load_program(out)(x).numpy(), model(x).numpy())


@pytest.mark.parametrize(
    ("name", "outputs"), [("Net", 4), ("make", 2), ("net", 4), ("double", 3)], ids=lambda v: str(v)
)
@pytest.mark.parametrize("where", ["nets_for_export", "nets_for_export.py"])
def test_models_classes_and_functions(name, outputs, where, nets):
    done = export(f"{where}:{name}", "--input", "x=f32[N, 3]", "--out", "made", "--max-batch", 2)
    assert done.exit_code == 0, done.output
    assert fb.load_program("made")(fb.ones(2, 3)).shape == (2, outputs)
    assert json.loads((nets.parent / "made" / "program.txt").read_text())["batch"] == [1, 2]


@pytest.mark.share(3)
@pytest.mark.parametrize("is_checkpoint", [False, True])
def test_weights_are_loaded(nets, is_checkpoint):
    weight = {"layer.weight": fb.zeros(4, 3), "layer.bias": fb.tensor([0.0, 0.0, 0.0, 3.0])}
    run = {"model": weight, "optimizer": {}, "epoch": 1, "step": 5}  # among the keys of a Learner's file
    fb.save(run if is_checkpoint else weight, "net.safetensors")
    done = export(f"{nets}:Net", "--weights", "net.safetensors", "--input", "x=f32[N, 3]", "--out", "made")
    assert done.exit_code == 0, done.output
    wanted = weight["layer.bias"].softmax(0).numpy()
    np.testing.assert_array_equal(fb.load_program("made")(fb.ones(1, 3)).numpy()[0], wanted)


CHAT = ["--chat", "--context", 16]


@pytest.mark.share(2)
def test_a_language_model_as_a_page(tmp_path):
    """A folder for a web server; what it cannot be is a line."""
    tiny_chat(tmp_path / "m.gguf", "Q8_0")
    out = tmp_path / "page"
    done = export(tmp_path / "m.gguf", *CHAT, "--title", "Small", "-o", out)
    assert done.exit_code == 0, done.output
    assert re.fullmatch(
        r"exported .*page: \d\.\d MB to download, 1 parts of weights\n"
        r"it needs \d MB of GPU memory for 16 tokens\n"
        r"to try it: flambeau web serve .*page --open; any web server can serve it, over https\n",
        done.output,
    )
    facts = json.loads((out / "chat.json").read_text("utf-8"))
    for name, file in facts["files"].items():
        data = (out / name).read_bytes()
        assert (len(data), sha256(data).hexdigest()) == (file["bytes"], file["sha256"])
    assert (facts["title"], facts["ends"], facts["context"]) == ("Small", [2, 0], 16)
    scripts = re.findall(r'(?:from|import) "([^"]+)"', "".join(p.read_text() for p in out.glob("*.js")))
    assert scripts and all((out / name).is_file() for name in scripts)
    assert "<script>" not in (out / "index.html").read_text()

    (tmp_path / "t.jinja").write_text("{{ messages[0].content | wordwrap(20) }}")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "mine").write_text("")
    refused = "which is not possible in a page: pass another template"
    for arguments, told in (
        (["-o", tmp_path / "files"], f"{tmp_path}/files holds other files: name an empty or new folder"),
        (
            ["-o", out, "--chat-template", tmp_path / "t.jinja"],
            f"the chat template uses the filter 'wordwrap', {refused}",
        ),
        (["-o", out, *X], "--chat takes no --input or --weights: leave them out"),
    ):
        done = export(tmp_path / "m.gguf", "--chat", *arguments)
        assert (done.exit_code, done.output) == (1, f"flambeau: export {tmp_path}/m.gguf: {told}\n")
    done = export("nets.py:Net", "--out", "made", "--title", "x")
    assert (done.exit_code, done.output) == (
        1,
        "flambeau: export nets.py:Net: --title applies to --chat: add it\n",
    )


X = ["--input", "x=f32[N, 3]"]
TOLD = {
    "no input": (["{}:Net"], "export {}:Net: no inputs: name each, as in --input 'x=f32[N, 1, 28, 28]'"),
    "input": (["{}:Net", "--input", "f32[3]"], "export: --input 'f32[3]': write it as 'x=f32[N, 1, 28, 28]'"),
    "dtype": (
        ["{}:Net", "--input", "x=float33[3]"],
        "dtype(float33): unknown dtype: did you mean 'float32'?",
    ),
    "name": (["Net", *X], "export: MODEL is 'Net': write module:name, file.py:name or a .safetensors file"),
    "module": (
        ["no_such.thing:Net", *X],
        "export: No module named 'no_such': name a module that can be imported from here",
    ),
    "file": (["no_such.py:Net", *X], "export: no_such.py is not a file: check the path"),
    "attribute": (["nets_for_export:net_", *X], "export: nets_for_export has no 'net_': did you mean 'net'?"),
    "number": (["{}:number", *X], "export: {}:number is int: name a model or a function of tensors"),
    "arguments": (
        ["{}:Wide", *X],
        "export: {}:Wide needs arguments (width): name a function without arguments that returns the model",
    ),
    "weights of a function": (
        ["{}:double", *X, "--weights", "w.safetensors"],
        "export: {}:double is not a model: --weights can't be loaded into it",
    ),
    "shape": (
        ["{}:Net", "--input", "x=f32[N, 4]"],
        "save_program(x=f32[1, 4]): linear(f32[1, 4], f32[4, 3], f32[4]): inner sizes differ: 4 and 3",
    ),
}


@pytest.mark.parametrize("what", TOLD)
def test_what_goes_wrong_is_a_line(what, nets):
    arguments, told = TOLD[what]
    done = export(*(a.format(nets) for a in arguments), "--out", "made")
    assert (done.exit_code, done.output) == (1, f"flambeau: {told.format(nets)}\n")
    assert not (nets.parent / "made").exists()

"""`flambeau quantize`: the file, the table, errors."""

from click.testing import CliRunner
from helpers.gguf_models import tiny_chat

from flambeau import models, nn
from flambeau.cli import main


def run(*args):
    return CliRunner().invoke(main, ["quantize", *map(str, args)])


def test_a_table_before_and_after(tmp_path):
    tiny_chat(tmp_path / "tiny.gguf")
    (tmp_path / "text").write_text("hello the world, hello", "utf-8")
    out = tmp_path / "q.gguf"
    options = ("--out", out, "--text", tmp_path / "text", "--device", "cpu")
    done = run(tmp_path / "tiny.gguf", "--type", "q6_k", *options)
    assert done.exit_code == 0, done.output
    first, head, before, after = done.output.splitlines()[-4:]
    assert first.startswith(f"wrote {out}: ") and first.endswith(" Q8_0")
    assert head.split() == ["weights", "MB", "error", "%", "perplexity"]
    assert before.split()[:2] == ["as", "floats"] and after.split()[0] == "q6_k"
    assert float(after.split()[1]) < float(before.split()[2]) and len(after.split()) == 4
    model = models.from_pretrained(out, "cpu", keep_quantized=True)
    assert type(model.model.layers[0].mlp.gate_proj) is nn.BlockLinear


def test_errors(tmp_path):
    done = run(tmp_path / "none.safetensors")
    assert done.exit_code == 1 and "no such file" in done.stderr
    assert "is not one of" in run("x", "--type", "q9").stderr

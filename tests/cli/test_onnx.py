"""`flambeau onnx`: what it says of files, what it runs and writes."""

from io import StringIO

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import parser

from flambeau.cli import main
from flambeau.cli.onnx import onnx
from flambeau.cli.progress import steps

TEXT = """<ir_version: 9, opset_import: ["": 17], producer_name: "hand">
g (float[N, 3] x, int64[N] k) => (float[N, 3] y, int64[N] n) <float[3] w = {1, 2, 3}> {
  m = Mul(x, w)
  y = Abs(m)
  n = Neg(k)
}"""
NET = "from flambeau import nn\n\ndef make():\n    return nn.Linear(3, 2, device='cpu')\n"


def flambeau(*args):
    return CliRunner().invoke(main, ["onnx", *map(str, args)])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(parser.parse_model(TEXT).SerializeToString())
    return path


def test_help_has_an_example_for_every_command():
    for name in onnx.commands:
        assert "Example: " in flambeau(name, "--help").output, name


def test_info(file):
    assert flambeau("info", file).output == (
        f"{file}: IR 9, ai.onnx 17, by hand\n"
        "  input   x: float32[N, 3]\n  input   k: int64[N]\n"
        "  output  y: float32[N, 3]\n  output  n: int64[N]\n"
        "  1 tensors: 3 numbers, 0.0 MB\n  3 nodes of 3 operators:\n"
        "        1 Mul\n        1 Abs\n        1 Neg\n"
    )


def test_check(file, tmp_path):
    assert flambeau("check", file).output == f"{file}: can be run: 3 nodes of 3 operators\n"
    bad = tmp_path / "bad.onnx"
    text = TEXT.replace("Abs(m)", "Absolut(q)")
    bad.write_bytes(parser.parse_model(text).SerializeToString())
    result = flambeau("check", bad)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"flambeau: {bad}: 2 problems:",
        "  Absolut -> y: reads 'q', which no node produces",
        "  Absolut -> y: unknown operator at opset 17: did you mean 'Abs'?",
    ]
    assert flambeau("info", bad).output.count("  problem: Absolut -> y") == 2


def test_compare(file, torch):
    result = flambeau("check", file, "--compare", "--size", "N=4", "--device", "cpu")
    assert result.output.splitlines()[1:] == [
        "  y [4, 3]: 0.0e+00 of its largest from onnxruntime's",
        "  n [4]: 0.0e+00 of its largest from onnxruntime's",
    ]


def test_compare_names_what_onnxruntime_cannot_run(tmp_path, torch):
    head = '<ir_version: 9, opset_import: ["": 17]>'
    path = tmp_path / "atanh.onnx"
    text = f"{head} g (double[2] x) => (double[2] y) {{ y = Atanh(x) }}"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    result = flambeau("check", path, "--compare", "--device", "cpu")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"flambeau: {path}: onnxruntime can't run it: [ONNXRuntimeError] : 9")
    path = tmp_path / "log.onnx"
    text = f"{head} g (float[3] x) => (float[3] y, seq(float[3]) s)"
    text += "{ y = Log(x) s = SequenceConstruct(x, y) }"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    np.save(tmp_path / "x.npy", np.array([-1, 0, 2], "f4"))
    result = flambeau("check", path, "--compare", "--device", "cpu", "--input", f"x={tmp_path / 'x.npy'}")
    assert [line.split(": ")[0] for line in result.output.splitlines()[1:]] == ["  y [3]", "  s of 2"]


@pytest.mark.parametrize(
    ("ours", "theirs", "far"),
    [
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], 0.0),
        ([1.0, np.nan], [1.0, 2.0], np.inf),
        ([1.0, 2.0], [1.0, np.nan], np.inf),
        ([1.0, np.inf], [1.0, -np.inf], np.inf),
        ([1.0, 2.5], [1.0, 2.0], 0.25),
        (["a", "b"], ["a", "c"], np.inf),
        ([], [], 0.0),
    ],
)
def test_how_far_results_are(ours, theirs, far):
    from flambeau.cli.onnx import _distance

    a, b = np.array(ours), np.array(theirs)
    assert _distance(a, b) == far == _distance([{"k": a}], [{"k": b}])
    assert _distance(a, [b]) == _distance(a.reshape(-1, 1), b.reshape(1, -1, 1)) == np.inf


def test_run(file, tmp_path):
    np.save(tmp_path / "x.npy", np.array([[-1, 2, -3]], "f4"))
    result = flambeau(
        "run", file, "--device", "cpu", "--input", f"x={tmp_path / 'x.npy'}", "--out", tmp_path / "out"
    )
    lines = result.output.splitlines()
    assert lines[:2] == ["y: float32[1, 3]", "n: int64[1]"] and lines[2].endswith(
        " ms on cpu (the first run)"
    )
    assert np.load(tmp_path / "out" / "y.npy").tolist() == [[1, 4, 9]]
    assert flambeau("run", file, "--device", "cpu", "--size", "N=5", "--repeat", "2").output.startswith(
        "y: float32[5, 3]\n"
    )


def test_export(tmp_path):
    (tmp_path / "nets.py").write_text(NET)
    out = tmp_path / "net.onnx"
    result = flambeau("export", f"{tmp_path / 'nets.py'}:make", "--input", "x=f32[N, 3]", "--out", out)
    assert result.output == f"exported {out}: 0.00 MB, 4 nodes of 4 operators\n"
    assert "input   x: float32[N, 3]" in flambeau("info", out).output


def test_steps_are_shown_on_a_terminal_alone(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # rich draws no bar on a dumb terminal

    class Terminal(StringIO):
        def isatty(self):
            return True

    for stream, told in ((Terminal(), True), (StringIO(), False)):
        with steps(2, stream) as begin:
            begin("reading")
            begin("checking")
        shown = stream.getvalue()
        assert (shown != "") is told and (
            "reading" in shown and "checking" in shown and " 50%" in shown
        ) is told


def test_what_is_wrong_is_one_line(file, tmp_path):
    (tmp_path / "n.npy").write_text("none")
    cases = {
        "--size 'N4': write it as 'batch=4'": ["run", file, "--size", "N4"],
        "--input 'x': write it as 'x=values.npy'": ["run", file, "--input", "x"],
        f"'{tmp_path / 'no'}': no such file: check the path": ["info", tmp_path / "no"],
    }
    for text, words in cases.items():
        result = flambeau(*words)
        assert result.exit_code == 1 and result.stderr == f"flambeau: {text}\n"
    result = flambeau("run", file, "--input", f"x={tmp_path / 'n.npy'}")
    assert result.exit_code == 1 and "can't be read as an array of NumPy: " in result.stderr


def test_an_empty_file_is_refused_by_all_commands(tmp_path):
    empty = tmp_path / "empty.onnx"
    empty.touch()
    why = "has no graph: is empty, truncated or not an ONNX file: get a complete copy"
    for command in ("check", "info", "run"):
        result = flambeau(command, empty)
        assert result.exit_code == 1 and result.stderr == f"flambeau: '{empty}': {why}\n"


def test_a_result_that_no_memory_holds_is_one_line(file, tmp_path):
    text = """<ir_version: 9, opset_import: ["": 17]>
    g (float[1] x) => (float[N] y) <int64[1] n = {1099511627776}> {
      c = ConstantOfShape(n) y = Add(c, x) }"""
    huge = tmp_path / "huge.onnx"
    huge.write_bytes(parser.parse_model(text).SerializeToString())
    result = flambeau("run", huge, "--device", "cpu")
    (line,) = result.stderr.splitlines()
    told = f"flambeau: '{huge}': ConstantOfShape -> c: gives float32[1099511627776]: 4,398,046,511,104 bytes"
    assert result.exit_code == 1 and line.startswith(told)


def test_names_of_outputs_are_no_paths():
    from flambeau.cli.onnx import file_name

    given = {"../../etc/x": "_.._etc_x", "a/b": "a_b", "y": "y", "..": "_", "": "_"}
    assert {name: file_name(name) for name in given} == given

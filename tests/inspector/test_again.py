"""Edits of a kernel into what they give beside the original; a kernel into files of its own."""

import gc
import os
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

import flambeau as fb
from flambeau.errors import FlambeauError
from flambeau.inspector import again, send


def edited(made, *changes):
    text = made.shaders[made.kernels[0].shader].wgsl
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.share(2)
def test_an_edit_runs_beside_the_original(product):
    made, (x, w, b) = product
    begin = time.process_time()  # of this process: others may hold the processor
    same = made.session.run(0, edited(made))
    assert time.process_time() - begin < 5
    assert same.seconds > 0 and same.original > 0 and not same.error
    (out,) = same.outputs
    assert (out.name, out.dtype, out.elements, out.different, out.first) == ("out", "f32", 24 * 32, 0, -1)
    twice = made.session.run(0, edited(made, ("return t3;", "return t3 * 2.0;")))
    wanted = np.maximum(x.numpy() @ w.numpy() + b.numpy(), 0)
    (out,) = twice.outputs
    assert out.different == np.count_nonzero(wanted) and out.first == np.flatnonzero(wanted)[0]
    np.testing.assert_allclose(out.largest, wanted.max(), rtol=1e-5)
    np.testing.assert_allclose(out.relative, 1, rtol=1e-6)
    assert 0 < 2 * float(out.expected) == pytest.approx(float(out.found), rel=1e-6)


SECONDS = {  # of runs by turns, the kernel's own and the edit's: the ratio, and whether it counts as equal
    "noise": ([3, 2, 3, 4, 2.1, 3.2, 2.4, 3.9], [2, 3, 2.2, 3.1, 2.3, 3.4, 2, 3], True),
    "twice": ([2, 2.1, 2, 2.2, 2, 9, 2, 2], [1, 1.1, 1, 1, 7, 1.05, 1, 1], False),
    "slower": ([1, 1.1, 1, 1.1, 1, 1, 1, 1], [1.2, 1.3, 1.2, 1.2, 1.3, 1.2, 1.2, 1.2], False),
    "two of each": ([1.3, 1.3], [1, 1.1], True),
    "two, twice": ([2, 2.1], [1, 1.1], False),
    "a tick of the clock": ([1.02] * 8, [1] * 8, True),
}


@pytest.mark.parametrize("name", SECONDS)
def test_times_within_the_noise_are_equal(name):
    own, mine, is_equal = SECONDS[name]
    (low, high), found = again._ratio(own, mine)
    assert found == is_equal and low <= np.median(own) / np.median(mine) <= high


def test_an_edit_and_its_kernel_take_turns(product, monkeypatch):
    """However long a run takes there are some of each, and an answer within half a second."""
    made, _ = product
    for seconds, runs in ((1e-6, 20), (0.012, 3), (0.03, 3), (0.09, 2), (0.5, 1)):
        taken = []
        monkeypatch.setattr(again, "_seconds", lambda *_: taken.append(seconds) or seconds)  # noqa: B023
        found = made.session.run(0, edited(made))
        assert len(taken) == 2 * (runs + (runs >= 3)), (seconds, len(taken))
        assert found.is_equal and (sum(taken) < 0.4 or seconds > 0.1)


def test_bindings_may_change(product):
    """A buffer as scalars, and buffers in another order: bound by name; one more to write is zeros."""
    made, _ = product
    as_scalars = ("read> in2: array<vec4<f32>>", "read> in2: array<f32>")
    at = ("in2[column / 4u]", "vec4<f32>(in2[column], in2[column + 1u], in2[column + 2u], in2[column + 3u])")
    assert made.session.run(0, edited(made, as_scalars, at)).outputs[0].different == 0
    swapped = edited(
        made, ("binding(1)", "binding(9)"), ("binding(2)", "binding(1)"), ("binding(9)", "binding(2)")
    )
    assert made.session.run(0, swapped).outputs[0].different == 0
    more = "@group(0) @binding(5) var<storage, read_write> notes: array<f32>;\nfn finish"
    noted = edited(made, ("fn finish", more), ("return t3;", "notes[0] = 1.0;\n  return t3;"))
    assert made.session.run(0, noted).outputs[0].different == 0


def line_of(made, what):
    return next(i for i, line in enumerate(edited(made).splitlines(), 1) if what in line)


SAYS = {  # what naga says is wrong; of other errors all
    "syntax": 'expected expression, found ";"',
    "unknown": "no definition in scope for identifier: `tq`",
    "type": "Operation Add can't work with ",
}
WRONG = {  # change, a line that is in the original: what is said begins with
    "syntax": (("let t2 = (acc + t1);", "let t2 = (acc + ;"), "let t2", ""),
    "unknown": (("(acc + t1)", "(acc + tq)"), "let t2", ""),
    "type": (("(acc + t1)", "(acc + 1u)"), "let t2", ""),
    "name": (("in2", "bias"), "bind", "bias: the kernel reads no such buffer: it reads in0, in1, in2"),
    "param": (("  stride1: u32,", "  pace: u32,"), "  stride1", "Params.pace: the kernel does not have it"),
    "gap": (
        ("binding(4)", "binding(6)"),
        "binding(4)",
        "out is bound at 6: bind buffers at 1, 2, ... without gaps",
    ),
    "none": (("read_write> out", "read> out"), "", "no buffer is written: bind a var<storage, read_write>"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_told_on_their_line(product, name):
    made, _ = product
    change, where, says = WRONG[name]
    found = made.session.run(0, edited(made, change))
    wanted = 1 if not where else line_of(made, "in2: array" if where == "bind" else where)
    assert found.line == wanted, found.error
    assert found.error and found.error.startswith(says) and not found.outputs
    assert found.says.startswith(SAYS.get(name, found.error)), found.error


def test_the_line_that_says_what_is_wrong():
    dawn = "Error while parsing WGSL: :24:18 error: unresolved value 'tq'\n  let t2 = (acc + tq);\n"
    assert again.cause_of(dawn) == "unresolved value 'tq'"
    assert again.cause_of("\nDevice lost\nnobody knows why\n") == "Device lost" and again.cause_of("") == ""


TEMPLATE = "contract/registers.wgsl"
BROKEN = {  # what is put behind the head of the template, or changed in it: what is said begins with
    "syntax": ("{% if %}", "TemplateSyntaxError: Expected an expression, got 'end of statement block'"),
    "statement": ("//% if", "TemplateSyntaxError: Expected an expression, got 'end of statement block'"),
    "undefined": ("{{ tile_size }}", "UndefinedError: 'tile_size' is undefined"),
    "arithmetic": ("{{ 1 // 0 }}", "ZeroDivisionError: "),
    "python": ("{{ wgsl.__class__ }}", "SecurityError: access to attribute '__class__' of 'partial'"),
    "macros": ("{{ range(999999999) }}", "OverflowError: Range too big"),
    "WGSL": ("fn broken() -> f32 { return 1u; }", ""),
}


@pytest.mark.share(2)
def test_an_edited_template_runs_beside_the_original(product):
    made, (x, w, b) = product
    own = made.session.templates(0)
    assert next(iter(own)) == TEMPLATE and {"kernel.wgsl", "lib/elementwise.wgsl"} <= set(own)
    same = made.session.run_templates(0, {TEMPLATE: own[TEMPLATE]})
    assert same.wgsl == edited(made) and same.outputs[0].different == 0 and same.seconds > 0
    relu = own["lib/elementwise.wgsl"].replace("{% macro relu(T, x) %}", "{% macro relu(T, x) %}-")
    negative = made.session.run_templates(0, {"lib/elementwise.wgsl": relu})
    wanted = np.maximum(x.numpy() @ w.numpy() + b.numpy(), 0)
    assert negative.outputs[0].different == np.count_nonzero(wanted)
    np.testing.assert_allclose(negative.outputs[0].largest, 2 * wanted.max(), rtol=1e-5)
    assert made.session.run_templates(0, {}).outputs[0].different == 0  # nothing of it is left


@pytest.mark.parametrize("name", BROKEN)
def test_errors_are_told_on_the_line_of_the_template(product, name):
    made, _ = product
    text, says = BROKEN[name]
    lines = made.session.templates(0)[TEMPLATE].splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("//% block")) + 1
    found = made.session.run_templates(0, {TEMPLATE: "\n".join([*lines[:at], text, *lines[at:]])})
    assert (found.file, found.line) == (TEMPLATE, at + 1), found.error
    assert found.error.startswith(says) and found.error and not found.outputs


def test_templates_of_other_kernels(product):
    made, _ = product
    for name in ("sort/bitonic.wgsl", "../pyproject.toml"):
        with pytest.raises(FlambeauError) as e:
            made.session.run_templates(0, {name: ""})
        told = f"inspect: matmul+add+relu: {name!r} is not a template of it: its templates are {TEMPLATE}, "
        assert str(e.value).startswith(told)


def test_templates_as_a_patch(product, tmp_path):
    """A diff that git applies."""
    made, _ = product
    own = made.session.templates(0)
    changed = {name: text.replace("\n", "  //# changed\n", 2) for name, text in list(own.items())[:2]}
    for name in changed:
        path = tmp_path / "wgsl" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(own[name])
    text = send.patch(changed)
    subprocess.run(["git", "apply", "-"], input=text, text=True, cwd=tmp_path, check=True)
    assert {name: (tmp_path / "wgsl" / name).read_text() for name in changed} == changed
    with pytest.raises(FlambeauError) as e:
        send.patch({"mine.wgsl": ""})
    told = "mine.wgsl: is the WGSL of a custom op: change it where the op is declared"
    assert str(e.value) == f"inspect: {told}"


def test_what_can_not_run_again_says_why(gpu):
    with gpu:
        made = fb.inspect(lambda: fb.ones(4).exp(), target="exp")
        small = fb.inspect(lambda x: x.exp(), fb.ones(1024), keep=600)
    with pytest.raises(FlambeauError) as e:
        made.session.run(0, "")
    assert str(e.value).endswith(": its inputs were not kept: inspect with keep=True, or a larger number")
    with pytest.raises(FlambeauError) as e:
        made.session.run(7, "")
    assert str(e.value) == "inspect: kernel 7 does not exist: pass 0"
    with pytest.raises(FlambeauError) as e:
        small.session.run(0, "")
    assert "its inputs were not kept: they take 8,192 bytes, and 600 of 600 were left" in str(e.value)


def test_inputs_go_when_the_inspection_does(gpu):
    with gpu:
        x = fb.ones(256).realize()
        made = fb.inspect(lambda x: x.exp(), x, keep=True)
        there = len(gpu._buffers)
        del made
        gc.collect()
        (x + 1).realize()  # what died comes back when something is taken
    assert len(gpu._buffers) < there


def test_results_are_compared_as_what_they_are():
    half = np.array([1, 2, np.nan], "float16")
    other = np.array([1, 2.5, np.nan], "float16")
    found = again.compare_outputs("out", "f16", half.tobytes(), other.tobytes())
    assert (found.elements, found.different, found.largest, found.first) == (3, 1, 0.5, 1)
    assert (found.relative, found.expected, found.found) == (0.25, "2.0", "2.5")
    ints = np.array([1, -5], "int32")
    assert again.compare_outputs("out", "i32", ints.tobytes(), ints.tobytes()).different == 0
    found = again.compare_outputs("out", "i8", b"\x01\xff\x03\x04", b"\x01\x01\x03\x04")
    assert (found.different, found.largest) == (1, 2.0)
    nan = np.array([np.nan, 1], "float32")
    found = again.compare_outputs("o", "f32", nan.tobytes(), np.zeros(2, "f4").tobytes())
    assert found.largest == np.inf and (found.expected, found.found) == ("nan", "0.0")
    told = again.EditRun(outputs=(found,)).to_dict()["outputs"][0]  # a browser's JSON has no NaN
    assert told["largest"] is None and told["relative"] is None
    zero = again.compare_outputs("o", "f32", np.zeros(2, "f4").tobytes(), np.ones(2, "f4").tobytes())
    assert (zero.largest, zero.relative) == (1, 0)
    turned = [np.array([1j * n], "c8").tobytes() for n in (1, 2)]
    assert again.compare_outputs("o", "c64", *turned).largest == 1


@pytest.mark.share(3)
def test_a_kernel_as_a_script_of_its_own(product, tmp_path):
    """It runs with wgpu alone, and gives what the call gave."""
    made, (x, w, b) = product
    path = tmp_path / "kernel.py"
    path.write_text(send.script(made, 0))
    assert "flambeau" not in path.read_text().replace("Flambeau", "").lower()
    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, env=os.environ, timeout=100)
    assert ran.returncode == 0, ran.stderr
    wanted = (x @ w + b).relu().numpy()
    assert f"out: {wanted.nbytes:,} bytes, crc {zlib.crc32(wanted.tobytes()):08x}" in ran.stdout
    assert " us a run" in ran.stdout


def test_a_kernel_as_a_page_of_its_own(product):
    made, _ = product
    page = send.page(made, 0)
    assert page.count("matmul+add+relu of product") == 2 and "://" not in page
    assert send.RECORDED in page


def test_a_kernel_as_a_custom_op(product):
    """Its text, changed, as an operation: it computes what the edit does."""
    made, (x, w, b) = product
    text = send.custom_op(made, 0, edited(made, ("return t3;", "return t3 * 2.0;")))
    space = {}
    exec(text, space)
    op = space["kernel_matmul_add_relu"]
    with x.device:
        np.testing.assert_array_equal(op(x, w, b).numpy(), 2 * (x @ w + b).relu().numpy())


def test_what_can_not_be_sent(product):
    made, _ = product
    with pytest.raises(FlambeauError) as e:
        send.script(made, 3)
    assert str(e.value) == "inspect: kernel 3 does not exist: pass 0"
    with pytest.raises(FlambeauError) as e:
        send.custom_op(made, 0, edited(made, ("  stride1: u32,", "  stride1: i32,")))
    assert str(e.value) == "inspect: matmul+add+relu: it has i32 Params: a custom op supports u32 and f32"
    several = edited(
        made, ("fn finish", "@group(0) @binding(5) var<storage, read_write> o: array<f32>;\nfn finish")
    )
    with pytest.raises(FlambeauError) as e:
        send.custom_op(made, 0, several)
    told = "it writes several buffers: a custom op writes one"
    assert str(e.value) == f"inspect: matmul+add+relu: {told}"

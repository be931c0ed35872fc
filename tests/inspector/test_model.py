"""Inspections to JSON and to pages, and back; files that are none, in full text; two of them compared."""

import base64
import json
import re
from dataclasses import replace

import pytest

import flambeau as fb
from flambeau.errors import FlambeauError
from flambeau.inspector import KernelRow, ModuleRow, OpRow, ShaderRow, SiteRow, ValueRow, compare, page

BAD = '</script><script>alert(1)</script>"&\u2028'


def inspection(**changes) -> fb.Inspection:
    """One kernel, by hand; its names end elements and strings, if they are let."""
    made = fb.Inspection(
        target=f"step {BAD}",
        device="gpu:made up",
        software=False,
        how="timestamps",
        why="",
        copy=1e9,
        fma=1e9,
        wall=0.5,
        layers=(ModuleRow(f"Net{BAD}", "Net", -1),),
        sites=(SiteRow("train.py", 3, "step", f"y = x.exp()  # {BAD}"),),
        ops=(OpRow("exp", "elementwise", (4,), "f32", (), 0, 0, "exp", -1),),
        places=(SiteRow("map/map.wgsl", 1, "", "fn main() {"),),
        shaders=(
            ShaderRow("map/map.wgsl", "fn main() {\n}\n", ((0,), ()), ("", ""), (64, 1, 1), (), (), {}),
        ),
        kernels=(KernelRow(f"exp{BAD}", 0, (1, 1, 1), 2, 4e-3, 1e-3, 16, 16, 4, (4,), ops=(0,), head=0),),
        values=(ValueRow("exp", "result", 16, 0, 0, 0),),
    )
    return replace(made, **changes)


def test_json_goes_round(tmp_path):
    made = inspection()
    text = made.to_json(tmp_path / "step.json")
    assert (tmp_path / "step.json").read_text("utf-8") == text
    assert fb.Inspection.from_json(text) == fb.Inspection.from_json(tmp_path / "step.json") == made
    assert json.loads(text)["version"] == 2
    assert (made.gpu, made.bound(made.kernels[0]), made.live()) == (4e-3, 32e-9, [16])


def test_a_trace(tmp_path):
    """Each kernel once, with the time of a run, and where it is from; memory beside it."""
    inspection().chrome_trace(tmp_path / "trace.json")
    found = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    _, span, memory = found
    assert (span["ph"], span["ts"], span["dur"]) == ("X", 0.0, 2e3)
    assert span["args"]["runs"] == 2 and span["args"]["line"] == "train.py:3 exp"
    assert (memory["ph"], memory["args"]) == ("C", {"bytes": 16})


def test_the_page_holds_all_of_it_and_nothing_of_it_is_html(tmp_path):
    made = inspection()
    text = made.html(tmp_path / "step.html")
    letters = re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', text)
    assert page.unpack(letters[1]) == json.loads(made.to_json())
    assert "alert(1)" not in text.replace("&lt;script&gt;alert(1)&lt;/script&gt;", "")
    assert text.count("</script>") == 3 and not re.search(r"(src|href)=|https?://|@import|url\(", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    digest = re.search(r"script-src 'sha256-([^']*)'", policy)[1]
    script = text[text.rindex("<script>") + 8 : text.rindex("</script>")]
    assert base64.b64encode(__import__("hashlib").sha256(script.encode()).digest()).decode() == digest
    assert policy.startswith("default-src 'none'") and "connect-src 'none'" in policy


def test_a_notebook_shows_a_frame_that_can_do_nothing_around_it():
    frame = inspection()._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" style=') and frame.endswith('"></iframe>')
    assert frame.count("<") == 2 and frame.count('"') == 6


def changed(**fields):
    return json.dumps(inspection().to_dict() | fields)


def with_kernel(**fields):
    data = inspection().to_dict()
    data["kernels"][0] |= fields
    return json.dumps(data)


def with_value(**fields):
    data = inspection().to_dict()
    data["values"][0] |= fields
    return json.dumps(data)


CIRCLE = {"name": "a", "kind": "", "parent": 0}
FILES = {  # of a file, what is said after its name
    "no JSON": ("{", "is not JSON (Expecting property name enclosed in double quotes: line 1 column 2"),
    "deep": ("[" * 100_000, "is not JSON ("),
    "another": ("[1]", "is not an inspection: name a file of --json"),
    "no format": ("{}", "is not an inspection: name a file of --json"),
    "version": (
        changed(version=1),
        "has format version 1, and this Flambeau reads 2: inspect again, or read it with the one"
        " that wrote it",
    ),
    "field": (changed(hidden=1), "damaged: hidden: no field of that name"),
    "type": (changed(wall="long"), "damaged: wall: takes float: got 'long'"),
    "missing": (
        json.dumps({k: v for k, v in inspection().to_dict().items() if k != "device"}),
        "damaged: device: it has no default: pass str",
    ),
    "op": (with_kernel(head=4), "damaged: kernels[0].head: ops[4] does not exist"),
    "value": (with_kernel(inputs=[9]), "damaged: kernels[0].inputs: values[9] does not exist"),
    "step": (with_kernel(steps={"a.t0": -2}), "damaged: kernels[0].steps: ops[-2] does not exist"),
    "NaN": (changed(wall=float("nan")), "is not JSON (NaN is not a number): name a file of --json"),
    "infinite": (changed().replace("0.5", "1e999"), ("is not JSON (1e999 is not a number):"
        " name a file of --json")),
    "kind": (with_value(kind="gone"), "damaged: values[0].kind: takes leaf | result | temporary: got 'gone'"),
    "nested": (with_kernel(grid=[1, "2"]), "damaged: kernels[0].grid[1]: takes int: got '2'"),
    "pair": (with_value(nbytes=True), "damaged: values[0].nbytes: takes int: got True"),
    "lifetime": (with_value(begin=-1), "damaged: values[0]: it ends before it begins"),
    "circle": (changed(layers=[CIRCLE]), "damaged: layers[0].parent: it must come before the layer"),
    "no text": (with_kernel(shader=-1), "damaged: kernels[0].shader: it is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none(name, tmp_path):
    text, told = FILES[name]
    path = tmp_path / "step.json"
    path.write_text(text)
    with pytest.raises(FlambeauError) as e:
        fb.Inspection.from_json(path)
    assert str(e.value).startswith(f"inspect: {path}: {told}")


def test_terminals_get_no_orders():
    text = inspection(target="\x1b]0;title\x07step").text()
    assert text.startswith("?]0;title?step on gpu:made up") and "\x1b" not in text


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FlambeauError) as e:
        fb.Inspection.from_json(tmp_path / "none.json")
    told = "No such file or directory: name a file of --json"
    assert str(e.value) == f"inspect: {tmp_path / 'none.json'}: {told}"
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(FlambeauError, match="is not UTF-8: name a file of --json"):
        fb.Inspection.from_json(tmp_path / "bytes")


def test_two_are_compared():
    """Kernels gained, lost, slower and as fast, with the time of a run; a time within a tenth is the same."""

    def kernel(name, seconds, runs=1):
        return replace(inspection().kernels[0], name=name, seconds=seconds, runs=runs)

    before = inspection(kernels=(kernel("a", 1e-3), kernel("b", 2e-3), kernel("c", 1e-3), kernel("e", 1e-3)))
    after = inspection(
        kernels=(kernel("a", 6e-3, 2), kernel("c", 1.05e-3), kernel("d", 5e-3), kernel("e", 5e-4))
    )
    found = {c.name: c.what for c in compare.compare(before, after)}
    assert found == {"a": "slower", "b": "lost", "c": "same", "d": "gained", "e": "faster"}
    text = compare.text(before, after)
    assert text.splitlines()[2] == "1 gained, 1 slower, 1 lost, 1 faster" and "\u2028" not in text
    table = [re.findall("(gained|slower|lost|faster)", line) for line in text.splitlines()[5:]]
    assert table == [["gained"], ["slower"], ["lost"], ["faster"]]
    assert compare.text(before, before).endswith("no kernel is gained, lost, slower or faster")

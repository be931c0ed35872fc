"""Rows of the op table inside the page: the same Python, another compiler, the reference's numbers."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from rows import ROWS, SOURCE
from test_ops import arrays, check, host

import flambeau as fb
from flambeau.dtype import SHORT
from flambeau.host import to_numpy

TESTS = Path(__file__).parents[1]
CODES = {"f4": "f", "i4": "i", "u4": "I", "b1": "?"}
PLAIN = [name for name in ROWS if name not in SOURCE]


def table_files() -> dict[str, str]:
    """The op table's own files, by their place beside the page's modules."""
    paths = [*TESTS.glob("rows*.py"), *TESTS.glob("rows/*.py"), TESTS / "references.py"]
    return {path.relative_to(TESTS).as_posix(): path.read_text("utf-8") for path in paths}


def sent(array):
    return [array.shape, CODES[array.dtype.str[1:]], base64.b64encode(array.tobytes()).decode()]


@pytest.fixture(scope="module")
def given():
    rng = np.random.default_rng(1)
    return {name: arrays(ROWS[name], rng) for name in PLAIN}


@pytest.fixture(scope="module")
def page(python):
    """The page with the table in it."""
    for name, text in table_files().items():
        python.install(name, text)
    python.install("in_page.py", Path(__file__).with_name("in_page.py").read_text("utf-8"))
    return python


def in_page(page, names, given, packed=None) -> dict:
    """What the page makes of rows, in one call."""
    cases = [[name, [sent(a) for a in given[name]], packed] for name in names]
    return dict(zip(names, json.loads(page.call("in_page.compute", json.dumps(cases))), strict=True))


@pytest.fixture(scope="module")
def computed(page, given):
    return in_page(page, PLAIN, given)


def value(found):
    assert isinstance(found, list), found
    short, shape, text = found
    return to_numpy(base64.b64decode(text), tuple(shape), SHORT[short])


def test_there_are_rows_enough(computed):
    assert len(computed) >= 150


@pytest.mark.parametrize("name", PLAIN)
def test_row_in_the_page(name, given, computed):
    want = np.asarray(ROWS[name].expected(*map(host, given[name])))
    check(value(computed[name]), want, ROWS[name].tol, name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_packed_rows_in_the_page(dtype, page, given):
    """16-bit floats, packed, unpacked and rounded by the browser's compiler: a dozen kinds of kernel."""
    names = [
        "exp",
        "add",
        "where",
        "gelu",
        "_sum",
        "amax",
        "softmax",
        "matmul",
        "conv2d",
        "gather",
        "cat",
        "pad",
    ]
    found = in_page(page, names, given, dtype)
    for name in names:
        exact = [fb.tensor(a, dtype if a.dtype.kind == "f" else None, "cpu").numpy() for a in given[name]]
        want = np.asarray(ROWS[name].expected(*map(host, exact)))
        assert found[name][0] == fb.promote_types(dtype, dtype).short
        check(value(found[name]), want, 8 * fb.finfo(dtype).eps, f"{name} of {dtype}")


DRAWN = """
import flambeau as fb
fb.manual_seed(7)
list(await fb.read(fb.rand(1000), fb.randint(-5, 1000, size=(1000,)), fb.randn(20_000)))
"""


def test_random_numbers_are_the_desktops(python, device):
    fb.manual_seed(7)
    here = [
        fb.rand(1000, device=device),
        fb.randint(-5, 1000, size=(1000,), device=device),
        fb.randn(20_000, device=device),
    ]
    (uniform, integers, normal), there = [t.numpy() for t in here], python.run(DRAWN)
    assert np.array_equal(np.array(there[0], "f4"), uniform)
    assert there[1] == integers.tolist()
    check(
        np.array(there[2], "f4"), normal.astype("f8"), 1e-6, "randn"
    )  # devices round log and cos differently

"""Rows of the op table inside the page: the same Python, another compiler, the reference's numbers."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.compare import check
from helpers.draws import in_turn
from helpers.inputs import arrays, host
from helpers.paths import TESTS
from rows import ROWS, SOURCE

import flambeau as fb
from flambeau.core.dtype import SHORT
from flambeau.core.host import to_numpy

CODES = {"f4": "f", "i4": "i", "u4": "I", "b1": "?"}
# computed by NumPy, which a page need not have
HOSTS = (
    *("_eig", "linalg_eig", "linalg_eigvals"),
    *(name for name in ROWS if name.startswith("linalg_ldl") or name.endswith("_on_host")),
)
PLAIN = in_turn([name for name in ROWS if name not in (*SOURCE, *HOSTS)], runs=32)


def table_files() -> dict[str, str]:
    """The op table's own files, by their place beside the page's modules."""
    paths = [*TESTS.glob("references/*.py"), *TESTS.glob("rows/*.py")]
    return {path.relative_to(TESTS).as_posix(): path.read_text("utf-8") for path in paths}


def sent(array):
    return [array.shape, CODES[array.dtype.str[1:]], base64.b64encode(array.tobytes()).decode()]


@pytest.fixture(scope="module")
def page(python):
    """The page with the table in it."""
    for path, text in table_files().items():
        python.install(path, text)
    python.install("in_page.py", Path(__file__).with_name("in_page.py").read_text("utf-8"))
    return python


def in_page(page, given, packed=None) -> dict:
    """What the page makes of rows, in one call."""
    cases = [[name, [sent(a) for a in inputs], packed] for name, inputs in given.items()]
    return dict(zip(given, json.loads(page.call("in_page.compute", json.dumps(cases))), strict=True))


def wrong(name, given, found, tol) -> str:
    """What differs from the reference, or nothing."""
    if not isinstance(found, list):
        return found
    short, shape, text = found
    try:
        got = to_numpy(base64.b64decode(text), tuple(shape), SHORT[short])
        check(got, np.asarray(ROWS[name].expected(*map(host, given))), tol, name)
    except AssertionError as e:
        return str(e)
    return ""


def test_rows_give_the_reference_in_the_page(page):
    given = {name: arrays(ROWS[name], np.random.default_rng(1)) for name in PLAIN}
    found = in_page(page, given)
    told = {name: wrong(name, given[name], f, ROWS[name].tol) for name, f in found.items()}
    assert len(told) >= 15
    assert not {name: text for name, text in told.items() if text}


PACKED = [
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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_packed_rows_in_the_page(dtype, page):
    """16-bit floats, packed, unpacked and rounded by the browser's compiler: a dozen kinds of kernel."""
    rng = np.random.default_rng(1)
    given = {name: arrays(ROWS[name], rng) for name in PACKED}
    found = in_page(page, given, dtype)
    for name in PACKED:
        exact = [fb.tensor(a, dtype if a.dtype.kind == "f" else None, "cpu").numpy() for a in given[name]]
        assert found[name][0] == getattr(fb, dtype).short
        assert not wrong(name, exact, found[name], 8 * fb.finfo(dtype).eps)


DRAWN = """
import flambeau as fb
fb.manual_seed(7)
list(await fb.read(fb.rand(1000), fb.randint(-5, 1000, size=(1000,)), fb.randn(20_000)))
"""


def test_random_numbers_are_the_desktops(python, gpu):
    """Both devices in one test: pytest puts tests of each apart, and a page of its own boots for them."""
    there = python.run(DRAWN)
    for device in (gpu, "cpu"):
        fb.manual_seed(7)
        made = fb.rand(1000, device=device), fb.randint(-5, 1000, size=(1000,), device=device)
        uniform, integers, normal = (t.numpy() for t in (*made, fb.randn(20_000, device=device)))
        assert np.array_equal(np.array(there[0], "f4"), uniform)
        assert there[1] == integers.tolist()
        # devices round log and cos differently
        check(np.array(there[2], "f4"), normal.astype("f8"), 1e-6, "randn")

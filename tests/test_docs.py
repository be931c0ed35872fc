"""docs/coverage.md and docs/reference.md are current and complete."""

import re

import numpy as np
import pytest
from helpers.expressions import arrays
from helpers.paths import ROOT
from helpers.scripts import script

import flambeau as fb

docs = script("write_docs")
BURN = [(name, text) for table in docs.NAMES["burn"].values() for name, text in table.items()]


@pytest.mark.parametrize("page", docs.PAGES)
def test_page_is_current(page):
    written = (ROOT / page).read_text(encoding="utf-8")
    assert written == docs.PAGES[page](), f"{page} is not current: run `{docs.COMMAND}`"


def test_there_are_enough_operations():
    names = docs.public()
    assert len(names) >= 500
    assert sum(docs.ROWS[name].grads == 2 for name in names) >= 300


@pytest.mark.parametrize("name, text", BURN, ids=[name for name, _ in BURN])
def test_burn_has_an_expression(name, text):
    with fb.device("cpu"):
        tensors = {key: fb.tensor(a) for key, a in arrays().items()}
        result = eval(text, {"m": fb, "F": fb.nn.functional, **tensors})
    for y in result if isinstance(result, tuple | list) else [result]:
        if isinstance(y, fb.Tensor):
            y.numpy()


def test_numpy_has_the_names():
    """The installed NumPy has each name, except those that are new in NumPy 2.0 to 2.2."""
    new = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_left_shift",
             "bitwise_right_shift", "concat", "pow", "matvec", "trapezoid", "unstack",
             "linalg.matmul", "linalg.matrix_norm", "linalg.svdvals", "linalg.vecdot",
             "linalg.vector_norm"}  # fmt: skip
    for name in docs.numpy_names().values():
        for path in name.split(", "):
            value = np
            for part in path.split("."):
                value = getattr(value, part, None)
            assert value is not None or path in new, path


def test_tables_are_of_operations():
    """A row of names.toml for an operation that does not exist fails."""
    known = {*docs.public(), *docs.functions.__all__}
    assert not set(docs.NAMES["torch"]) - known
    aliases = {n for _, spaces in docs.public().values() for names in spaces.values() for n in names}
    assert not set(docs.numpy_names()) - known - aliases


def test_torch_has_the_names(torch):
    spaces, missing = (torch, torch.Tensor, torch.nn.functional, torch.special), []
    for name in docs.public():
        if name in docs.NAMES["torch"] or name.startswith("signal_"):
            continue
        *path, last = docs.title(name).split(".")
        owners = spaces if not path else [getattr(torch, path[0])]
        missing += [] if any(hasattr(owner, last) for owner in owners) else [name]
    assert not missing


def test_every_operation_says_what_it_does():
    mute = [name for name, (entry, _) in docs.public().items() if not docs.first_sentence(entry)]
    assert not mute


def test_every_variable_is_listed():
    sources = (p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    assert {v for text in sources for v in re.findall(r"FLAMBEAU_[A-Z]+", text)} == set(docs.VARIABLES)


def test_recipes_name_what_their_files_define():
    """`NAME` (`file.py`) in docs/contributing.md: a module of that name has a line that begins with it."""
    named = re.findall(
        r"`(\w+)` \(`([\w/]+\.py)`\)", (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    )
    assert named
    paths = [p for folder in ("src", "tests") for p in (ROOT / folder).rglob("*.py")]
    for name, file in named:
        modules = [p for p in paths if p.as_posix().endswith(f"/{file}")]
        texts = [p.read_text(encoding="utf-8") for p in modules]
        assert any(re.search(rf"^(def |class )?{name}\b", text, re.MULTILINE) for text in texts), (name, file)


@pytest.mark.parametrize("folder", ["docs", "docs/internals"])
def test_the_index_links_all_pages(folder):
    index = (ROOT / folder / "index.md").read_text(encoding="utf-8")
    pages = sorted(p.name for p in (ROOT / folder).glob("*.md") if p.name != "index.md")
    assert not [page for page in pages if f"]({page})" not in index]

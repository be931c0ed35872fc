"""The inspector's pages of the docs: small, readable, and of the page's parts as they are now."""

import re

import pytest
from helpers.paths import ROOT
from helpers.scripts import script

from flambeau.inspector.page import html

write = script("write_inspections")
DATA = r'(id="data">)[A-Za-z0-9+/=]*'


@pytest.mark.parametrize("name", write.CALLS)
def test_a_page_is_current(name):
    """All of it but its data, which other versions of zlib pack otherwise."""
    path = ROOT / "docs" / "inspect" / f"{name}.html"
    made, text = write.held(path), path.read_text("utf-8")
    assert len(text) < write.MOST and made.target == write.CALLS[name][0]
    assert made.kernels and made.layers and {"first", "later"} == {call.which for call in made.calls}
    stale = "is not current: run `python scripts/write_inspections.py --pages`"
    assert re.sub(DATA, r"\1", text) == re.sub(DATA, r"\1", html(made)), f"{path.name} {stale}"


def test_no_page_is_left_over():
    assert {p.stem for p in (ROOT / "docs" / "inspect").iterdir()} == set(write.CALLS)

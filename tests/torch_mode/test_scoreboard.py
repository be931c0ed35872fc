"""Models of libraries on flambeau.torch beside the real torch, and the page of them."""

import pytest
from helpers import scoreboard, timm_cases
from helpers.draws import in_turn
from helpers.library_cases import CASES
from helpers.scripts import script

libraries = script("write_libraries")


def test_page_is_current():
    results, facts = libraries.read()
    assert list(results) == list(CASES), f"run `{libraries.COMMAND}`"
    assert libraries.PAGE.read_text(encoding="utf-8") == libraries.page(results, facts), (
        f"docs/libraries.md is not current: run `{libraries.COMMAND} --page`"
    )
    assert len(results) >= 60 and len({name.partition("/")[0] for name in results}) >= 10


@pytest.mark.share(1)
def test_models_of_libraries(torch, tmp_path):
    """A tenth of the models in each run: what passed when the page was written still passes."""
    assert torch
    names = in_turn(list(CASES), 10)
    theirs = scoreboard.run("torch", tmp_path, names)
    ours = scoreboard.run("flambeau", tmp_path, names)
    known, _ = libraries.read()
    for name in names:
        row = scoreboard.compare(name, tmp_path, theirs[name], ours[name])
        missing = [p for p in scoreboard.PASSES if known[name][p] and not row[p]]
        assert not missing, f"{name}: {missing}: {row['why']}"


@pytest.mark.share(1)
def test_models_of_timm_by_name(torch, tmp_path):
    """Some names in each run: what passed when the file was written still passes."""
    assert torch
    rows = timm_cases.rows()
    for name in in_turn(list(rows), 50):
        row = libraries.run_names([name], rows[name]["mode"], tmp_path)[name]
        assert rows[name]["passes"] != "all" or all(row[p] for p in scoreboard.PASSES), (
            f"{name}: {row['why']}"
        )

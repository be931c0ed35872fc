"""All of torch's public names: here, here under another name, or why not (flambeau/porting/torch_names)."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import names_of_torch as names

import flambeau as fb

HERE = Path(__file__).parent
TABLES = names.tables()


@pytest.mark.parametrize("table", TABLES)
def test_every_name_is_answered(table):
    found = names.answers(TABLES[table])
    assert not found.unanswered, f"porting/torch_names/{table}.toml says of each where it is, or why not"


@pytest.mark.parametrize("table", TABLES)
def test_nearly_all_are_here(table):
    found = names.answers(TABLES[table])
    assert found.share >= names.LEAST, f"{found.share:.1%} are here: {sorted(found.absent)} are not"


@pytest.mark.parametrize("table", TABLES)
def test_no_entry_is_needless(table):
    assert not names.needless(TABLES[table])


@pytest.mark.parametrize("table", TABLES)
def test_other_names_are_there(table):
    for expression in names.answers(TABLES[table]).elsewhere.values():
        eval(expression, {"fb": fb, "x": fb.ones(2, 2, device="cpu")})


@pytest.mark.parametrize("table", TABLES)
def test_reasons_are_sentences(table):
    found = names.answers(TABLES[table])
    said = [*found.absent.values(), *found.excluded.values()]
    assert not [s for s in said if len(s.split()) < 3 or s[-1] == "." or s[0] == " "]


def test_what_is_missing_is_seen():
    """A namespace that is nowhere, and a reason for a name that is here."""
    space = "torch.signal.windows"
    said = {"spaces": {space: "nowhere"}, "excluded": [{"why": "a b c", "names": [r"\w+\.no", r".*\.hann"]}]}
    lost = names.table("lost", said)
    assert f"{space}.cosine" in names.answers(lost).unanswered and names.answers(lost).share == 0
    assert f"{space}.hann" in names.answers(lost).excluded and names.needless(lost) == [r"\w+\.no"]
    here = names.table("here", {"spaces": {space: "signal.windows"}, "absent": {space: {"hann": "a b c"}}})
    assert f"{space}.hann" in names.answers(here).here and names.needless(here) == [f"{space}.hann"]


def test_the_list_is_torchs(torch):
    """Made anew by `from helpers.names_of_torch import write; write(torch)`, PYTHONPATH=src:tests."""
    assert torch.__version__.startswith(names.VERSION.split()[1])
    # in a process of its own: other libraries, as transformers, add methods to torch's classes
    call = "import json, torch; from helpers import names_of_torch as n; print(json.dumps(n.of_torch(torch)))"
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", call], capture_output=True, text=True, cwd=HERE
    )
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout) == names.listed()

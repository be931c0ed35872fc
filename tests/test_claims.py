"""Turns the public lists and docs/coverage.md into what they claim: all operations, under torch's names."""

import re
import textwrap
from pathlib import Path

import pytest
from helpers.scripts import script

from flambeau.core.op import COMPOSED, OPS

docs = script("write_docs")

LIST = Path(__file__).parent / "torch_names.txt"
SPACES = ("torch", "Tensor", "nn.functional", "special", "linalg", "fft", "signal.windows")
# Composed ops that are no user's to call: what calls them. Any other belongs in its module's FUNCTIONS, NN or
# SPECIAL, or into a family.
PARTS = {
    "adaptive_max": "adaptive_max_pool1d to 3d",
    "adaptive_sum": "adaptive_avg_pool1d to 3d",
    "conv": "conv1d to 3d and conv_transpose1d to 3d",
    "conv_transpose": "conv_transpose1d to 3d",
    "max_pool": "max_pool1d to 3d",
    "resize": "interpolate",
    "window_sum": "avg_pool1d to 3d and lp_pool1d to 3d",
}
SOURCES = {"buffer", "constant", "iota"}  # nodes without inputs, which the graph makes itself
# claims about what is not one of torch's functions
WORDS = re.compile(r"\w+ of complex|x\[key\] = value|torchvision\.\S+|distributions\.\S+")


def names() -> dict[str, set[str]]:
    """torch's public names by namespace, as torch_names.txt keeps them."""
    found: dict[str, set[str]] = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and line[0] != "#":
            space, _, rest = line.partition(": ")
            found.setdefault(space, set()).update(rest.split())
    return found


NAMES = names()


def has(path: str, spaces: tuple[str, ...]) -> bool:
    return any(path in NAMES[space] for space in spaces)


def claimed(name: str) -> str:
    return docs.NAMES["torch"].get(name, docs.title(name))


def is_true(claim: str) -> bool:
    """Whether torch has what coverage.md says, `inv`, `linalg.inv` or `Tensor.to`."""
    space, _, last = claim.rpartition(".")
    return has(last, (space,)) if space in NAMES else not space and has(last, SPACES)


def left_out() -> list[str]:
    """Entries of the op table that no namespace has and that are no part of others."""
    entries = {name for name in {*OPS, *COMPOSED} if name[0] != "_"}
    return sorted(entries - set(docs.public()) - SOURCES - PARTS.keys())


def test_no_operation_is_left_out():
    assert not left_out(), "name these in functions.py, or in the namespace that they are of"
    assert not PARTS.keys() & docs.public().keys()


def test_what_is_left_out_is_seen(monkeypatch):
    monkeypatch.setitem(COMPOSED, "forgotten", COMPOSED["softmax"])
    assert left_out() == ["forgotten"]


def test_coverage_claims_what_torch_has():
    claims = {name: claimed(name) for name in docs.public()}
    wrong = {n: c for n, c in claims.items() if c and not WORDS.fullmatch(c) and not is_true(c)}
    assert not wrong, "scripts/names.toml says what torch calls these, or that it has none"


def test_coverage_denies_what_torch_lacks():
    denied = [name for name in docs.public() if not claimed(name)]
    assert denied and not [name for name in denied if is_true(docs.title(name))]


def of_torch(torch) -> dict[str, set[str]]:
    """The public functions of each namespace of the torch that is installed."""
    found = {}
    for space in SPACES:
        owner = torch
        for part in space.split(".") if space != "torch" else []:
            owner = getattr(owner, part)
        found[space] = {n for n in dir(owner) if n[0].islower() and callable(getattr(owner, n, None))}
    return found


def as_lines(found: dict[str, set[str]]) -> str:
    """torch_names.txt of these names."""
    lines = [
        f"# torch's public functions by namespace; tests/test_claims.py says how it is made again ({VERSION})"
    ]
    for space, of_space in found.items():
        rows = textwrap.wrap(" ".join(sorted(of_space)), 100, break_on_hyphens=False)
        lines += ["", *(f"{space}: {row}" for row in rows)]
    return "\n".join(lines) + "\n"


VERSION = "torch 2.13.0"


def test_the_list_is_torchs(torch):
    """Made anew by: PYTHONPATH=tests python -c "import torch, test_claims as t; t.write(torch)"."""
    assert torch.__version__.startswith(VERSION.split()[1])
    assert of_torch(torch) == NAMES


def write(torch) -> None:
    LIST.write_text(as_lines(of_torch(torch)), encoding="utf-8")


@pytest.mark.parametrize("claim", ["sofmax", "linalg.softmax", "Tensor.nowhere", "numpy.exp"])
def test_a_wrong_claim_is_seen(claim):
    assert not is_true(claim)
    assert is_true("softmax") and is_true("linalg.inv") and is_true("Tensor.to")

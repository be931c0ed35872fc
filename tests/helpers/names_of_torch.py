"""Turns names_of_torch.txt and the tables of torch_names/ into what of torch is here, and why not.

The tables lie in src/flambeau/porting, which tells users of them.

A table (TOML) answers for the namespaces that it names:

    [spaces]                      # torch's, and ours: "" is flambeau itself, "Tensor" its class
    dir = ["torch.linalg"]        # those whose __all__ leaves public names out
    "torch.linalg" = "linalg"

    [[excluded]]                  # a class of names that are no part of such a framework: few, with a reason
    why = "storages are torch's own memory"
    names = ['torch\\.\\w*Storage']     # patterns of whole names, with the namespace

    [elsewhere."torch.linalg"]    # here under another name: an expression that a user writes
    lu_factor_ex = "fb.linalg.lu_factor"

    [absent."torch.linalg"]       # not here: why, or what to do
    ldl_factor = "no kernel for symmetric indefinite matrices: use lu_factor"

A name in no part of a table must be in our namespace. Names here or elsewhere are at least `LEAST` of all
that are not excluded, table by table. A new namespace: a line of `spaces`, then the list is made anew as
tests/test_torch_table.py says.
"""

import re
import textwrap
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import flambeau as fb
from helpers.paths import ROOT, TESTS

LEAST = 0.95
LIST = TESTS / "names_of_torch.txt"
VERSION = "torch 2.13.0"


@dataclass
class Table:
    """A file of torch_names/."""

    name: str
    spaces: dict[str, str]
    read_dir: list[str]
    excluded: list[tuple[str, list[str]]]
    elsewhere: dict[str, dict[str, str]]
    absent: dict[str, dict[str, str]]


@dataclass
class Answers:
    """What became of a table's names, each as `torch.linalg.inv`."""

    here: list[str] = field(default_factory=list)
    elsewhere: dict[str, str] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    excluded: dict[str, str] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        found = len(self.here) + len(self.elsewhere)
        return found / max(1, found + len(self.absent) + len(self.unanswered))


@cache
def tables() -> dict[str, Table]:
    files = sorted((ROOT / "src" / "flambeau" / "porting" / "torch_names").glob("*.toml"))
    return {f.stem: table(f.stem, tomllib.loads(f.read_text(encoding="utf-8"))) for f in files}


def table(name: str, said: dict[str, Any]) -> Table:
    spaces = dict(said["spaces"])
    read_dir = spaces.pop("dir", [])
    excluded = [(e["why"], e["names"]) for e in said.get("excluded", [])]
    return Table(name, spaces, read_dir, excluded, said.get("elsewhere", {}), said.get("absent", {}))


@cache
def listed() -> dict[str, list[str]]:
    """torch's public names by namespace, as names_of_torch.txt keeps them."""
    found: dict[str, list[str]] = {}
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line and line[0] != "#":
            space, _, rest = line.partition(": ")
            found.setdefault(space, []).extend(rest.split())
    return found


def answers(table: Table) -> Answers:
    """Every name of a table's namespaces in one of five lists."""
    found = Answers()
    for space, ours in table.spaces.items():
        owner = resolve(ours)
        for name in listed().get(space, ()):
            _answer(table, space, name, owner, found)
    return found


def _answer(table: Table, space: str, name: str, owner: Any, found: Answers) -> None:
    full = f"{space}.{name}"
    why = next(
        (why for why, patterns in table.excluded if any(re.fullmatch(p, full) for p in patterns)), None
    )
    other = table.elsewhere.get(space, {}).get(name)
    absent = table.absent.get(space, {}).get(name)
    if hasattr(owner, name):
        found.here.append(full)
    elif other is not None:
        found.elsewhere[full] = other
    elif absent is not None:
        found.absent[full] = absent
    elif why is not None:
        found.excluded[full] = why
    else:
        found.unanswered.append(full)


def needless(table: Table) -> list[str]:
    """Entries that say nothing: of names that are here, or that torch has not, or patterns that fit none."""
    found, names = answers(table), listed()
    used = {**found.elsewhere, **found.absent}
    said = [f"{s}.{n}" for part in (table.elsewhere, table.absent) for s, of in part.items() for n in of]
    every = [f"{s}.{n}" for s in table.spaces for n in names.get(s, ())]
    patterns = [p for _, found in table.excluded for p in found]
    return [n for n in said if n not in used] + [
        p for p in patterns if not any(re.fullmatch(p, n) for n in every)
    ]


def resolve(path: str) -> Any:
    """`nn.functional` as ours; None where there is no such namespace."""
    owner: Any = fb
    for part in filter(None, path.split(".")):
        owner = getattr(owner, part, None)
    return owner


# --- the list, made anew from the torch that is installed ---


def of_torch(torch: Any) -> dict[str, list[str]]:
    """The public names of each namespace that a table answers for."""
    read_dir = {s for t in tables().values() for s in t.read_dir}
    spaces = sorted({s for t in tables().values() for s in t.spaces})
    return {space: public(space, space in read_dir) for space in spaces}


def public(space: str, read_dir: bool) -> list[str]:
    owner = _owner(space)
    names = getattr(owner, "__all__", None)
    if isinstance(owner, type):
        return sorted(n for n in dir(owner) if n[0] != "_")
    if names is not None and not read_dir:
        return sorted(n for n in set(names) if not isinstance(getattr(owner, n), ModuleType))
    return sorted(n for n in dir(owner) if n[0] != "_" and _is_own(getattr(owner, n)))


def _is_own(value: Any) -> bool:
    home = getattr(value, "__module__", None) or "torch"
    return not isinstance(value, ModuleType) and home.startswith(("torch", "_"))


def _owner(space: str) -> Any:
    try:
        return import_module(space)
    except ModuleNotFoundError:  # a class
        module, _, name = space.rpartition(".")
        return getattr(import_module(module), name)


def as_lines(found: dict[str, list[str]]) -> str:
    """names_of_torch.txt of these names."""
    lines = [
        f"# torch's public names by namespace; tests/test_torch_table.py says how it is made anew ({VERSION})"
    ]
    for space, of_space in found.items():
        rows = textwrap.wrap(" ".join(of_space), 100, break_on_hyphens=False)
        lines += ["", *(f"{space}: {row}" for row in rows)]
    return "\n".join(lines) + "\n"


def write(torch: Any) -> None:
    LIST.write_text(as_lines(of_torch(torch)), encoding="utf-8")

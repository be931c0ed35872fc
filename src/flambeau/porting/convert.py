"""Applies all rules to the text of a script."""

import ast
from dataclasses import dataclass

from .calls import calls
from .edits import Change, Edit, Script
from .gradients import Left, gradients
from .imports import imports
from .missing import missing_names
from .names import TorchNames

NUMBERS = "a seed gives different numbers than in torch: to compare runs, load the same weights and data"


@dataclass(frozen=True)
class Converted:
    """The new text, its changed lines, the changes left to the user, and notes."""

    text: str
    lines: int  # nonempty lines of the original script
    changes: list[Change]
    left: list[Left]
    notes: list[str]


def convert(text: str, name: str = "<script>") -> Converted:
    """Convert a script: its text with all edits, and the remaining changes. ValueError for invalid Python."""
    try:
        source = Script(text, name)
    except SyntaxError as e:
        raise ValueError(
            f"port({name!r}): line {e.lineno}: {e.msg}: it must be a script of Python 3"
        ) from None
    names, lines = TorchNames(source.tree), sum(bool(line.strip()) for line in text.splitlines())
    if not names.known:
        return Converted(text, lines, [], [], ["it does not import torch: nothing to change"])
    findings = [
        *imports(source),
        *gradients(source, names),
        *calls(source, names),
        *missing_names(source, names),
    ]
    # A set: several rules may report the same line.
    left = sorted({f for f in findings if isinstance(f, Left)}, key=lambda f: (f.line, f.what))
    new, changes = source.apply([f for f in findings if isinstance(f, Edit)])
    return Converted(new, lines, changes, left, [NUMBERS] * _draws(source, names))


def _draws(source: Script, names: TorchNames) -> bool:
    """Whether a script seeds torch's random numbers."""
    paths = (names.path(n) for n in ast.walk(source.tree) if isinstance(n, ast.Attribute))
    return any(p in ("torch.manual_seed", "torch.Generator") for p in paths)

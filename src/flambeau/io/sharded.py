"""Reads the files of an index, as large models have, as named tensors; all must be in the index's folder."""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.tree import is_dict
from ..tensor import Tensor
from .elements import DamagedFile, LoadOptions, shorten_name
from .sources import open_source

LONGEST = 1 << 25  # bytes of an index


@dataclass(frozen=True)
class Index:
    """The names of tensors by file, and the folder."""

    files: dict[str, list[str]]
    folder: Path
    # folders that links may resolve to: caches store files elsewhere, as they do with the index itself
    real: tuple[Path, ...]


def index_of(view: memoryview, f: Any) -> Index | None:
    """Parse bytes as an index; None if they are not one, DamagedFile if it is invalid."""
    # Hugging Face's index: {"metadata": ..., "weight_map": {tensor: file}}
    if bytes(view[:1]) != b"{":
        return None
    try:
        parsed = json.loads(str(view[:LONGEST], "utf-8"))
    except (ValueError, RecursionError):
        raise DamagedFile("its index is not JSON") from None
    names = parsed.get("weight_map") if is_dict(parsed) else None
    if not is_dict(names) or not all(isinstance(v, str) for v in names.values()):
        raise DamagedFile("its index has no weight_map of names and files")
    if not isinstance(f, str) and not hasattr(f, "__fspath__"):
        raise DamagedFile("its index names other files, and bytes have no folder: pass its path")
    path = Path(f)
    files: dict[str, list[str]] = {}
    for name, file in names.items():
        files.setdefault(file, []).append(name)
    index = Index(files, path.parent, (path.parent.resolve(), path.resolve().parent))
    for file in files:
        _check(file, index)
    return index


def _check(file: str, index: Index) -> None:
    """Raise DamagedFile for a file outside the index's folder."""
    # Also refuse separators of other systems and "C:", which pathlib accepts on Windows.
    if not file or file in (".", "..") or any(c in file for c in "/\\:\0"):
        raise DamagedFile(f"its index names {shorten_name(file)}, which is not a file in its folder")
    # Resolve links before the check: a link out of the folder could name any file of the machine.
    real = (index.folder / file).resolve()
    if real.parent not in index.real:
        raise DamagedFile(f"its index names {shorten_name(file)}, a link to another folder")
    if not real.exists():
        raise DamagedFile(f"its index names {shorten_name(file)}, which does not exist")


def tensors_of(index: Index, place: LoadOptions, call: str) -> dict[str, Tensor]:
    """Return all tensors; each file is read once."""
    from .formats import tensors_in

    out: dict[str, Tensor] = {}
    for file, names in index.files.items():
        path = index.folder / file
        with open_source(path, call) as view:
            tensors = tensors_in(view, place)
        _check_names(file, names, tensors)
        out |= {name: tensors[name] for name in names}
    return out


def open_entries(index: Index, place: LoadOptions, call: str, stack: ExitStack) -> dict[str, Any]:
    """Return the entries of all files. The stack keeps the files open."""
    from .formats import entries_in

    out: dict[str, Any] = {}
    for file, names in index.files.items():
        entries = entries_in(stack.enter_context(open_source(index.folder / file, call)), place).tensors
        _check_names(file, names, entries)
        out |= {name: entries[name] for name in names}
    return out


def _check_names(file: str, names: list[str], tensors: Any) -> None:
    missing = [name for name in names if name not in tensors]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DamagedFile(
            f"{shorten_name(file)} has no {shorten_name(missing[0])}{more}, which its index lists"
        )

"""Reads and writes files of measured choices of kernels: the user's, shipped ones, and exported ones."""

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..core import json_cache
from ..core.files import cache_folder, template_folder
from ..core.tree import is_list
from ..errors import FlambeauError

FORMAT = 2
SHIPPED = Path(__file__).with_name("choices")  # shipped choices, by the name of the adapter, for all drivers
SHIPPED_FROM = 0.95  # the largest fraction of the default's time of a shipped choice
MODES = ("", "on", "off")
TOLD = {  # part of an identity -> the text of a difference
    "adapter": "from another adapter",
    "driver": "from another driver",
    "provider": "from another provider",
    "kernels": "for the other class of kernels",
    "templates": "for other templates",
}
Bucket = tuple[Any, ...]


class AdapterIdentity(NamedTuple):
    """The conditions for which measurements are valid."""

    adapter: str
    driver: str
    provider: str  # name and version
    kernels: str  # software or gpu
    templates: str = ""  # a hash of all of them


@dataclass
class Choice:
    """The fastest variant of a family for a bucket, with the milliseconds of each candidate and the
    reasons of dropped ones."""

    family: str
    bucket: Bucket
    choice: str
    default: str
    ms: dict[str, float] = field(default_factory=dict[str, float])
    dropped: dict[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        times = ", ".join(f"{name} {t:.4g}" for name, t in sorted(self.ms.items(), key=lambda i: i[1]))
        lost = "".join(f"; {name} dropped: {reason}" for name, reason in self.dropped.items())
        mark = "" if self.choice == self.default else f" in place of {self.default}"
        return f"{self.family} {list(self.bucket)}: {self.choice}{mark} (ms: {times}{lost})"


def mode() -> str:
    """Return FLAMBEAU_TUNE: "on" measures while running, "off" ignores measured choices, "" uses existing
    ones."""
    setting = os.environ.get("FLAMBEAU_TUNE", "")
    if setting not in MODES:
        raise FlambeauError(f"FLAMBEAU_TUNE={setting}: unknown: use 'on' or 'off', or unset it")
    return setting


@cache
def templates() -> str:
    """Return a hash of all templates' texts."""
    digest = hashlib.sha256()
    for path in sorted(template_folder().rglob("*.wgsl")):
        digest.update(path.relative_to(template_folder()).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def choices_file(of: AdapterIdentity) -> Path:
    """Return the file of an adapter's choices. A new driver's choices replace an older one's."""
    return cache_folder("tuned") / choices_file_name(of)


def choices_file_name(of: AdapterIdentity) -> str:
    """Return the file name of an adapter's choices."""
    words = f"{of.adapter}-{of.provider.split()[0]}-{of.kernels}"
    return re.sub(r"\W+", "-", words).strip("-").lower() + ".json"


def choices_for(of: AdapterIdentity) -> dict[tuple[Any, ...], str]:
    """Return the choices for `choose.choose` on an adapter: measured ones by family and bucket, shipped
    ones also by the default. A shipped choice only says which default it beat, and rules may have another
    default now."""
    if mode() == "off":
        return {}
    choices: dict[tuple[Any, ...], str] = {
        (c.family, c.bucket, c.default): c.choice for c in load_shipped(of)
    }
    return choices | {(c.family, c.bucket): c.choice for c in load_cached(of)}


def load_shipped(of: AdapterIdentity) -> list[Choice]:
    """Load the package's choices for an adapter, for any driver and version."""
    path = SHIPPED / choices_file_name(of)
    return (
        json_cache.load_if_usable(
            path, lambda data: parse_choices(path, data)[1], "the shipped choices", "not used"
        )
        or []
    )


def better(choices: list[Choice]) -> list[Choice]:
    """Select the choices worth shipping: those below SHIPPED_FROM of the default's time."""
    return [c for c in choices if c.choice != c.default and c.ms[c.choice] < SHIPPED_FROM * c.ms[c.default]]


def load_cached(of: AdapterIdentity) -> list[Choice]:
    """Load the choices in the cache folder; a line on stderr reports a file that is not valid here."""
    path = choices_file(of)

    def holding(data: Any) -> list[Choice]:
        was, choices = parse_choices(path, data)
        if differences := unlike(was, of):
            raise json_cache.Unusable(path, differences[0])
        return choices

    return json_cache.load_if_usable(path, holding, "the measured choices", "not used") or []


def unlike(was: AdapterIdentity, of: AdapterIdentity) -> list[str]:
    """Describe how a file's identity differs from an adapter's."""
    current = of._replace(templates=templates())
    pairs = [(differing, getattr(was, name), getattr(current, name)) for name, differing in TOLD.items()]
    return [
        f"{differing} ({saved}, here {present})" for differing, saved, present in pairs if saved != present
    ]


def read(path: Path) -> tuple[AdapterIdentity, list[Choice]]:
    """Read a file's identity and choices; Unusable if it is damaged, OSError if it is missing."""
    return json_cache.load(path, lambda data: parse_choices(path, data))


def parse_choices(path: Path, data: Any) -> tuple[AdapterIdentity, list[Choice]]:
    """Convert a file's JSON to identity and choices. `json_cache.load` handles its exceptions."""
    if data["format"] != FORMAT:
        raise json_cache.Unusable(path, f"of format {data['format']}, not {FORMAT}")
    choices = [Choice(**c | {"bucket": _hashable(c["bucket"])}) for c in data["choices"]]
    if not all(type(text) is str for c in choices for text in (c.family, c.choice, c.default)):
        raise TypeError("a choice is not a string")
    if not all(type(c.ms) is type(c.dropped) is dict for c in choices):
        raise TypeError("measurements without names")
    if not all(type(t) in (int, float) for c in choices for t in c.ms.values()):
        raise TypeError("a time is not a number")
    hash(tuple(c.bucket for c in choices))  # TypeError if one can't be a dict key
    return AdapterIdentity(**data["of"]), choices


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if is_list(value) else value


def text_of(of: AdapterIdentity, choices: list[Choice]) -> str:
    """Format a file, a choice per line."""
    head = json.dumps({"format": FORMAT, "of": of._replace(templates=templates())._asdict()})
    rows = sorted(choices, key=lambda c: (c.family, str(c.bucket)))
    lines = ",\n  ".join(json.dumps(asdict(c)) for c in rows)
    return f'{head[:-1]}, "choices": [\n  {lines}\n]}}\n'


def keep(of: AdapterIdentity, choices: list[Choice]) -> None:
    """Add choices to the file in the cache folder; a line on stderr reports a failure."""
    path = choices_file(of)
    new = {(c.family, c.bucket) for c in choices}
    before = [c for c in _same(path, of) if (c.family, c.bucket) not in new]
    json_cache.keep(path, text_of(of, [*before, *choices]), "choices hold for this process")


def _same(path: Path, of: AdapterIdentity) -> list[Choice]:
    """Return a file's choices if its identity is the same."""
    try:
        was, choices = read(path)
    except (json_cache.Unusable, OSError):
        return []
    return [] if unlike(was, of) else choices


def import_choices(path: Path, of: AdapterIdentity) -> list[Choice]:
    """Load the choices of an exported file; FlambeauError if it is not valid for this adapter."""
    try:
        was, choices = read(path)
    except OSError as e:
        raise FlambeauError(f"{path} can't be read ({e.strerror}): check the path") from None
    except json_cache.Unusable as e:
        raise FlambeauError(f"{e}: export it again with `flambeau tune --export`") from None
    if differences := unlike(was, of):
        differing = ", ".join(differences)
        raise FlambeauError(f"{path}: measured choices {differing}: measure here with `flambeau tune`")
    return choices

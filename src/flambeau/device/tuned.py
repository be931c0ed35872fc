"""Measured choices of kernels, to and from files: this user's, those shipped, and those exported."""

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
SHIPPED = Path(__file__).with_name("choices")  # for adapters by name, whatever their drivers
SHIPPED_FROM = 0.95  # of the default's time: what a choice that is shipped takes at most
MODES = ("", "on", "off")
TOLD = {  # part of an identity: how a line says that it differs
    "adapter": "from another adapter",
    "driver": "from another driver",
    "provider": "from another provider",
    "kernels": "for the other class of kernels",
    "templates": "for other templates",
}
Bucket = tuple[Any, ...]


class AdapterIdentity(NamedTuple):
    """What measurements hold for."""

    adapter: str
    driver: str
    provider: str  # name and version
    kernels: str  # software or gpu
    templates: str = ""  # a hash of all of them


@dataclass
class Choice:
    """The variant of a family that was fastest for a bucket; milliseconds of each, and why others were
    dropped."""

    family: str
    bucket: Bucket
    choice: str
    default: str
    ms: dict[str, float] = field(default_factory=dict[str, float])
    dropped: dict[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        times = ", ".join(f"{name} {t:.4g}" for name, t in sorted(self.ms.items(), key=lambda i: i[1]))
        lost = "".join(f"; {name} dropped: {why}" for name, why in self.dropped.items())
        mark = "" if self.choice == self.default else f" in place of {self.default}"
        return f"{self.family} {list(self.bucket)}: {self.choice}{mark} (ms: {times}{lost})"


def mode() -> str:
    """FLAMBEAU_TUNE: "on" measures whatever is run, "off" uses no measured choice, "" those there are."""
    wanted = os.environ.get("FLAMBEAU_TUNE", "")
    if wanted not in MODES:
        raise FlambeauError(f"FLAMBEAU_TUNE={wanted}: unknown: use 'on' or 'off', or unset it")
    return wanted


@cache
def templates() -> str:
    """A hash of the text of all templates."""
    digest = hashlib.sha256()
    for path in sorted(template_folder().rglob("*.wgsl")):
        digest.update(path.relative_to(template_folder()).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def choices_file(of: AdapterIdentity) -> Path:
    """The file of an adapter's choices: one, so that those of an older driver make room for new ones."""
    return cache_folder("tuned") / choices_file_name(of)


def choices_file_name(of: AdapterIdentity) -> str:
    """What the file of an adapter's choices is called."""
    words = f"{of.adapter}-{of.provider.split()[0]}-{of.kernels}"
    return re.sub(r"\W+", "-", words).strip("-").lower() + ".json"


def choices_for(of: AdapterIdentity) -> dict[tuple[Any, ...], str]:
    """What `choose.choose` should pick on an adapter: as measured here, by family and bucket; and as shipped,
    by the default too. Rules change after a file was shipped, and it says only what each choice was better
    than."""
    if mode() == "off":
        return {}
    choices: dict[tuple[Any, ...], str] = {
        (c.family, c.bucket, c.default): c.choice for c in load_shipped(of)
    }
    return choices | {(c.family, c.bucket): c.choice for c in load_cached(of)}


def load_shipped(of: AdapterIdentity) -> list[Choice]:
    """The choices that come with the package for an adapter, whatever its driver and the versions."""
    path = SHIPPED / choices_file_name(of)
    return (
        json_cache.load_if_usable(
            path, lambda said: parse_choices(path, said)[1], "the shipped choices", "not used"
        )
        or []
    )


def better(choices: list[Choice]) -> list[Choice]:
    """Those worth shipping: measured to take less than SHIPPED_FROM of the default's time."""
    return [c for c in choices if c.choice != c.default and c.ms[c.choice] < SHIPPED_FROM * c.ms[c.default]]


def load_cached(of: AdapterIdentity) -> list[Choice]:
    """The choices in the cache folder; a line on stderr where a file is there that does not hold here."""
    path = choices_file(of)

    def holding(said: Any) -> list[Choice]:
        was, choices = parse_choices(path, said)
        if differences := unlike(was, of):
            raise json_cache.Unusable(path, differences[0])
        return choices

    return json_cache.load_if_usable(path, holding, "the measured choices", "not used") or []


def unlike(was: AdapterIdentity, of: AdapterIdentity) -> list[str]:
    """How what a file holds for differs from an adapter here."""
    here = of._replace(templates=templates())
    pairs = [(differing, getattr(was, name), getattr(here, name)) for name, differing in TOLD.items()]
    return [f"{differing} ({there}, here {mine})" for differing, there, mine in pairs if there != mine]


def read(path: Path) -> tuple[AdapterIdentity, list[Choice]]:
    """A file's identity and choices; Unusable where it is damaged, OSError if it is not there."""
    return json_cache.load(path, lambda said: parse_choices(path, said))


def parse_choices(path: Path, said: Any) -> tuple[AdapterIdentity, list[Choice]]:
    """The identity and choices that a file's JSON says; what it raises else, `json_cache.load` takes."""
    if said["format"] != FORMAT:
        raise json_cache.Unusable(path, f"of format {said['format']}, not {FORMAT}")
    choices = [Choice(**c | {"bucket": _hashable(c["bucket"])}) for c in said["choices"]]
    if not all(type(text) is str for c in choices for text in (c.family, c.choice, c.default)):
        raise TypeError("a choice is not a string")
    if not all(type(c.ms) is type(c.dropped) is dict for c in choices):
        raise TypeError("measurements without names")
    if not all(type(t) in (int, float) for c in choices for t in c.ms.values()):
        raise TypeError("a time is not a number")
    hash(tuple(c.bucket for c in choices))  # TypeError if one is no key
    return AdapterIdentity(**said["of"]), choices


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if is_list(value) else value


def text_of(of: AdapterIdentity, choices: list[Choice]) -> str:
    """The text of a file: a choice a line."""
    head = json.dumps({"format": FORMAT, "of": of._replace(templates=templates())._asdict()})
    rows = sorted(choices, key=lambda c: (c.family, str(c.bucket)))
    lines = ",\n  ".join(json.dumps(asdict(c)) for c in rows)
    return f'{head[:-1]}, "choices": [\n  {lines}\n]}}\n'


def keep(of: AdapterIdentity, choices: list[Choice]) -> None:
    """Write the choices to the cache folder, with those that are there; where it can't be done a line says
    so."""
    path = choices_file(of)
    new = {(c.family, c.bucket) for c in choices}
    before = [c for c in _same(path, of) if (c.family, c.bucket) not in new]
    json_cache.keep(path, text_of(of, [*before, *choices]), "choices hold for this process")


def _same(path: Path, of: AdapterIdentity) -> list[Choice]:
    """What a file has, if it holds for the same."""
    try:
        was, choices = read(path)
    except (json_cache.Unusable, OSError):
        return []
    return [] if unlike(was, of) else choices


def import_choices(path: Path, of: AdapterIdentity) -> list[Choice]:
    """The choices of an exported file; FlambeauError if it does not hold for this adapter."""
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

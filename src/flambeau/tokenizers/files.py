"""Reads the files that describe a tokenizer in a folder of a hub."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.tree import is_dict, is_list
from ..errors import FlambeauError, MissingFile

RULES, CONFIG, TEMPLATE = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
LARGEST = 256 << 20  # bytes of a file
NAMES = {"unk_token": "unknown", "pad_token": "padding", "sep_token": "separator"}
TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")


def read_json(path: Path, call: str) -> dict[str, Any]:
    """Read the object of a JSON file. FlambeauError for a file that is missing, too large, or damaged."""
    text = _read(path, call)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise FlambeauError(f"{call}: {path.name} is not JSON: get a complete copy") from None
    if not is_dict(content):
        raise FlambeauError(f"{call}: {path.name} does not hold a JSON object: get a complete copy")
    return content


def _read(path: Path, call: str) -> bytes:
    try:
        if (size := path.stat().st_size) > LARGEST:
            raise FlambeauError(f"{call}: {path.name} has {size:,} bytes, too many: get a complete copy")
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingFile(f"{call}: no such file: {path.name} is missing: check the path") from None
    except (OSError, ValueError) as e:  # ValueError: a path with a zero byte
        raise FlambeauError(f"{call}: can't be read: {getattr(e, 'strerror', None) or e}") from None


def named_in(folder: Path, rules: Mapping[str, Any], call: str) -> dict[str, int]:
    """Return the tokens that tokenizer_config.json names, by "bos", "eos" and so on; {} without the file."""
    if not (folder / CONFIG).exists():
        return {}
    config = read_json(folder / CONFIG, call)
    numbers: dict[str, int] = {}
    for row in rules.get("added_tokens") or ():
        if is_dict(row):
            numbers[str(row.get("content"))] = row.get("id", -1)
    named: dict[str, int] = {}
    for name in TOKENS:
        value: Any = config.get(name)
        text = value.get("content") if is_dict(value) else value
        if text in numbers:
            named[NAMES.get(name, name.removesuffix("_token"))] = numbers[text]
    return named


def template_in(folder: Path) -> str | None:
    """Return the chat template of a folder: chat_template.jinja, else the one in tokenizer_config.json; None
    without one."""
    call = f"template_in({str(folder)!r})"
    if (folder / TEMPLATE).exists():
        return str(_read(folder / TEMPLATE, call), "utf-8", "replace")
    if not (folder / CONFIG).exists():
        return None
    source: Any = read_json(folder / CONFIG, call).get("chat_template")
    if is_list(source):  # several by name
        rows = {row.get("name"): row.get("template") for row in source if is_dict(row)}
        source = rows.get("default")
    return source if isinstance(source, str) else None

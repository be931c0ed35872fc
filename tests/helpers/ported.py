"""Scripts of tests/porting/scripts into what they print: under torch, and ported, under flambeau."""

import io
import re
import runpy
import tomllib
from contextlib import redirect_stdout
from functools import cache

import flambeau as fb
from flambeau.porting import convert
from helpers.paths import TESTS

SCRIPTS = {p.stem: p for p in sorted((TESTS / "porting" / "scripts").glob("*.py"))}
PRINTED = TESTS / "porting" / "printed.toml"
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\binf\b|\bnan\b")
WITHIN = 1e-3  # of a number's size
SMALL = 0.05  # numbers below it are printed with few digits, and are differences of larger ones


@cache
def kept() -> dict[str, str]:
    """What each script prints under torch 2.13."""
    return tomllib.loads(PRINTED.read_text(encoding="utf-8"))


def by_torch(name: str) -> str:
    """What a script prints under torch."""
    out = io.StringIO()
    with redirect_stdout(out):
        runpy.run_path(str(SCRIPTS[name]), run_name="__main__")
    return out.getvalue()


def ported(name: str) -> str:
    """A script as `flambeau port` writes it."""
    return convert(SCRIPTS[name].read_text(encoding="utf-8"), name).text


def runs(text: str, device: str, monkeypatch) -> str:
    """What a ported script prints, all of it on one device."""
    out = io.StringIO()
    monkeypatch.setattr(fb.cuda, "is_available", lambda: device == "gpu")
    fb.set_default_device(device)
    try:
        with redirect_stdout(out):
            exec(compile(text, "ported", "exec"), {"__name__": "__main__"})
    finally:
        fb.set_default_device(None)
    return out.getvalue()


def compare(name: str, got: str, want: str) -> None:
    """The same words, and numbers that are near."""
    assert NUMBER.sub("0", got) == NUMBER.sub("0", want), f"{name}: other words"
    for line, other in zip(got.splitlines(), want.splitlines(), strict=True):
        for a, b in zip(NUMBER.findall(line), NUMBER.findall(other), strict=True):
            assert abs(float(a) - float(b)) <= WITHIN * max(abs(float(b)), SMALL), (
                f"{name}: {line!r}, not {other!r}"
            )


def write() -> None:
    """printed.toml, by the torch that is installed."""
    import torch

    torch.set_num_threads(1)
    version = torch.__version__.partition("+")[0]
    text = f"# What the scripts print under torch {version}: helpers/ported.py writes it.\n"
    text += "".join(f"\n{name} = '''\n{by_torch(name)}'''\n" for name in SCRIPTS)
    PRINTED.write_text(text, encoding="utf-8")

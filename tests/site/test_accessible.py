"""What a reader of any page needs: names of controls, headings in order, contrast of colours."""

import re

import pytest
from helpers.page_parts import Page

from flambeau.inspector.page import joined_style
from flambeau.site.archives import web_folder
from flambeau.site.demo import Texts, _page_files
from flambeau.site.pages import pages


def test_every_page_has_names_for_its_parts_and_headings_in_order():
    built = pages("flambeau.whl") | _page_files(Texts("A model", "What it does."))
    written = {n: d.decode() for n, d in built.items() if n.endswith(".html")}
    wrong = {name: found for name, text in written.items() if (found := Page(text).wrong)}
    assert not wrong
    assert len(written) >= 9


def test_what_is_wrong_is_found():
    page = Page(
        "<html><title></title><h1>a</h1><h3></h3><input><img src=x><p id=a id=a onclick=x></p></html>"
    )
    assert len(page.wrong) == 10, page.wrong


# --- colours: WCAG's contrast of text, 4.5, and of marks and borders of controls in focus, 3 ---
PAPER = ("paper", "card")
TEXT = ("ink", "soft", "flame", "wrong", "good", "keyword", "string", "number", "comment", "name", "type")
FLAT = ("c0", "c1", "c2", "c3", "c4", "c5")
SHEETS = ("site.css", "docs/docs.css", "wgsl.css", "runner.css", "playground/style.css", "inspector")


def channels(color: str) -> list[int]:
    digits = color.lstrip("#")
    digits = "".join(d * 2 for d in digits) if len(digits) == 3 else digits
    return [int(digits[i : i + 2], 16) for i in (0, 2, 4)]


def luminance(color: str) -> float:
    parts = [value / 255 for value in channels(color)]
    r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def mix(a: str, b: str, part: float) -> str:
    """The colour of `part` of a over b."""
    pairs = zip(channels(a), channels(b), strict=True)
    return "#" + "".join(f"{round(part * x + (1 - part) * y):02x}" for x, y in pairs)


def colors(style: str) -> tuple[dict[str, str], dict[str, str]]:
    """The colours of a sheet by name, light and dark."""
    dark = "".join(re.findall(r"prefers-color-scheme: dark\) \{\s*:root \{([^}]*)\}", style))
    light = "".join(re.findall(r"^:root \{([^}]*)\}", style, re.MULTILINE))
    named = [dict(re.findall(r"--([\w-]+): (#\w+)", text)) for text in (light, dark)]
    return named[0], named[1]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_contrast_on_every_ground(scheme):
    base = colors((web_folder() / "site.css").read_text("utf-8"))[scheme]
    low = []
    for name in SHEETS:
        style = joined_style() if name == "inspector" else (web_folder() / name).read_text("utf-8")
        found = base | colors(style)[scheme]
        grounds = [found[g] for g in (*PAPER, "pale") if g in found]
        pairs = [(t, found[t], g, 4.5) for t in TEXT if t in found for g in grounds]
        pairs += [(t, found[t], g, 3) for t in FLAT if t in found for g in grounds[:2]]
        pairs += [("on-flame", found["on-flame"], found["flame"], 4.5)]
        low += [f"{name}: {t} {a} on {b}" for t, a, b, least in pairs if contrast(a, b) < least]
    assert not low
    assert contrast("#fff", "#000000") == pytest.approx(21)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_counts_have_contrast_on_the_darkest_cells(scheme):
    folder = web_folder()
    base = colors((folder / "site.css").read_text("utf-8"))[scheme]
    tones = dict(
        re.findall(r"\.(right|wrong) \{ --tone: ([^;]*);", (folder / "mnist/style.css").read_text("utf-8"))
    )
    script = (folder / "mnist/confusion.js").read_text("utf-8")
    (darkest,) = re.findall(r"DARKEST = \{ right: ([\d.]+), wrong: ([\d.]+) \}", script)
    for tone, part in zip((tones["right"], tones["wrong"]), darkest, strict=True):
        color = base["flame"] if tone == "var(--flame)" else tone
        assert contrast(base["ink"], mix(color, base["card"], float(part))) >= 4.5

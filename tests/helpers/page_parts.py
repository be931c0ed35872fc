"""What a reader of any page needs, read from its HTML: names of its parts, headings in order."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "input", "br", "hr", "wbr"}
CONTROLS = {"input", "select", "textarea", "canvas"}
NAMED = {"button", "a", "th", "summary", "h1", "h2", "h3", "h4"}  # whose text is their name
FILLED_LATER = {"own-name", "target"}  # headings that a page's script fills before it shows them


class Page(HTMLParser):
    """Collects what is wrong in a page."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.wrong: list[str] = []
        self.ids: list[str] = []
        self.labelled: set[str] = set()
        self.unlabelled: list[str | None] = []
        self.levels: list[int] = []
        self.kinds: list[str] = []
        self.described: set[str] = set()
        self.lang = ""
        self.feed(html)
        self.judge()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.kinds.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.described |= {values.get("name", "")} if tag == "meta" and values.get("content") else set()
        self.lang = values.get("lang", "") if tag == "html" else self.lang
        self.labelled |= {values["for"]} if tag == "label" and "for" in values else set()
        if tag == "img" and "alt" not in values:
            self.wrong.append(f"a picture without alt: {values.get('src')}")
        self.text += [values["alt"]] if values.get("alt") else []
        wrapped = any(t == "label" for t, _ in self.open)
        if tag in CONTROLS and not wrapped and not values.keys() & {"aria-label", "aria-labelledby"}:
            self.unlabelled.append(values.get("id"))
        self.levels += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        wrong = [n for n in values if n == "style" or n.startswith("on")]
        self.wrong += [f"{tag} with {n}, which the policy forbids" for n in wrong]
        if tag not in VOID:
            self.open.append((tag, {**values, "from": len(self.text)}))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        opened, values = self.open.pop()
        assert opened == tag, f"{opened} ends as {tag}"
        text = "".join(self.text[values["from"] :]).strip()
        if tag in NAMED | {"title"} and not text and "aria-label" not in values:
            self.wrong += [f"an empty {tag}: {values}"] if values.get("id") not in FILLED_LATER else []

    def handle_data(self, data):
        self.text.append(data)

    def judge(self):
        self.wrong += ["no lang"] if not self.lang else []
        self.wrong += [f"no {name}" for name in ("viewport", "description") if name not in self.described]
        for kind in ("title", "h1", "main"):
            if self.kinds.count(kind) != 1:
                self.wrong.append(f"{self.kinds.count(kind)} of {kind}")
        self.wrong += [f"id twice: {i}" for i in set(self.ids) if self.ids.count(i) > 1]
        self.wrong += [f"no label: {i}" for i in self.unlabelled if i not in self.labelled]
        steps = zip([0, *self.levels], self.levels, strict=False)
        self.wrong += [f"h{b} after h{a}" for a, b in steps if b > a + 1]

"""Turns the Markdown of docs/ into HTML: headings with addresses, highlighted code, links between pages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from html import escape
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from pygments import formatters, lexers
from pygments import highlight as highlight_code
from pygments.util import ClassNotFound

LANGUAGES = {"": "text", "output": "text", "wgsl": "rust", "js": "javascript"}  # of a fence: pygments' name

COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)  # for whoever edits the Markdown
NO_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th></th>\s*)+</tr>\s*</thead>\s*")


class PageSection(NamedTuple):
    """A part of a page under one heading: its address in the page, the headings above it, and its text."""

    anchor: str
    title: str
    level: int
    text: str


class RenderedPage(NamedTuple):
    """A page: its title, its HTML and its sections."""

    title: str
    html: str
    sections: list[PageSection]


Link = Callable[[str], str | None]  # an address in the Markdown: one in the site, or None for plain text


@cache
def parser() -> Any:
    """CommonMark with tables, without raw HTML."""
    return MarkdownIt("commonmark", {"html": False, "highlight": highlight}).enable(
        ["table", "strikethrough"]
    )


@cache
def highlighter(language: str) -> Callable[[str], str]:
    """Return a function of code that gives HTML: spans with pygments' classes."""
    typed: Any = lexers  # whose options have no types
    html: Any = formatters
    formatter = html.HtmlFormatter(nowrap=True)
    try:
        lexer = typed.get_lexer_by_name(LANGUAGES.get(language, language))
    except ClassNotFound:
        lexer = typed.get_lexer_by_name("text")
    return partial(highlight_code, lexer=lexer, formatter=formatter)


def highlight(code: str, language: str, _: str = "") -> str:
    """Return code as HTML."""
    return highlighter(language)(code)


def render(text: str, link: Link) -> RenderedPage:
    """Turn a page of Markdown into HTML. link: translates the addresses of links and images."""
    tokens = parser().parse(COMMENT.sub("", text))
    sections: list[PageSection] = []
    taken: dict[str, int] = {}
    words: list[str] = []
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            title = plain(tokens[i + 1])
            anchor = unique_anchor(title, taken)
            token.attrSet("id", anchor)
            end_section(sections, words)
            sections.append(PageSection(anchor, title, int(token.tag[1]), ""))
        elif token.type == "inline":
            relink(token.children, link)
            words.append(plain(token))
        elif token.type == "fence":
            words.append(token.content)
    end_section(sections, words)
    title = sections[0].title if sections else ""
    return RenderedPage(title, wrap_tables(parser().renderer.render(tokens, parser().options, {})), sections)


def end_section(sections: list[PageSection], words: list[str]) -> None:
    """Give the last section the words that were collected for it."""
    if sections:
        sections[-1] = sections[-1]._replace(text=" ".join(words))
    words.clear()


def plain(token: Any) -> str:
    """Return the text of an inline token, without its marks."""
    children = [t for t in token.children or () if t.type != "image"]
    return "".join(" " if t.type == "softbreak" else t.content for t in children)


def slug(title: str) -> str:
    """Return the address of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def unique_anchor(title: str, taken: dict[str, int]) -> str:
    """Return an address that no earlier heading of the page has."""
    anchor = slug(title) or "section"
    count = taken[anchor] = taken.get(anchor, -1) + 1
    return f"{anchor}-{count}" if count else anchor


def relink(children: Sequence[Any], link: Link) -> None:
    """Translate the addresses of links and images; a link without one becomes plain text."""
    is_open = True
    for t in children:
        if t.type == "link_open":
            target = link(str(t.attrGet("href")))
            is_open = target is not None
            if target is None:
                t.tag, t.attrs = "span", {}
            else:
                t.attrSet("href", target)
        elif t.type == "link_close" and not is_open:
            t.tag = "span"
        elif t.type == "image":
            t.attrSet("src", link(str(t.attrGet("src"))) or "")
            t.attrSet("loading", "lazy")


def wrap_tables(html: str) -> str:
    """Put tables into boxes that scroll on narrow screens. Empty head cells become plain cells:
    a screen reader would announce a head without a name."""
    html = NO_HEAD.sub("", html).replace("<th></th>", "<td></td>")
    return html.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


def inline(text: str, link: Link) -> str:
    """Turn one line of Markdown, such as a docstring's, into HTML."""
    tokens = parser().parseInline(text)
    relink(tokens[0].children or (), link)
    return parser().renderer.render(tokens, parser().options, {})


def contents(sections: Sequence[PageSection]) -> str:
    """Return the list of a page's second-level headings."""
    rows = [f'<li><a href="#{s.anchor}">{escape(s.title)}</a></li>' for s in sections if s.level == 2]
    return f"<ul>{''.join(rows)}</ul>" if len(rows) > 2 else ""


def resolve(target: str, path: str) -> str:
    """Return a relative address as a path from the top. path: that of the page that has it."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def code_blocks(text: str) -> Iterator[str]:
    """Yield the contents of a page's Python blocks."""
    for token in parser().parse(text):
        if token.type == "fence" and token.info.split()[:1] == ["python"]:
            yield token.content

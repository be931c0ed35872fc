"""Loads the templates in wgsl/: control of lines, bytecode in the cache, edited templates in a sandbox."""

import pickle
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import (
    ChoiceLoader,
    DictLoader,
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    FunctionLoader,
    StrictUndefined,
    TemplateSyntaxError,
)
from jinja2.bccache import Bucket
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from ..core.files import cache_folder, read_checked, template_folder, write_checked

# `text //% for ...`, `text //% if ...` or `text //% same`: a control statement after text, on a line that is
# neither a statement (//%) nor a comment (//#).
CONTROLLED = re.compile(r"^(?!\s*//[%#])(.*?\S)[ ]+//% ((for|if|elif|else|same)\b.*)$")
# Version of LineControl's output: increased with each change, since bytecode is cached by the text.
CONTROL_VERSION = 3
# The statements that may follow a line's loop or condition on the next lines.
FOLLOWING = {"for": ("same",), "if": ("same", "elif", "else")}
# Prefix of the file name of an edited template, by which `line_of` finds it in a traceback.
EDITED = "edited/"
ADDED: dict[str, str] = {}  # templates of custom ops


class Words(NamedTuple):
    """The functions and filters that templates call, by their names in templates."""

    functions: dict[str, Callable[..., Any]]
    filters: dict[str, Callable[..., Any]]


def elementwise_macro(env: Environment, name: str) -> Any:
    """The macro of an elementwise op: ours, or a custom op's, whose file is named after it."""
    macro = getattr(env.get_template("lib/elementwise.wgsl").module, name, None)
    return macro or env.get_template(name + ".wgsl").module.value  # type: ignore[attr-defined]


class BytecodeCache(FileSystemBytecodeCache):
    """Templates as bytecode in the user's cache: compiling them is the longest part of a start.

    A file that is damaged, or belongs to another text or version, is rewritten. Without write access nothing
    is
    cached.
    """

    def get_source_checksum(self, source: str) -> str:
        return f"{CONTROL_VERSION}-{super().get_source_checksum(source)}"

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            if data := read_checked(Path(self._get_cache_filename(bucket))):
                bucket.bytecode_from_string(data)
        except (EOFError, ValueError, TypeError, pickle.UnpicklingError):  # of another Python
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            write_checked(Path(self._get_cache_filename(bucket)), bucket.bytecode_to_string())


def open_cache(name: str = "templates") -> BytecodeCache | None:
    """The cache of templates; None if its folder can't be written, or in a page, whose templates are
    compiled."""
    with suppress(OSError, RuntimeError):  # RuntimeError: nobody's home
        folder = cache_folder(name)
        if sys.platform != "emscripten":
            folder.mkdir(parents=True, exist_ok=True)
            return BytecodeCache(str(folder))
    return None


class LineControl(Extension):
    """Lets a line carry its own loop or condition: `text //% for x in xs`, `text //% if x`. If the line opens
    a block of WGSL, they control the block. The next lines may follow with `//% same`, and a condition's
    others with `//% elif x` and `//% else`.

    It takes one line of a template instead of three with line statements.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        if " //% " not in source:
            return source
        lines = source.split("\n")
        for index, line in enumerate(lines):
            if match := CONTROLLED.match(line):
                if match[3] not in ("for", "if"):
                    raise TemplateSyntaxError(f"{match[2]!r} follows no loop or condition", index + 1, name)
                _control_lines(lines, index)
        return "\n".join(lines)


def _control_lines(lines: list[str], index: int) -> None:
    """Wrap a line (or the block that it opens), and those that follow it, in the tags of its control."""
    kind, end, length = "", index, 0
    follow: re.Match[str] | None = CONTROLLED.match(lines[index])
    while follow:
        text, statement, word = follow.groups()
        kind = kind or word
        lines[index] = text if word == "same" else f"{{% {statement} %}}{text}"
        length = block_end(text, lines[index + 1 :])
        end = index + length
        index = end + 1
        while index < len(lines) and lines[index].lstrip().startswith("//#"):
            index += 1
        follow = CONTROLLED.match(lines[index]) if index < len(lines) else None
        if follow and follow[3] not in FOLLOWING[kind]:
            follow = None
    upto = lines[end].index("}") + 1 if length else len(lines[end])
    lines[end] = f'{lines[end][:upto]} {{{{ "\\n" }}}}{{% end{kind} %}}{lines[end][upto:]}'


def block_end(text: str, after: list[str]) -> int:
    """How many lines after `text` the `}` of the block that it opens is, by its indentation; 0 if it opens no
    block, or if that `}` has its own loop or condition. A tag may follow the `}`, as `{%- endmacro %}`."""
    if text.endswith("{"):
        close = text[: len(text) - len(text.lstrip())] + "}"
        for i, line in enumerate(after, 1):
            if line.startswith(close) and not line.startswith(close + " else"):
                return i if line.removeprefix(close)[:2] in ("", "{%") else 0
    return 0


class LineMarks(Extension):
    """Marks each piece of a template's text with its position: \x01file:line\x02."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == "data":
                pieces = enumerate(token.value.split("\n"), token.lineno)
                marked = (
                    f"\x01{stream.name}:{line_number}\x02{text}" if text.strip() else text
                    for line_number, text in pieces
                )
                token = Token(token.lineno, "data", "\n".join(marked))
            yield token


def edit_environment(changed: Mapping[str, str], words: Words, marked: bool = False) -> Environment:
    """An environment for templates from an untrusted source. Templates in `changed` are read from there at
    each rendering; a sandbox keeps templates from reaching Python."""
    from jinja2.sandbox import SandboxedEnvironment

    def read(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        text = changed.get(name)
        return None if text is None else (text, EDITED + name, lambda: changed.get(name) == text)

    env = build_environment(SandboxedEnvironment, [FunctionLoader(read)], words, marked, "edited-templates")
    env.auto_reload = True
    names: Any = env.globals  # typed as Jinja's initial value
    names["elementwise"] = partial(elementwise_macro, env)  # not cached: these macros may be edited
    return env


def build_environment(
    kind: type[Environment], ahead: list[Any], words: Words, marked: bool, folder: str
) -> Environment:
    """An environment that searches the loaders `ahead` first and caches bytecode in a folder."""
    env = kind(
        extensions=[LineControl, LineMarks] if marked else [LineControl],
        loader=ChoiceLoader([*ahead, FileSystemLoader(template_folder()), DictLoader(ADDED)]),
        line_statement_prefix="//%",
        line_comment_prefix="//#",
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        cache_size=-1,  # templates stay in memory
        auto_reload=False,
        bytecode_cache=open_cache(f"marked-{folder}" if marked else folder),
    )
    names: Any = env.globals  # typed as what Jinja begins with
    names |= {"elementwise": cache(partial(elementwise_macro, env)), "product": product} | words.functions
    filters: Any = env.filters
    filters |= words.filters
    return env

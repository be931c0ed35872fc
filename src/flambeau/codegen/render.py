"""Renders Shaders to WGSL text with the templates in wgsl/. The only module that imports jinja2."""

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
    ModuleLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
)
from jinja2.bccache import Bucket
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream

from ..core.dtype import SHORT
from ..core.files import HERE, cache_folder, read_checked, template_folder, write_checked
from ..errors import KernelError
from ..kernels.ir import Shader, out_name
from .expressions import EXPRESSIONS, Wgsl, vec, with_prefix, with_suffix

# A position that LineMarks inserts, \x01file:line\x02: control characters that no template has.
MARK = re.compile("\x01([^:\x02]*):(\\d+)\x02")
# `text //% for ...` or `text //% if ...` on a line that is no line statement or comment itself.
CONTROLLED = re.compile(r"^(?!\s*//[%#])(.*?\S)[ ]+//% ((for|if) .*)$")
# Of what LineControl makes of a text: raised with each change, since bytecode is cached by the text.
CONTROL_VERSION = 2
# A zero term at the beginning of a sum. The pattern begins with literal text, which `re` searches for fast.
BEGINS_WITH_NOTHING = re.compile(r"0u(?<!\w0u) \+ ")
# `(x + 0u)` that is no argument list becomes x; a term ` + 0u` is dropped, unless a factor follows it.
NOTHING_ADDED = re.compile(r"(?<![\w>])\((\w+) \+ 0u\)| \+ 0u\b(?! [*/%])")
OPS_IN_HEAD = 10
# (name in templates, the kernel's option with its dtype, elements); `dtype` is by default that of in0
TYPES = ("T", "dtype", 1), ("V", "acc", 4)
# Prefix of the file name of an edited template, by which `line_of` finds it in a traceback.
EDITED = "edited/"
COMPILED = HERE / "templates"  # templates as Python modules, in a site: compiling there takes half a second
LIBRARY = (
    "lib/math.wgsl",
    "lib/trig.wgsl",
    "lib/integer_division.wgsl",
    "lib/faults.wgsl",
    "lib/bessel.wgsl",
    "lib/numeric.wgsl",
    "lib/sort_keys.wgsl",
    "lib/packed.wgsl",
    "lib/random.wgsl",
    "lib/special.wgsl",
    "lib/words.wgsl",
)
ADDED: dict[str, str] = {}  # templates of custom ops
# Templates whose indices are affine in coordinates that are below their sizes, or brought into range first
# (what a gather reads), and whose loops end for every size. tests/codegen/test_bounds.py watches each access.
PROVEN = frozenset(
    {
        "attention/split_keys.wgsl",
        "attention/split_keys_join.wgsl",
        "contract/registers.wgsl",
        "contract/skinny_short.wgsl",
        "contract/split_k_sum.wgsl",
        "contract/tail_sum.wgsl",
        "contract/depthwise.wgsl",
        "contract/skinny.wgsl",
        "contract/tiles.wgsl",
        "map/fold.wgsl",
        "map/map.wgsl",
        "map/transposed.wgsl",
        "quantized/rows.wgsl",
        "quantized/shared.wgsl",
        "quantized/sum.wgsl",
        "quantized/tiles.wgsl",
        "quantized/words.wgsl",
        "reduce/serial.wgsl",
        "reduce/tree.wgsl",
        "reduce/windows.wgsl",
        "contract/winograd.wgsl",
        "contract/winograd_filters.wgsl",
        "contract/winograd_weight.wgsl",
    }
)


def add_template(name: str, text: str) -> None:
    """Add a custom op's text as a template; KernelError with the line of a syntax error."""
    try:
        environment().parse(text)
    except TemplateError as e:
        raise KernelError(f"{name}:{getattr(e, 'lineno', '?')}: {e.message}") from e
    ADDED[name] = text


def _elementwise(env: Environment, name: str) -> Any:
    """The macro of an elementwise op: ours, or a custom op's, whose file is named after it."""
    own = getattr(env.get_template("lib/elementwise.wgsl").module, name, None)
    return own or env.get_template(name + ".wgsl").module.value  # type: ignore[attr-defined]


class BytecodeCache(FileSystemBytecodeCache):
    """Templates as bytecode in the user's cache: compiling them is the longest part of a start.

    A file that is damaged, or of another text or version, is written again. Without write access nothing is
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
    a block of WGSL, they control the block.

    It takes one line of a template where line statements around it take three.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        if " //% " not in source:
            return source
        lines = source.split("\n")
        for at, line in enumerate(lines):
            if match := CONTROLLED.match(line):
                text, statement, kind = match.groups()
                lines[at] = f"{{% {statement} %}}{text}"
                end = at + block_end(text, lines[at + 1 :])
                upto = len(lines[at]) if end == at else lines[end].index("}") + 1
                lines[end] = f'{lines[end][:upto]} {{{{ "\\n" }}}}{{% end{kind} %}}{lines[end][upto:]}'
        return "\n".join(lines)


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
                    f"\x01{stream.name}:{at}\x02{text}" if text.strip() else text for at, text in pieces
                )
                token = Token(token.lineno, "data", "\n".join(marked))
            yield token


@cache
def environment(marked: bool = False) -> Environment:
    """The environment that renders templates. marked: with LineMarks, never from COMPILED."""
    ahead = [ModuleLoader(COMPILED)] if COMPILED.is_dir() and not marked else []
    return _build_environment(Environment, ahead, marked, "templates")


def edit_environment(changed: Mapping[str, str], marked: bool = False) -> Environment:
    """An environment for templates from an untrusted source. Templates in `changed` are read from there at
    each rendering; a sandbox keeps templates from reaching Python."""
    from jinja2.sandbox import SandboxedEnvironment

    def read(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        text = changed.get(name)
        return None if text is None else (text, EDITED + name, lambda: changed.get(name) == text)

    env = _build_environment(SandboxedEnvironment, [FunctionLoader(read)], marked, "edited-templates")
    env.auto_reload = True
    names: Any = env.globals  # typed as what Jinja begins with
    names["elementwise"] = partial(_elementwise, env)  # not cached: these macros may be edited
    return env


def _build_environment(kind: type[Environment], ahead: list[Any], marked: bool, folder: str) -> Environment:
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
    names |= {"elementwise": cache(partial(_elementwise, env)), "product": product} | EXPRESSIONS
    filters: Any = env.filters
    filters |= {"suffix": with_suffix, "prefix": with_prefix}
    return env


def compile_templates(folder: Path) -> None:
    """Write the templates as Python modules; those in COMPILED are used in place of the texts."""
    ours = environment().overlay(loader=FileSystemLoader(template_folder()))
    ours.compile_templates(folder, extensions=["wgsl"], zip=None)


def render(shader: Shader) -> str:
    """Turn a Shader into WGSL text; KernelError with the template's file and line when that fails."""
    return tidy(_render(shader, environment()))


def is_proven(shader: Shader) -> bool:
    """Whether a kernel needs no index checks: its template is in PROVEN and has no WGSL of a user."""
    return shader.template in PROVEN and is_ours(shader)


def is_ours(shader: Shader) -> bool:
    """Whether a kernel has no WGSL of a user."""
    if not ADDED:
        return True
    steps = (s for _, f in shader.functions for s in f.steps if s.kind == "op")
    return shader.template not in ADDED and not any(f"{s.name}.wgsl" in ADDED for s in steps)


class WgslLine(NamedTuple):
    """A line of a kernel's text, and the (file, line) of the templates that it comes from."""

    text: str
    places: tuple[tuple[str, int], ...]


def lines_of(
    shader: Shader, plain: Environment | str | None = None, by_marks: Environment | None = None
) -> list[WgslLine]:
    """The text of `render` by lines, each with its positions in the templates; without positions if the
    marked templates give another text. plain: the rendered text if known; or plain, by_marks: environments of
    edited templates."""
    text = plain if isinstance(plain, str) else tidy(_render(shader, plain or environment()))
    all_marked = _render(shader, by_marks or environment(True))
    marked = [(MARK.sub("", line), MARK.findall(line)) for line in all_marked.split("\n")]
    marked = [(line, marks) for line, marks in marked if _without_gaps(line).strip()]
    lines = text.splitlines()
    # Marks can change a text where a template inspects its own pieces. Positions would then be wrong.
    if tidy("\n".join(line for line, _ in marked)) != text:
        return [WgslLine(line, ()) for line in lines]
    return [
        WgslLine(line, tuple(dict.fromkeys((file, int(at)) for file, at in marks)))
        for line, (_, marks) in zip(lines, marked, strict=True)
    ]


def template_line(file: str, line: int) -> str:
    """A line of a template, unrendered."""
    return template_text(file).splitlines()[line - 1].strip()


def template_text(file: str) -> str:
    """The text of a template, unrendered."""
    loader = environment(True).loader
    assert loader is not None
    return loader.get_source(environment(True), file)[0]


def _render(shader: Shader, env: Environment) -> str:
    called: dict[str, Any] = {}
    out_dtype, out_width = shader.outs[0]
    wgsl, options, functions = partial(Wgsl, called=called), dict(shader.options), dict(shader.functions)
    names, checks, head = [out_name(i) for i in range(len(shader.outs))], shader.checks, _head(shader)
    outs = [(n, SHORT[d].stored, SHORT[d].words[w]) for n, (d, w) in zip(names, shader.outs, strict=True)]
    keys = options | {"dtype": options.get("dtype", next(iter(options.get("dtypes", ())), ""))}
    types = {name: wgsl(keys[key], width) for name, key, width in TYPES if keys.get(key)}
    try:
        text = env.get_template(shader.template).render(
            {"ranged": "", "atomics": False} | types | options,
            params=shader.params,
            bindings=shader.bindings,
            outs=outs,
            out_width=out_width,
            out_dtype=out_dtype,
            workgroup=shader.workgroup,
            functions=functions,
            finish=functions.get("finish"),
            Out=wgsl(out_dtype, out_width),
            checks=checks,
            wgsl=wgsl,
            vec=vec,
            head=head,
        )
        # After the text: rendering it fills `called`.
        return text + _helpers(env, called)
    except TemplateError as e:
        file, line = line_of(e) or (shader.template, "?")
        raise KernelError(f"render({shader.template}): {file}:{line}: {e.message}") from e


def _head(shader: Shader) -> str:
    """The first line of a kernel's text: its template, workgroup and fused elementwise ops. Without shapes,
    since equal shaders have equal texts (runtime/show.py adds them for readers)."""
    ops = [s.name.strip("_") for _, f in shader.functions for s in f.steps if s.kind == "op"]
    names = list(dict.fromkeys(ops))
    fused = ", ".join(names[:OPS_IN_HEAD] + ["..."] * (len(names) > OPS_IN_HEAD))
    size = " x ".join(map(str, shader.workgroup)).removesuffix(" x 1").removesuffix(" x 1")
    return f"{shader.template}, {size} threads{': ' if fused else ''}{fused}"


def line_of(error: Exception) -> tuple[str, int] | None:
    """The template and line of an error: that of a syntax error, else the innermost template in the
    traceback."""
    if isinstance(error, TemplateSyntaxError):
        return error.name or "", error.lineno
    from traceback import extract_tb

    root = f"{template_folder()}/"
    for frame in reversed(extract_tb(error.__traceback__)):
        for prefix in (EDITED, root):
            if frame.filename.startswith(prefix) and frame.lineno:
                return frame.filename.removeprefix(prefix), frame.lineno
    return None


def _helpers(env: Environment, called: dict[str, Any]) -> str:
    """The texts of the library functions in `called`, and of those that they call."""
    library = {name: m for file in LIBRARY for name, m in vars(env.get_template(file).module).items()}
    done: dict[str, str] = {}
    # Rendering a function may call others, which are then in `called` too.
    while todo := [k for k in called if k not in done]:
        for name in todo:
            macro, wgsl_type = called[name]
            done[name] = library[macro](wgsl_type)
    return "".join([f"\n{done[k]}" for k in sorted(done)])  # sorted: equal shaders have equal texts


def _without_gaps(text: str) -> str:
    """A text without trailing commas of generated lists, terms `0u +` and factors 1u, which the first turn of
    an unrolled loop has."""
    text = text.replace(", )", ")").replace(" * 1u", "").replace(" / 1u", "")
    if "0u + " not in text and " + 0u" not in text:
        return text
    # line by line: the patterns take 3 ms for a text of 50 KB
    return "\n".join([_without_zeros(line) if "0u" in line else line for line in text.split("\n")])


def _without_zeros(line: str) -> str:
    if "0u + " in line:
        line = BEGINS_WITH_NOTHING.sub("", line)
    return NOTHING_ADDED.sub(r"\1", line) if " + 0u" in line else line


def tidy(text: str) -> str:
    """Indent by braces, and drop blank lines and dead arithmetic."""
    out: list[str] = []
    margin = ""
    for line in _without_gaps(text).splitlines():
        line = line.strip()
        if line:
            if line[0] == "}":
                margin = margin[:-2]
            out.append(margin + line)
            if line[-1] == "{":
                margin += "  "
    return "\n".join(out) + "\n"

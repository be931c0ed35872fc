"""Renders Shaders to WGSL text, with types and expressions that the templates in wgsl/ ask for."""

import re
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, ModuleLoader, TemplateError, TemplateSyntaxError

from ..core.block_formats import KERNEL_DTYPES, BlockDType
from ..core.files import HERE, template_folder
from ..errors import KernelError
from ..kernels.bundle import BUNDLE, BundleMember
from ..kernels.ir import Shader, out_name
from .environment import ADDED, EDITED, Words, build_environment

# A position that LineMarks inserts, \x01file:line\x02: control characters that no template has.
MARK = re.compile("\x01([^:\x02]*):(\\d+)\x02")
# A zero term at the beginning of a sum. The pattern begins with literal text, which `re` searches for fast.
BEGINS_WITH_NOTHING = re.compile(r"0u(?<!\w0u) \+ ")
# `(x + 0u)` that is not an argument list becomes x; a term ` + 0u` is dropped, unless a factor follows it.
NOTHING_ADDED = re.compile(r"(?<![\w>])\((\w+) \+ 0u\)| \+ 0u\b(?! [*/%])")
COMPILED = HERE / "templates"  # templates as Python modules, in a site: compiling there takes half a second
OPS_IN_HEAD = 10
# (name in templates, the kernel's option with its dtype, elements); `dtype` is by default that of in0
TYPES = ("T", "dtype", 1), ("V", "acc", 4)
LIBRARY = (
    "lib/math.wgsl",
    "lib/trig.wgsl",
    "lib/integer_division.wgsl",
    "lib/faults.wgsl",
    "lib/bessel.wgsl",
    "lib/numeric.wgsl",
    "lib/sort_keys.wgsl",
    "lib/packed.wgsl",
    "lib/blocks.wgsl",
    "lib/random.wgsl",
    "lib/special.wgsl",
    "lib/words.wgsl",
)
# Templates whose indices are affine in coordinates below their sizes, or clamped first (in gathers), and
# whose loops end for every size. tests/codegen/test_bounds.py watches each access.
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
# Of the dtypes without infinities. WGSL has no literal -2147483648: the sign is an operator.
LARGEST = {"i32": "2147483647", "u32": "4294967295u", "bool": "true"}
SMALLEST = {"i32": "-2147483647 - 1", "u32": "0u", "bool": "false"}


def add_template(name: str, text: str) -> None:
    """Add a custom op's text as a template; KernelError with the line of a syntax error."""
    try:
        environment().parse(text)
    except TemplateError as e:
        raise KernelError(f"{name}:{getattr(e, 'lineno', '?')}: {e.message}") from e
    ADDED[name] = text


def undefined_names(text: str) -> list[str]:
    """The names that a template uses and does not define, sorted."""
    from jinja2.meta import find_undeclared_variables

    return sorted(find_undeclared_variables(environment().parse(text)) - environment().globals.keys())


@cache
def environment(marked: bool = False) -> Environment:
    """The environment that renders templates. marked: with LineMarks, never from COMPILED."""
    ahead = [ModuleLoader(COMPILED)] if COMPILED.is_dir() and not marked else []
    return build_environment(Environment, ahead, WORDS, marked, "templates")


def compile_templates(folder: Path) -> None:
    """Write the templates as Python modules; those in COMPILED are used in place of the texts."""
    ours = environment().overlay(loader=FileSystemLoader(template_folder()))
    ours.compile_templates(folder, extensions=["wgsl"], zip=None)


def render(shader: Shader) -> str:
    """Turn a Shader into WGSL text; KernelError with the template's file and line when that fails."""
    return tidy(_render(shader, environment()))


def is_proven(shader: Shader) -> bool:
    """Whether a kernel needs no index checks: its template is in PROVEN and has no WGSL of a user."""
    if shader.template == BUNDLE:
        return all(is_proven(m.shader) for m in members_of(shader))
    return shader.template in PROVEN and is_ours(shader)


def members_of(shader: Shader) -> tuple[BundleMember, ...]:
    """The kernels of a bundle."""
    return dict(shader.options)["members"]


def is_ours(shader: Shader) -> bool:
    """Whether a kernel has no WGSL of a user."""
    if not ADDED:
        return True
    if shader.template == BUNDLE:
        return all(is_ours(m.shader) for m in members_of(shader))
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
        WgslLine(line, tuple(dict.fromkeys((file, int(line_number)) for file, line_number in marks)))
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
    try:
        texts = _member_texts(shader, env, called) if shader.template == BUNDLE else []
        # The library last: rendering a text fills `called`.
        return _text(shader, env, called, texts=texts) + _helpers(env, called)
    except TemplateError as e:
        file, line = line_of(e) or (shader.template, "?")
        raise KernelError(f"render({shader.template}): {file}:{line}: {e.message}") from e


def _text(shader: Shader, env: Environment, called: dict[str, Any], **more: Any) -> str:
    """A kernel's text without library functions, which it records in `called`."""
    out_dtype, out_width = shader.outs[0]
    wgsl, options, functions = partial(Wgsl, called=called), dict(shader.options), dict(shader.functions)
    names, checks, head = [out_name(i) for i in range(len(shader.outs))], shader.checks, _head(shader)
    outs = [
        (n, KERNEL_DTYPES[d].stored, KERNEL_DTYPES[d].words[w])
        for n, (d, w) in zip(names, shader.outs, strict=True)
    ]
    keys = options | {"dtype": options.get("dtype", next(iter(options.get("dtypes", ())), ""))}
    types = {name: wgsl(keys[key], width) for name, key, width in TYPES if keys.get(key)}
    return env.get_template(shader.template).render(
        {"ranged": "", "atomics": False} | types | options | more,
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


# In a member's text: its position marks, `p.name`, and names that are not fields.
NAMES = re.compile("\x01[^\x02]*\x02|\\bp\\.(\\w+)|(?<![\\w.])([A-Za-z_]\\w*)")
DECLARED = re.compile("^(?:\x01[^\x02]*\x02|[ ])*(?:fn|struct|const) (\\w+)", re.MULTILINE)
ENTRY = re.compile("@compute .*?lid: vec3<u32>\\) {", re.DOTALL)
SHARED = re.compile("^(?:\x01[^\x02]*\x02|[ ])*var<workgroup> (\\w+): (.*);.*\n", re.MULTILINE)


def _member_texts(bundle: Shader, env: Environment, called: dict[str, Any]) -> list[str]:
    """The code of a bundle's kernels, with distinct names. Workgroup memory of one name and type is
    shared: a workgroup runs one of them."""
    memory: dict[tuple[str, str], str] = {}
    texts: list[str] = []
    for index, member in enumerate(members_of(bundle)):
        text = _without_head(_text(member.shader, env, called))
        names = dict(member.buffers) | {name: f"{name}{index}" for name in DECLARED.findall(text)}
        declarations = {(name, type_name): line for line, name, type_name in _memory_of(text)}
        for key, line in declarations.items():
            if key in memory:
                text = text.replace(line, "")
            names[key[0]] = memory.setdefault(key, f"{key[0]}{index}")
        texts.append(_rename(text, names, dict(member.words)))
    return texts


def _without_head(text: str) -> str:
    """A kernel's text without Params and bindings, and with a plain function in place of its entry point."""
    last = text.rfind("@group(0)")
    return ENTRY.sub("fn main(wid: vec3<u32>, lid: vec3<u32>) {", text[text.index("\n", last) :])


def _memory_of(text: str) -> list[tuple[str, str, str]]:
    """The lines that declare workgroup memory, with its name and type."""
    return [(m.group(), m.group(1), MARK.sub("", m.group(2))) for m in SHARED.finditer(text)]


def _rename(text: str, names: dict[str, str], words: dict[str, str]) -> str:
    """A text with other names of functions, variables and Params."""

    def renamed(match: re.Match[str]) -> str:
        word, name = match.groups()
        if word is not None:
            return f"p.{words[word]}"
        return names.get(name, name) if name is not None else match.group()

    return NAMES.sub(renamed, text)


def _head(shader: Shader) -> str:
    """The first line of a kernel's text: its template, workgroup and fused elementwise ops. Without shapes,
    since equal shaders have equal texts (runtime/show.py adds them for readers)."""
    shaders = [m.shader for m in members_of(shader)] if shader.template == BUNDLE else [shader]
    ops = [s.name.strip("_") for of in shaders for _, f in of.functions for s in f.steps if s.kind == "op"]
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


# --- expressions and types for templates ---


def with_suffix(text: str, end: str) -> str:
    """A name with a suffix; a filter of templates."""
    return f"{text}{end}"


def with_prefix(text: str, begin: str) -> str:
    """A name with a prefix; a filter of templates."""
    return f"{begin}{text}"


def parenthesize(text: str) -> str:
    """An operand of a product: in parentheses unless it is a single name."""
    return text if text.replace(".", "").isidentifier() else f"({text})"  # `p.size` is one name too


def plus(a: str, n: int) -> str:
    """a + n."""
    return f"{a} + {n}u" if n else a


def times(a: str, n: int) -> str:
    """a * n."""
    return a if n == 1 else f"{parenthesize(a)} * {n}u"


def over(a: str, n: int) -> str:
    """a / n."""
    return a if n == 1 else f"{parenthesize(a)} / {n}u"


def modulo(a: str, n: int) -> str:
    """a % n."""
    return "0u" if n == 1 else f"{parenthesize(a)} % {n}u"


def sum_of(*terms: str) -> str:
    """The sum of the terms, of which those that are 0 are left out."""
    return " + ".join([t for t in terms if t and t != "0u"]) or "0u"


def index_of(index: Any, suffix: str = "") -> str:
    """A WgslIndex: its offset, and each coordinate (with a suffix) times its stride."""
    terms = [f"p.{index.offset}"] if index.offset else []
    # A stride of 1 is part of the structure, not a Params name.
    terms += [f"{c}{suffix}" if s == "1" else f"{c}{suffix} * p.{s}" for c, s in index.terms]
    return " + ".join(terms) or "0u"


def within(tests: Iterable[Any]) -> str:
    """Whether every position of PaddingTests is below its size."""
    return " & ".join([f"({index_of(t.position)} < p.{t.size})" for t in tests])


def of_four(name: str, i: int) -> str:
    """The i-th of the numbers that lie in the vec4s name0, name1, ..."""
    return f"{name}{i // 4}.{'xyzw'[i % 4]}"


WORDS = Words(
    {f.__name__: f for f in (parenthesize, plus, times, over, modulo, sum_of, index_of, within, of_four)},
    {"suffix": with_suffix, "prefix": with_prefix},
)


class Wgsl(str):
    """A WGSL type as templates see it: its text, related types, and the library functions called for it."""

    dtype: Any
    width: int
    called: dict[str, tuple[str, "Wgsl"]]

    def __new__(cls, short: str, width: int, called: dict[str, tuple[str, "Wgsl"]]):
        dtype = KERNEL_DTYPES[short]
        self = super().__new__(cls, vec(dtype.wgsl, width))
        self.dtype, self.width, self.called = dtype, width, called
        return self

    @property
    def kind(self) -> str:
        return self.dtype.kind

    @property
    def zero(self) -> str:
        return "false" if self.kind == "b" else "0"

    @property
    def highest(self) -> str:
        """The largest scalar: the minimum of no elements."""
        return LARGEST.get(self.dtype.wide.short) or self._constant("infinity")

    @property
    def lowest(self) -> str:
        """The smallest scalar: the maximum of no elements."""
        return SMALLEST.get(self.dtype.wide.short) or self._constant("minus_infinity")

    @property
    def infinity(self) -> str:
        return self._splat(self._constant("infinity"))

    @property
    def minus_infinity(self) -> str:
        return self._splat(self._constant("minus_infinity"))

    @property
    def nan(self) -> str:
        return self._splat(self._constant("not_a_number"))

    def _constant(self, name: str) -> str:
        """A call of a library function of no arguments: see wgsl/lib/math.wgsl."""
        return f"{self.scalar.call(name)}()"

    def _splat(self, scalar: str) -> str:
        return f"{self}({scalar})" if self.width > 1 else scalar

    @property
    def u(self) -> str:
        return vec("u32", self.width)

    @property
    def i(self) -> str:
        return vec("i32", self.width)

    @property
    def b(self) -> str:
        return vec("bool", self.width)

    @property
    def scalar(self) -> "Wgsl":
        return Wgsl(self.dtype.short, 1, self.called)

    def fn(self, name: str) -> str:
        return f"{name}_{self.dtype.wide.short}" + (f"x{self.width}" if self.width > 1 else "")

    def call(self, name: str) -> str:
        """The name of a library function for this type. Records the function, so that its text is added."""
        self.called.setdefault(self.fn(name), (name, self))
        return self.fn(name)

    def of(self, stored: str) -> str:
        """A stored scalar as a value of this type."""
        if self.kind == "b":
            return f"{self}({stored} != 0u)"
        return self.wrap(f"{self}({stored})")

    def load(self, buffer: str, index: str, width: int) -> str:
        """Element `at` of a buffer (with its three neighbours at width 4) as a value of this type, splatted
        when it is narrower."""
        if self.dtype.is_packed:
            cell = self._unpack(buffer, index, width)
        elif isinstance(self.dtype, BlockDType):
            cell = self._decode(self.dtype, buffer, index, width)
        else:
            cell = f"{buffer}[{over(index, 4) if width == 4 else index}]"
        if self.kind == "b":
            cell = f"({cell} != {vec('u32', width)}(0u))"
        return f"{self}({cell})" if width < self.width else cell

    def _unpack(self, buffer: str, index: str, width: int) -> str:
        unpack = Wgsl(self.dtype.short, width, self.called).call(f"unpack_{self.dtype.short}")
        if width == 4:
            return f"{unpack}({buffer}[{over(index, 4)}])"
        # The word of the element, and the element's index, whose low bits select the part of the word.
        return f"{unpack}({buffer}[{over(index, 4 // self.dtype.itemsize)}], {index})"

    def _decode(self, dtype: BlockDType, buffer: str, index: str, width: int) -> str:
        """Element `at` of an array of quantised blocks, from the words that decoding it reads."""
        decoded = Wgsl(dtype.short, width, self.called)
        decoded.scalar.call(f"words_{dtype.short}")
        words = [f"{buffer}[{dtype.short}_word{i}({index})]" for i in range(dtype.reads)]
        return f"{decoded.call(f'unpack_{dtype.short}')}({', '.join(words)}, {index})"

    def store(self, value: str) -> str:
        """A value of this type in the form that its buffer holds; four neighbours if it is packed."""
        if self.dtype.is_packed:
            assert self.width == 4, "packed elements are written in whole words"
            return f"{self.call(f'pack_{self.dtype.short}')}({value})"
        return f"select({self.u}(0u), {self.u}(1u), {value})" if self.kind == "b" else value

    def wrap(self, value: str) -> str:
        """Bring a computed 8- or 16-bit integer into its range; other types are unchanged."""
        if not (self.dtype.is_int and self.dtype.is_packed):
            return value
        # Left, then right: the right shift fills with the sign bit if the value is an i32.
        shift = f"{self.u}({32 - 8 * self.dtype.itemsize}u)"
        return f"(({value} << {shift}) >> {shift})"

    def settle(self, value: str) -> str:
        """Round a 16-bit float as a store would, and wrap small integers."""
        if self.dtype.is_float and self.dtype.is_packed:
            return f"{self.call(f'settle_{self.dtype.short}')}({value})"
        return self.wrap(value)


def vec(scalar: str, width: int) -> str:
    return scalar if width == 1 else f"vec{width}<{scalar}>"

"""Rendering: a Shader becomes WGSL text, by the templates in wgsl/. The only module that imports jinja2."""

import pickle
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    DictLoader,
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    ModuleLoader,
    StrictUndefined,
    TemplateError,
)

from .cache import cache_folder
from .dtype import SHORT
from .errors import KernelError
from .files import read_checked, write_checked
from .heads import out_name

HERE = Path(__file__).resolve().parent
COMPILED = HERE / "templates"  # as Python: in a site, where compiling them would take half a second
INFINITY = (
    "bitcast<f32>({}u | min(lid.x, 0u))"  # WGSL has no such constant, and none may be made at compile time
)
LIBRARY = (
    "math.wgsl",
    "angle.wgsl",
    "division.wgsl",
    "faults.wgsl",
    "bessel.wgsl",
    "numeric.wgsl",
    "order.wgsl",
    "packed.wgsl",
    "random.wgsl",
    "special.wgsl",
)
LARGEST = {"f32": INFINITY.format("0x7f800000"), "i32": "2147483647", "u32": "4294967295u", "bool": "true"}
SMALLEST = {"f32": INFINITY.format("0xff800000"), "i32": "-2147483647 - 1", "u32": "0u", "bool": "false"}


def template_folder() -> Path:
    """wgsl/ at the top of the repository in a checkout, beside the package's modules in a wheel."""
    checkout = HERE.parents[1] / "wgsl"
    return checkout if (checkout / "kernel.wgsl").is_file() else HERE / "wgsl"


ADDED: dict[str, str] = {}  # templates of custom ops


def add_template(name: str, text: str) -> None:
    """Make a custom op's text a template; KernelError with the line that is no template."""
    try:
        environment().parse(text)
    except TemplateError as e:
        raise KernelError(f"{name}:{getattr(e, 'lineno', '?')}: {e.message}") from e
    ADDED[name] = text


def _elementwise(name: str) -> Any:
    """The macro of an elementwise op: ours, or a custom op's, whose file is named after it."""
    own = getattr(environment().get_template("elementwise.wgsl").module, name, None)
    return own or environment().get_template(name + ".wgsl").module.value  # type: ignore[attr-defined]


class Kept(FileSystemBytecodeCache):
    """Templates as bytecode in the user's cache, since compiling them takes longer than all else at a start.

    A file that is damaged, of another text or of another version is made anew; a folder that can't be written
    keeps none.
    """

    def load_bytecode(self, bucket) -> None:
        try:
            if data := read_checked(Path(self._get_cache_filename(bucket))):
                bucket.bytecode_from_string(data)
        except (EOFError, ValueError, TypeError, pickle.UnpicklingError):  # of another Python
            bucket.reset()

    def dump_bytecode(self, bucket) -> None:
        with suppress(OSError):
            write_checked(Path(self._get_cache_filename(bucket)), bucket.bytecode_to_string())


def kept() -> Kept | None:
    """The cache of templates, where there is a place for one (a page has them compiled already)."""
    with suppress(OSError, RuntimeError):  # RuntimeError: nobody's home
        folder = cache_folder("templates")
        if sys.platform != "emscripten":
            folder.mkdir(parents=True, exist_ok=True)
            return Kept(str(folder))
    return None


@cache
def environment() -> Environment:
    ahead = [ModuleLoader(COMPILED)] if COMPILED.is_dir() else []
    made = Environment(
        loader=ChoiceLoader([*ahead, FileSystemLoader(template_folder()), DictLoader(ADDED)]),
        line_statement_prefix="//%",
        line_comment_prefix="//#",
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        cache_size=-1,
        auto_reload=False,
        bytecode_cache=kept(),
    )
    made.globals["elementwise"] = _elementwise
    made.filters["suffix"] = lambda text, end: f"{text}{end}"
    made.filters["prefix"] = lambda text, begin: f"{begin}{text}"
    return made


def compile_templates(folder: Path) -> None:
    """Write the templates as Python modules, which are found first where they lie in COMPILED."""
    ours = environment().overlay(loader=FileSystemLoader(template_folder()))
    ours.compile_templates(folder, extensions=["wgsl"], zip=None)


class Wgsl(str):
    """A WGSL type as templates see it: its text, its relatives, and the functions called on it."""

    dtype: Any
    width: int
    called: dict

    def __new__(cls, short: str, width: int, called: dict):
        dtype = SHORT[short]
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
        return LARGEST[self.dtype.wide.short]

    @property
    def lowest(self) -> str:
        return SMALLEST[self.dtype.wide.short]

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
        """The name of a library function for this type, which is thereby added to the kernel."""
        self.called.setdefault(self.fn(name), (name, self))
        return self.fn(name)

    def of(self, stored: str) -> str:
        """A stored scalar as a value of this type."""
        if self.kind == "b":
            return f"{self}({stored} != 0u)"
        return self.wrap(f"{self}({stored})")

    def load(self, buffer: str, at: str, width: int) -> str:
        """Element `at` of a buffer (with its three neighbours at width 4) as a value of this type, splatted
        when it is narrower."""
        if self.dtype.is_packed:
            cell = self._unpack(buffer, at, width)
        else:
            cell = f"{buffer}[{f'({at}) / 4u' if width == 4 else at}]"
        if self.kind == "b":
            cell = f"({cell} != {vec('u32', width)}(0u))"
        return f"{self}({cell})" if width < self.width else cell

    def _unpack(self, buffer: str, at: str, width: int) -> str:
        unpack = Wgsl(self.dtype.short, width, self.called).call(f"unpack_{self.dtype.short}")
        if width == 4:
            return f"{unpack}({buffer}[({at}) / 4u])"
        return f"{unpack}({buffer}[({at}) / {4 // self.dtype.itemsize}u], {at})"

    def store(self, value: str) -> str:
        """A value of this type as what its buffer holds; a packed one is four neighbours."""
        if self.dtype.is_packed:
            assert self.width == 4, "packed elements are written in whole words"
            return f"{self.call(f'pack_{self.dtype.short}')}({value})"
        return f"select({self.u}(0u), {self.u}(1u), {value})" if self.kind == "b" else value

    def wrap(self, value: str) -> str:
        """A computed value brought into the range of an 8-bit type; of other types it is left alone."""
        if not (self.dtype.is_int and self.dtype.is_packed):
            return value
        shift = f"{self.u}(24u)"
        return f"(({value} << {shift}) >> {shift})"

    def settle(self, value: str) -> str:
        """A value as it would be read back from a buffer: 16-bit floats are rounded."""
        if self.dtype.is_float and self.dtype.is_packed:
            return f"{self.call(f'settle_{self.dtype.short}')}({value})"
        return self.wrap(value)


def vec(scalar: str, width: int) -> str:
    return scalar if width == 1 else f"vec{width}<{scalar}>"


def render(shader) -> str:
    """Turn a Shader into WGSL text; KernelError with the template's file and line when that fails."""
    called: dict = {}

    def wgsl(short: str, width: int) -> Wgsl:
        return Wgsl(short, width, called)

    out_dtype, out_width = shader.outs[0]
    try:
        env = environment()
        text = env.get_template(shader.template).render(
            dict(shader.options),
            params=shader.params,
            bindings=shader.bindings,
            outs=[(out_name(i), SHORT[d].stored, SHORT[d].words(w)) for i, (d, w) in enumerate(shader.outs)],
            out_width=out_width,
            out_dtype=out_dtype,
            workgroup=shader.workgroup,
            functions=shader.functions,
            checks=shader.checks,
            ranged=dict(shader.options).get("ranged", ""),
            atomics=dict(shader.options).get("atomics", False),
            acc=dict(shader.options).get("acc", "f32"),
            wgsl=wgsl,
            vec=vec,
        )
        return tidy(text + _helpers(env, called))
    except TemplateError as e:
        where = f"{getattr(e, 'name', None) or shader.template}:{getattr(e, 'lineno', '?')}"
        raise KernelError(f"render({shader.template}): {where}: {e.message}") from e


def _helpers(env: Environment, called: dict) -> str:
    """The library functions that were called, and those that they call."""
    library = {name: m for file in LIBRARY for name, m in vars(env.get_template(file).module).items()}
    done: dict[str, str] = {}
    while todo := [k for k in called if k not in done]:
        for name in todo:
            macro, wgsl_type = called[name]
            done[name] = library[macro](wgsl_type)
    return "".join(done[k] for k in sorted(done))


def tidy(text: str) -> str:
    """Indent by braces, and drop blank lines and the empty terms that generated lists begin or end with."""
    text = re.sub(r"(?<!\w)0u \+ ", "", text).replace(", )", ")")
    out, depth = [], 0
    for line in map(str.strip, text.splitlines()):
        if line:
            depth -= line.startswith("}")
            out.append("  " * depth + line)
            depth += line.endswith("{")
    return "\n".join(out) + "\n"

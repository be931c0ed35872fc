"""Rendering: a Shader becomes WGSL text, by the templates in wgsl/. The only module that imports jinja2."""

import pickle
import re
import sys
from contextlib import suppress
from functools import cache, partial
from itertools import product
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

from ..core.dtype import SHORT
from ..core.files import HERE, cache_folder, read_checked, template_folder, write_checked
from ..errors import KernelError
from ..kernels.ir import out_name
from .wgsl_type import Wgsl, vec

COMPILED = HERE / "templates"  # as Python: in a site, where compiling them would take half a second
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


def add_template(name: str, text: str) -> None:
    """Make a custom op's text a template; KernelError with the line that is no template."""
    try:
        environment().parse(text)
    except TemplateError as e:
        raise KernelError(f"{name}:{getattr(e, 'lineno', '?')}: {e.message}") from e
    ADDED[name] = text


def _elementwise(name: str) -> Any:
    """The macro of an elementwise op: ours, or a custom op's, whose file is named after it."""
    own = getattr(environment().get_template("lib/elementwise.wgsl").module, name, None)
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
    made.globals |= {"elementwise": _elementwise, "product": product}
    made.filters["suffix"] = lambda text, end: f"{text}{end}"
    made.filters["prefix"] = lambda text, begin: f"{begin}{text}"
    return made


def compile_templates(folder: Path) -> None:
    """Write the templates as Python modules, which are found first where they lie in COMPILED."""
    ours = environment().overlay(loader=FileSystemLoader(template_folder()))
    ours.compile_templates(folder, extensions=["wgsl"], zip=None)


def render(shader) -> str:
    """Turn a Shader into WGSL text; KernelError with the template's file and line when that fails."""
    called: dict = {}
    out_dtype, out_width = shader.outs[0]
    try:
        env = environment()
        text = env.get_template(shader.template).render(
            {"ranged": "", "atomics": False} | dict(shader.options),
            params=shader.params,
            bindings=shader.bindings,
            outs=[(out_name(i), SHORT[d].stored, SHORT[d].words(w)) for i, (d, w) in enumerate(shader.outs)],
            out_width=out_width,
            out_dtype=out_dtype,
            workgroup=shader.workgroup,
            functions=dict(shader.functions),
            checks=shader.checks,
            wgsl=partial(Wgsl, called=called),
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

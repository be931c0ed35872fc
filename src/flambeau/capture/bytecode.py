"""Analyses bytecode: which variables' attributes, globals and modules a function uses."""

import dis
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import resolve_name
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from ..core.tree import is_tuple

# instructions that access an attribute; prefixes of instructions that load a variable; instructions that load
# a variable's cell; instructions whose names are not variables
TAKES = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR")
LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "STORE_FAST_LOAD_FAST")
CELLS = ("MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE", "LOAD_FAST", "LOAD_FAST_BORROW")
NO_VARIABLE = (*TAKES, "LOAD_CONST", "RETURN_CONST", "KW_NAMES")
# functions with an attribute's name as an argument; names that reach all attributes of an object; names that
# reach
# objects beyond the arguments
BY_NAME = {"getattr", "setattr", "delattr", "hasattr", "attrgetter", "methodcaller"}
WHOLE = {"vars", "dir", "__dict__", "__getattribute__", "getmembers", "getattr_static", "__slots__"}
ANYWHERE = {"__globals__", "__builtins__", "f_globals", "f_locals", "f_back", "cell_contents", "__closure__"}
ANYWHERE.update(
    {"__subclasses__", "_getframe", "currentframe", "get_referrers", "get_objects", "import_module"}
)
ANYWHERE_CALLED = {"globals", "eval", "exec", "__import__"}
CALLING = ("PRECALL", "CALL")
BEFORE_A_NAME = ("PUSH_NULL", "LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "PRECALL")


@cache
def taken_of(code: CodeType, variable: str, everywhere: bool) -> frozenset[tuple[str, bool]] | None:
    """Find the attributes of a variable (a global one if `everywhere`) that code and its inner functions
    read, each with whether it is called at once. None if the code uses the variable in any other way."""
    if "super" in code.co_names:  # super() finds the first argument itself
        return None
    taken: set[tuple[str, bool]] = set()
    steps = list(dis.get_instructions(code))
    cell = variable in code.co_cellvars or variable in code.co_freevars
    for i, step in enumerate(steps):
        names = step.argval if is_tuple(step.argval) else (step.argval,)
        if variable not in names or step.opname in NO_VARIABLE or (cell and step.opname in CELLS):
            continue
        after = steps[i + 1 : i + 3]
        if after and after[0].opname == "COPY" and after[0].arg == 1:  # self.count += 1
            after = after[1:]
        if variable in names[:-1] or not step.opname.startswith(LOADS) or not after:
            return None
        if after[0].opname not in TAKES or after[0].argval.startswith("__"):
            return None
        taken.add((after[0].argval, _is_call(after[0])))
    for inner in code.co_consts:
        if isinstance(inner, CodeType) and (everywhere or variable in inner.co_freevars):
            more = taken_of(inner, variable, everywhere)
            if more is None:
                return None
            taken |= more
    return frozenset(taken)


def _is_call(step: dis.Instruction) -> bool:
    """Whether the attribute is called at this instruction."""
    late = sys.version_info >= (3, 12)
    return step.opname == "LOAD_METHOD" or (late and step.opname == "LOAD_ATTR" and bool((step.arg or 0) & 1))


class Names(NamedTuple):
    """The names in code and its inner functions: the globals they read, each with the attribute read from
    it ("" for none); the attributes they read from any object; the modules they import, each with its
    relative level; whether they may read any attribute; the functions by which they reach other objects."""

    used: frozenset[tuple[str, str]]
    attributes: frozenset[str]
    modules: frozenset[tuple[str, int]]
    all_of_objects: bool
    anywhere: str


@cache
def names_of(code: CodeType) -> Names:
    """Collect the names in code."""
    used: set[tuple[str, str]] = set()
    attributes: set[str] = set()
    modules: set[tuple[str, int]] = set()
    names: Sequence[str] = ()
    all_of_objects, anywhere, before, steps = False, "", "", list(dis.get_instructions(code))
    for i, step in enumerate(steps):
        name = step.argval if isinstance(step.argval, str) else ""
        is_global = step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        is_taken = step.opname in TAKES or step.opname in ("IMPORT_FROM", "LOAD_SUPER_ATTR")
        if is_taken:
            attributes.add(name)
            if before:
                used.add((before, name))
        before = name if is_global else ""
        if is_global:
            used.add((name, ""))
        elif step.opname == "IMPORT_NAME":
            modules.add((name, next(s.argval for s in steps[i - 2 : i] if isinstance(s.argval, int))))
        elif step.opname == "MATCH_CLASS":
            all_of_objects = True
        if not is_global and not is_taken:
            continue
        if name in BY_NAME:
            names = _constant_names(steps[i + 1 :])
            attributes.update(names)
            all_of_objects |= not names
        all_of_objects |= name in WHOLE
        if name in ANYWHERE or (is_global and name in ANYWHERE_CALLED):
            anywhere = name
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more = names_of(inner)
            used |= more.used
            attributes |= more.attributes
            modules |= more.modules
            all_of_objects, anywhere = all_of_objects or more.all_of_objects, anywhere or more.anywhere
    return Names(frozenset(used), frozenset(attributes), frozenset(modules), all_of_objects, anywhere)


def _constant_names(steps: list[dis.Instruction]) -> list[str]:
    """Return the constant name argument of `getattr` and similar functions."""
    for i, step in enumerate(steps):
        if step.opname == "LOAD_CONST":
            is_called = any(
                s.opname.startswith(CALLING) for s in steps[i + 1 : i + 3]
            )  # perhaps with a default
            return step.argval.split(".") if is_called and isinstance(step.argval, str) else []
        if not step.opname.startswith(BEFORE_A_NAME):
            break
    return []


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of its inner functions."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes_of(inner)


def modules_taken_whole(code: CodeType, scope: dict[str, Any]) -> Iterator[ModuleType]:
    """Yield the modules that code uses in another way than by reading an attribute: it passes them on, or
    stores them. Code that computes an attribute's name can reach only these.

    scope: the globals
    """
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("CACHE", "EXTENDED_ARG", "PUSH_NULL")]
    roots: dict[str, Any] = {}
    for i, step in enumerate(steps):
        if step.opname in ("IMPORT_NAME", "IMPORT_FROM"):
            value = _imported(steps, i, scope)
            target = next((s for s in steps[i + 1 : i + 4] if s.opname not in ("SWAP", "POP_TOP")), step)
            if target.opname == "STORE_FAST" and target.argval not in code.co_cellvars:
                roots[target.argval] = value
            elif isinstance(value, ModuleType) and target.opname != "IMPORT_FROM":
                yield value
    for i, step in enumerate(steps):
        names = step.argval if is_tuple(step.argval) else (step.argval,)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = scope.get(str(step.argval))
        elif step.opname.startswith("LOAD_FAST"):
            value = next((roots[n] for n in names if n in roots), None)
        else:
            continue
        if isinstance(value, ModuleType) and (
            len(names) > 1 or isinstance(_end(value, steps, i), ModuleType)
        ):
            yield value
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from modules_taken_whole(inner, scope)


def _end(value: Any, steps: Sequence[dis.Instruction], i: int) -> Any:
    """The value at the end of `a.b.c`, as far as it begins with modules; instruction i loads a."""
    while isinstance(value, ModuleType) and i + 1 < len(steps):
        after = steps[i + 1]
        if after.opname in ("STORE_ATTR", "DELETE_ATTR"):
            return None
        if after.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            name, i = after.argval, i + 1
        elif steps[i - 1].argval in ("getattr", "hasattr") and isinstance(after.argval, str):
            call = next((k for k in range(i + 2, min(i + 6, len(steps))) if steps[k].opname == "CALL"), None)
            if after.opname != "LOAD_CONST" or call is None:
                return value
            if steps[i - 1].argval == "hasattr":
                return None
            name, i = after.argval, call
        else:
            return value
        value = _member(value, name)
    return value


def _member(module: ModuleType, name: str) -> Any:
    """A module's attribute. One that the module makes when it is asked may be anything: then the module."""
    missing: Any = sys.modules.get(f"{module.__name__}.{name}")
    return vars(module).get(name, missing if missing or "__getattr__" not in vars(module) else module)


def _imported(steps: Sequence[dis.Instruction], i: int, scope: dict[str, Any]) -> Any:
    """What an import instruction puts on the stack, if it is in sys.modules: None otherwise."""
    step = steps[i]
    if step.opname == "IMPORT_FROM":
        before = next(k for k in range(i, -1, -1) if steps[k].opname == "IMPORT_NAME")
        owner = _imported(steps, before, scope)
        return vars(owner).get(step.argval) if isinstance(owner, ModuleType) else None
    level, names = steps[i - 2].argval, steps[i - 1].argval
    name = resolve_name("." * level + step.argval, scope.get("__package__")) if level else step.argval
    return sys.modules.get(name if names else name.partition(".")[0])

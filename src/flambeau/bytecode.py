"""Bytecode into what code takes of a variable, and into the globals and attributes that it names."""

import dis
import sys
from functools import cache
from types import CodeType

# what takes an attribute; how the names of what loads a variable begin; what takes the cell that
# a variable is in; whose names are none of variables
TAKES = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR")
LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "STORE_FAST_LOAD_FAST")
CELLS = ("MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE", "LOAD_FAST", "LOAD_FAST_BORROW")
NO_VARIABLE = (*TAKES, "LOAD_CONST", "RETURN_CONST", "KW_NAMES")
# by these code gets at attributes that it does not name, or at objects that it is not given
REACHING = {"getattr", "setattr", "delattr", "hasattr", "vars", "dir", "locals", "globals", "eval", "exec"}
REACHING |= {"attrgetter", "methodcaller", "__dict__", "__self__", "__getattribute__", "__closure__"}
REACHING |= {"__globals__", "cell_contents", "f_locals", "get_referrers", "get_objects"}


@cache
def taken_of(code: CodeType, variable: str, everywhere: bool) -> frozenset[tuple[str, bool]] | None:
    """The attributes that code and the functions inside take of a variable (a global one if `everywhere`),
    each with whether it is called at once; None where they do anything else with it."""
    if "super" in code.co_names:  # it finds the first argument by itself
        return None
    taken, steps = set(), list(dis.get_instructions(code))
    cell = variable in code.co_cellvars or variable in code.co_freevars
    for i, step in enumerate(steps):
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
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
    """Whether what it takes of an object is called there."""
    late = sys.version_info >= (3, 12)
    return step.opname == "LOAD_METHOD" or (late and step.opname == "LOAD_ATTR" and bool((step.arg or 0) & 1))


@cache
def names_of(code: CodeType) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    """The globals that code reads, each with the attribute that is taken of it there ("" for none), and all
    attributes that it takes of anything; of the functions inside as well."""
    used, attributes, before = set(), set(), ""
    for step in dis.get_instructions(code):
        if step.opname in TAKES:
            attributes.add(step.argval)
            if before and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                used.add((before, step.argval))
        before = step.argval if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ""
        if before:
            used.add((before, ""))
            attributes |= REACHING & {before}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, further = names_of(inner)
            used |= more
            attributes |= further
    return frozenset(used), frozenset(attributes)

"""Inspects a call of a script's function, with the arguments that the script passes."""

import ast
import builtins
import sys
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from ..core.events import BlockEnd, subscribe
from ..errors import FlambeauError, suggest
from ..tensor import Tensor
from .call import Look, TargetCall, inspecting

HOOK = "__flambeau_inspected__"
STEP = "Learner.step"


class _ScriptEnd(BlockEnd):
    """Ends a script with a result."""

    def __init__(self, result: Any):
        self.result = result


class _Hook:
    """Wraps a function: inspects its call of the requested number and ends the script."""

    def __init__(self, target: str, number: int, look: Look):
        self.target, self.number, self.look, self.calls = target, number, look, 0

    def __call__(self, fn: Any) -> Any:
        if not callable(fn):
            raise FlambeauError(f"inspect: {self.target}: it is {type(fn).__name__}, which can't be called")

        def call(*args: Any, **kw: Any) -> Any:
            self.count(fn, args, kw)
            return fn(*args, **kw)

        return call

    def count(self, fn: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> None:
        """Count a call before it runs."""
        self.calls += 1
        if self.calls == self.number:
            raise _ScriptEnd(self.look(TargetCall(self.target, fn, args, kw)))


def of_script(
    path: Path, function: str, arguments: tuple[str, ...], number: int, look: Look | None = None
) -> Any:
    """Run a script until it calls a function for the `number`th time, and inspect that call; inspect the
    whole script if no function is named. FlambeauError if it does not define the function, never calls it, or
    raises.

    function: of the script, or Learner.step for a step of its Learner. look: called with the call; None
    inspects it.
    """
    look, tree = look or inspecting(), _tree(path)
    if not function:
        return look(TargetCall(str(path), _run, (path, tree, {}, arguments), {}, True))
    hook = _Hook(f"{path}::{function}", number, look)
    is_step = function == STEP and "Learner" not in dict(_definitions(tree.body))
    if not is_step:
        _hook_in(tree, function.split("."), path)
    try:
        with subscribe("step", hook.count) if is_step else nullcontext():
            _run(path, tree, {HOOK: hook}, arguments)
    except _ScriptEnd as e:
        return e.result
    called = f"called {function} {hook.calls} time{'s' * (hook.calls > 1)}, not {number}"
    if not hook.calls:
        called = f"never called {function}"
    advice = "train with a Learner there" if is_step else "call it there"
    raise FlambeauError(f"inspect: {path}: it ran to the end and {called}: {advice}")


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), str(path))
    except OSError as e:
        raise FlambeauError(f"inspect: {path}: {e.strerror}: check the path") from None
    except (SyntaxError, ValueError) as e:
        line = f":{e.lineno}" if isinstance(e, SyntaxError) and e.lineno else ""
        raise FlambeauError(f"inspect: {path}{line}: is not Python: {e.args[0]}") from None


def _hook_in(tree: ast.Module, names: list[str], path: Path) -> None:
    """Hook a function of a script, or of one of its classes."""
    body, definition = tree.body, None
    for i, name in enumerate(names):
        definitions = dict(_definitions(body))
        if name not in definitions:
            where = ".".join(names[: i + 1])
            raise FlambeauError(f"inspect: {path}: it defines no {where}{suggest(name, definitions)}")
        definition = definitions[name]
        if i < len(names) - 1:
            if not isinstance(definition, ast.ClassDef):
                raise FlambeauError(
                    f"inspect: {path}: {name} is not a class: name a function, or Class.method"
                )
            body = definition.body
    if isinstance(definition, ast.FunctionDef):
        definition.decorator_list.insert(0, _name(HOOK, definition))  # outermost: also around jit
    elif isinstance(definition, ast.ClassDef | ast.AsyncFunctionDef):
        kind = "a class: name one of its methods" if isinstance(definition, ast.ClassDef) else "asynchronous"
        raise FlambeauError(f"inspect: {path}: {'.'.join(names)} is {kind}")
    elif definition is not None:  # step = fb.jit(...)
        call = ast.Call(_name(HOOK, definition), [_name(names[-1], definition)], [])
        # `step = hook(step)` after the assignment.
        wrapped = ast.Assign([ast.Name(names[-1], ast.Store())], call)
        _insert_after(body, definition, ast.fix_missing_locations(ast.copy_location(wrapped, definition)))


def _name(name: str, near: ast.stmt) -> ast.expr:
    return ast.fix_missing_locations(ast.copy_location(ast.Name(name, ast.Load()), near))


def _insert_after(body: list[ast.stmt], statement: ast.stmt, more: ast.stmt) -> None:
    for inside in _blocks(body):
        if statement in inside:
            inside.insert(inside.index(statement) + 1, more)
            return


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Yield a list of statements and the lists inside of its compound statements."""
    yield body
    for statement in body:
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for part in ("body", "orelse", "finalbody"):
                yield from _blocks(getattr(statement, part, []))


def _definitions(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Yield (name, statement) for the names that statements define; the last definition counts."""
    for inside in _blocks(body):
        for statement in inside:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield statement.name, statement
            elif isinstance(statement, ast.Assign):
                yield from ((t.id, statement) for t in statement.targets if isinstance(t, ast.Name))


@contextmanager
def _as_main(path: Path, arguments: tuple[str, ...]) -> Generator[None]:
    argv, before = sys.argv, list(sys.path)
    sys.argv, sys.path[:0] = [str(path), *arguments], [str(path.resolve().parent)]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, before


def _run(path: Path, tree: ast.Module, names: dict[str, Any], arguments: tuple[str, ...]) -> None:
    """Run a script as Python does; FlambeauError with the line where it raises."""
    space = {"__name__": "__main__", "__file__": str(path), "__builtins__": __builtins__} | names
    with _as_main(path, arguments):
        try:
            exec(compile(tree, str(path), "exec"), space)
        except FlambeauError:
            raise
        except SystemExit as e:
            if e.code not in (None, 0):
                raise FlambeauError(f"inspect: {path}: it ended by exit({e.code!r})") from None
        except Exception as e:
            raise FlambeauError(f"inspect: {path}{_line(e, path)}: it raised {type(e).__name__}: {e}") from e


def _line(error: Exception, path: Path) -> str:
    """Return the last line of the script in an error's traceback, with its text."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    return f":{frames[-1].lineno} ({frames[-1].line})" if frames else ""


def of_expression(
    text: str, known: dict[str, Any], make: Callable[[str], Any], look: Look | None = None
) -> Any:
    """Inspect an expression of tensors. known: tensors by name; make: creates one for any other name.
    FlambeauError if it is not an expression, or raises."""
    try:
        tree = ast.parse(text.strip(), "<expression>", "eval")
    except SyntaxError as e:
        raise FlambeauError(f"inspect -e {text!r}: is not an expression: {e.args[0]}") from None
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    space = known | {n: make(n) for n in sorted(names) if n not in known and not hasattr(builtins, n)}
    tensors = {n: x for n, x in space.items() if isinstance(x, Tensor) and n in names}
    arguments = ast.arguments([], [ast.arg(n) for n in tensors], None, [], [], None, [])
    # As a function, the expression can be recorded.
    body = ast.copy_location(ast.Lambda(arguments, tree.body), tree.body)
    code = compile(ast.fix_missing_locations(ast.Expression(body)), "<expression>", "eval")
    try:
        return (look or inspecting())(TargetCall(text, eval(code, space), tuple(tensors.values())))
    except FlambeauError:
        raise
    except Exception as e:
        raise FlambeauError(f"inspect -e {text!r}: it raised {type(e).__name__}: {e}") from e

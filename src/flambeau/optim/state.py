"""State dicts of optimisers in PyTorch's layout, checked before they are loaded; flat ones for files of
tensors.
"""

from functools import cache
from inspect import signature
from typing import Any

from ..errors import nearest
from ..tensor import Tensor, tensor
from .groups import SHARED

CURE = "load the state of the same optimizer and model"


def copy_state(s: dict[str, Any], copies: dict[int, Any]) -> dict[str, Any]:
    """Copy a parameter's state, so that it shares no tensors with other parameters."""
    return {
        name: copies.setdefault(id(v), tensor(v)) if isinstance(v, Tensor) else v for name, v in s.items()
    }


def check_state(
    saved_state: dict[str, Any], groups: list[Any], own: dict[Any, dict[str, Any]], kind: Any
) -> None:
    """ValueError lists all groups, names and shapes of a state_dict that do not fit, or says that it comes
    from another class of optimiser than `kind`.
    """
    problems = [f"missing: {name!r}" for name in ("state", "param_groups") if name not in saved_state]
    if not problems:
        saved = saved_state["param_groups"]
        if len(saved) != len(groups):
            problems.append(f"{len(groups)} groups, got {len(saved)}")
        for i, (group, other) in enumerate(zip(groups, saved, strict=False)):
            if len(group["params"]) != len(other["params"]):
                problems.append(f"group {i} has {len(group['params'])} tensors, got {len(other['params'])}")
            pairs = zip(other["params"], group["params"], strict=False)
            problems += [
                line for n, p in pairs for line in _misfits(n, saved_state["state"].get(n, {}), own[p])
            ]
    names, own_names = _names(saved_state.get("state", {})), _names(own)
    # other classes are named only if the state does not fit: several keep the same names
    check_names(names, kind, ", ".join(sorted(own_names)) or "nothing", bool(problems) and names != own_names)
    if problems:
        raise ValueError(f"load_state_dict(...): {'; '.join(problems)}: {CURE}")
    _check_options(names, saved_state["param_groups"], kind)


def check_names(names: set[str], kind: Any, kept: str, is_other: bool = True) -> None:
    """ValueError if a state with these names is another optimiser's, by the names that classes declare.

    kind: the class that loads it. kept: the state that this class keeps, as text. is_other: whether it does
    not fit.
    """
    owners = [k for k in kinds_of(kind) if k.may_keep(names)] if is_other else []
    if owners and kind not in owners:
        rule = f"it is the state of {_or(owners)} ({', '.join(sorted(names))})"
        raise ValueError(f"load_state_dict(...): {rule}, and {kind.__name__} keeps {kept}: {CURE}")


def _check_options(names: set[str], saved: list[dict[str, Any]], kind: Any) -> None:
    """ValueError if the options belong to another optimiser. State names alone can't tell: they may be equal,
    or the state empty, as PyTorch's is before the first step.
    """
    # all classes that could have saved a state with these names
    kinds = [k for k in kinds_of(kind) if k is kind or not names or k.may_keep(names)]
    all_options = frozenset[str]().union(*(options_of(k)[1] for k in kinds))
    for group in saved:
        own = all_options & group.keys()
        # PyTorch's files have the positional options only, so those are required and the others may be there
        fits = [k for k in kinds if options_of(k)[0] <= own <= options_of(k)[1]]
        # A subclass may load its parent's state, and the other way round.
        if fits and not any(issubclass(k, kind) or issubclass(kind, k) for k in fits):
            least, most = options_of(kind)
            wrong = [f"takes {name}" for name in sorted(least - own)]
            wrong += [f"has no {name}" for name in sorted(own - most)]
            rule = f"its options are those of {_or(fits)}, and {kind.__name__} {', '.join(wrong)}"
            raise ValueError(f"load_state_dict(...): {rule}: {CURE}")


def optimizer_class(kind: Any) -> Any:
    """The class Optimizer, by an optimiser's class."""
    return next(k for k in reversed(kind.__mro__) if hasattr(k, "may_keep"))


def kinds_of(kind: Any) -> list[Any]:
    """All optimiser classes with an `__init__`, user-defined ones included, sorted by name."""
    base = optimizer_class(kind)
    kinds: list[Any] = []
    pending = [base]
    while pending:
        k = pending.pop()
        pending += k.__subclasses__()
        if "__init__" in vars(k) and k is not base and ("<locals>" not in k.__qualname__ or k is kind):
            kinds.append(k)
    return sorted(kinds, key=lambda k: k.__name__)


@cache
def options_of(kind: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The positional options of a class, which PyTorch's has too, and all options but the shared ones."""
    # from the class to Optimizer, which [:-1] drops
    takers = [k for k in kind.__mro__ if issubclass(k, optimizer_class(kind)) and "__init__" in vars(k)][:-1]
    # without self and params
    own, *inherited = [list(signature(k.__init__).parameters.values())[2:] for k in takers]
    positional = {p.name for p in own if p.kind is not p.KEYWORD_ONLY}
    names = positional.union(p.name for parameters in (own, *inherited) for p in parameters)
    return frozenset(positional - SHARED.keys()), frozenset(names - SHARED.keys())


def _or(kinds: list[Any]) -> str:
    return " or ".join(k.__name__ for k in kinds)


def _names(state: dict[Any, dict[str, Any]]) -> set[str]:
    return {name for s in state.values() for name in s}


def _misfits(number: int, saved: dict[str, Any], own: dict[str, Any]) -> list[str]:
    """The names of a parameter's state that are missing, unknown, or of another shape; [] without state."""
    if not saved:
        return []
    lines = [f"missing: {number}.{name}" for name in own if name not in saved]
    for name in saved:
        if name not in own:
            hint = nearest(name, own)
            lines.append(f"unexpected: {number}.{name}{f' ({hint})' if hint else ''}")
            continue
        shape = tuple(getattr(saved[name], "shape", ()))
        if shape != own[name].shape:
            lines.append(f"{number}.{name} is {list(own[name].shape)}, got {list(shape)}")
    return lines


def flat_state(state_dict: dict[str, Any]) -> dict[str, Tensor]:
    """The tensors of a state_dict by the numbers of their parameters and their names, as "0.exp_avg" and
    "0+1.step", for a file of tensors; options are left out."""
    numbers: dict[tuple[int, str], list[str]] = {}
    # shared numbers are one tensor, stored once under all their parameters' numbers: "0+1.step"
    tensors = {(id(t), name): t for s in state_dict["state"].values() for name, t in s.items()}
    for i, s in state_dict["state"].items():
        for name, t in s.items():
            numbers.setdefault((id(t), name), []).append(str(i))
    return {f"{'+'.join(names)}.{key[1]}": tensors[key] for key, names in numbers.items()}


def nested_state(flat: dict[str, Any], param_groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The state_dict of `flat`, the result of flat_state, with the `param_groups` of another one."""
    state: dict[int, dict[str, Any]] = {}
    for key, t in flat.items():
        numbers, _, name = key.partition(".")
        for number in numbers.split("+"):
            state.setdefault(int(number), {})[name] = t
    return {"state": state, "param_groups": param_groups}

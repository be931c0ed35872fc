"""State of optimisers: dicts as PyTorch's, checked before they are loaded; flat ones for files of tensors."""

from typing import Any

from ..errors import nearest
from ..tensor import Tensor, tensor

KINDS = {  # the names of a parameter's state, without those of options, and whose they are
    "ax eta mu step": ["ASGD"],
    "acc_delta square_avg step": ["Adadelta"],
    "col_var row_var step": ["Adafactor"],
    "step variance": ["Adafactor"],
    "step sum": ["Adagrad"],
    "exp_avg exp_avg_sq step": ["Adam", "AdamW", "RAdam", "SparseAdam"],
    "exp_avg exp_inf step": ["Adamax"],
    "exp_avg exp_avg_diff exp_avg_sq prev step": ["Adan"],
    "exp_avg": ["Lion"],
    "momentum_buffer": ["SGD", "Muon"],
    "momentum_buffer step": ["SGD"],
    "exp_avg exp_avg_sq mu_product step": ["NAdam"],
    "square_avg step": ["RMSprop"],
    "momentum_buffer square_avg step": ["RMSprop"],
    "prev step step_size": ["Rprop"],
}
OF_OPTIONS = {"max_exp_avg_sq", "grad_avg"}


def copied(s: dict[str, Any], copies: dict[int, Any]) -> dict[str, Any]:
    """A parameter's state with tensors of their own: one for each, also where several parameters have it."""
    return {
        name: copies.setdefault(id(v), tensor(v)) if isinstance(v, Tensor) else v for name, v in s.items()
    }


def check_state(given: dict[str, Any], groups: list[Any], own: dict[Any, dict[str, Any]], kind: str) -> None:
    """ValueError lists all groups, names and shapes of a state_dict that do not fit, or says that it is that
    of another kind of optimiser than this one."""
    problems = [f"missing: {name!r}" for name in ("state", "param_groups") if name not in given]
    if not problems:
        saved = given["param_groups"]
        if len(saved) != len(groups):
            problems.append(f"{len(groups)} groups, given {len(saved)}")
        for i, (group, other) in enumerate(zip(groups, saved, strict=False)):
            if len(group["params"]) != len(other["params"]):
                problems.append(f"group {i} has {len(group['params'])} tensors, given {len(other['params'])}")
            pairs = zip(other["params"], group["params"], strict=False)
            problems += [line for n, p in pairs for line in _misfits(n, given["state"].get(n, {}), own[p])]
    if problems:
        cure = "give the state of the same optimizer and model"
        names, mine = _names(given.get("state", {})), _names(own)
        whose = KINDS.get(" ".join(sorted(names - OF_OPTIONS)), [])
        if whose and kind not in whose and names != mine:
            told = f"it is the state of {' or '.join(whose)} ({', '.join(sorted(names))})"
            kept = ", ".join(sorted(mine)) or "nothing"
            raise ValueError(f"load_state_dict(...): {told}, and {kind} keeps {kept}: {cure}")
        raise ValueError(f"load_state_dict(...): {'; '.join(problems)}: {cure}")


def _names(state: dict[Any, dict[str, Any]]) -> set[str]:
    return {name for s in state.values() for name in s}


def _misfits(number: int, saved: dict[str, Any], own: dict[str, Any]) -> list[str]:
    """What of a parameter's state is missing, unknown, or of another shape; none where there is no state."""
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
            lines.append(f"{number}.{name} is {list(own[name].shape)}, given {list(shape)}")
    return lines


def flat_state(state_dict: dict[str, Any]) -> dict[str, Tensor]:
    """The tensors of a state_dict by the numbers of their parameters and their names, as "0.exp_avg" and
    "0+1.step", for a file of tensors; options are left out."""
    numbers: dict[tuple[int, str], list[str]] = {}
    tensors = {(id(t), name): t for s in state_dict["state"].values() for name, t in s.items()}
    for i, s in state_dict["state"].items():
        for name, t in s.items():
            numbers.setdefault((id(t), name), []).append(str(i))
    return {f"{'+'.join(of)}.{key[1]}": tensors[key] for key, of in numbers.items()}


def nested_state(flat: dict[str, Any], param_groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The state_dict of what flat_state gave (`flat`), with the `param_groups` of another one."""
    state: dict[int, dict[str, Any]] = {}
    for key, t in flat.items():
        numbers, _, name = key.partition(".")
        for number in numbers.split("+"):
            state.setdefault(int(number), {})[name] = t
    return {"state": state, "param_groups": param_groups}

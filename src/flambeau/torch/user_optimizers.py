"""Optimisers that scripts derive from torch.optim.Optimizer: they have their own `step`, and any state.

Flambeau's base class creates the state from an update rule, and keeps options as numbers that recordings
read. A user's class has neither: its groups are plain dicts here, and its state a defaultdict, as in torch.
"""

from collections import defaultdict
from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any

from ..core.node import describe
from ..core.tree import is_dict, is_list, is_tuple
from ..errors import TypeError, ValueError
from ..optim.optimizer import Optimizer
from ..tensor import Tensor
from .switch import in_mode, original

plain_init, plain_add = Optimizer.__init__, Optimizer.add_param_group
plain_state_dict, plain_load = original(Optimizer, "_state_dict"), original(Optimizer, "_load")
LIBRARY = Optimizer.__module__.partition(".")[0]


def is_users(optimizer: Any) -> bool:
    """Whether an optimiser's class is derived from Optimizer itself outside of Flambeau."""
    kinds = type(optimizer).__mro__
    # All classes between the object's and Optimizer are the user's: one that derives from our Adam is not,
    # since it relies on our update rule.
    above = kinds[: kinds.index(Optimizer)]
    return bool(above) and all(
        k.__module__.partition(".")[0] != LIBRARY and "update" not in vars(k) for k in above
    )


@in_mode(Optimizer, "__init__")
def _init(self: Any, params: Any, defaults: dict[str, Any]) -> None:
    if not is_users(self):
        plain_init(self, params, defaults)
        self.state = defaultdict(dict[str, Any], self.state)
        return
    self.defaults, self.offload, self._hooks, self._choices = defaults, False, {}, []
    self.state, self.param_groups = defaultdict(dict[str, Any]), []
    _wrap_step(type(self))
    if isinstance(params, Tensor):
        rule = "takes several tensors or dicts: pass model.parameters() or [tensor]"
        raise TypeError(f"{type(self).__name__}({describe(params)}): {rule}")
    listed = list(params)
    if not listed:
        raise ValueError(f"{type(self).__name__}([]): the list is empty: pass model.parameters()")
    for group in listed if isinstance(listed[0], dict) else [{"params": listed}]:
        self.add_param_group(group)


def _wrap_step(kind: Any) -> None:
    """Let the step of a class call the hooks of steps."""
    step: Callable[..., Any] = kind.step
    if getattr(step, "calls_hooks", False) or step is Optimizer.step:
        return

    @wraps(step)
    def hooked(self: Any, *args: Any, **kw: Any) -> Any:
        for hook in list(self._hooks.get("step_pre", {}).values()):
            args, kw = hook(self, args, kw) or (args, kw)
        out = step(self, *args, **kw)
        for hook in list(self._hooks.get("step_post", {}).values()):
            hook(self, args, kw)
        return out

    vars(hooked)["calls_hooks"] = True
    kind.step = hooked


@in_mode(Optimizer)
def add_param_group(self: Any, param_group: dict[str, Any]) -> None:
    """Add parameters: a dict of `params`, and of the options that differ from the defaults."""
    if not is_users(self):
        return plain_add(self, param_group)
    params = param_group["params"]
    params = [params] if isinstance(params, Tensor) else list(params)
    if named := [p for p in params if is_tuple(p)]:
        param_group["param_names"] = [name for name, _ in named]
        params = [p for _, p in named]
    existing = {id(p) for group in self.param_groups for p in group["params"]}
    for p in params:
        if not isinstance(p, Tensor):
            raise TypeError(
                f"{type(self).__name__}([..., {p!r:.40}]): takes tensors: pass model.parameters()"
            )
        if not p.is_leaf:
            rule = "is not a leaf: pass the tensors it was computed from, or a copy by detach()"
            raise ValueError(f"{type(self).__name__}([..., {describe(p)}]): it {rule}")
        if id(p) in existing:
            rule = "a tensor is passed twice: pass each once"
            raise ValueError(f"{type(self).__name__}([..., {describe(p)}]): {rule}")
    self.param_groups.append({**self.defaults, **param_group, "params": params})


@in_mode(Optimizer, "_state_dict")
def _packed_state(self: Any) -> dict[str, Any]:
    if not is_users(self):
        return plain_state_dict(self)
    number = {id(p): i for i, p in enumerate(p for group in self.param_groups for p in group["params"])}
    groups = [{**g, "params": [number[id(p)] for p in g["params"]]} for g in self.param_groups]
    state = {number[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
    return {"state": state, "param_groups": groups}


@in_mode(Optimizer, "_load")
def _unpacked_state(self: Any, state_dict: dict[str, Any]) -> None:
    if not is_users(self):
        return plain_load(self, state_dict)
    groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
    counts = [len(g["params"]) for g in groups], [len(g["params"]) for g in saved]
    if counts[0] != counts[1]:
        rule = "groups differ: load the state of the same optimizer and model"
        raise ValueError(f"load_state_dict({counts[1]} tensors in groups, for {counts[0]}): {rule}")
    numbers = [n for g in saved for n in g["params"]]
    of_number = dict(zip(numbers, (p for g in groups for p in g["params"]), strict=True))
    self.state = defaultdict[Any, Any](dict[str, Any])
    for key, values in state_dict["state"].items():
        p = of_number.get(key, key)
        self.state[p] = _cast(p, values) if isinstance(p, Tensor) else deepcopy(values)
    self.param_groups = [{**s, "params": g["params"]} for s, g in zip(saved, groups, strict=True)]


def _cast(p: Tensor, value: Any, name: str = "") -> Any:
    """State of a parameter on its device, in its dtype if that is a float; a step count is not converted."""
    if isinstance(value, Tensor):
        copy = value.detach().clone()
        # A count remains float32 on the CPU, as in torch without `fused` and `capturable`.
        return copy if name == "step" else copy.to(p.device, p.dtype if p.dtype.is_float else None)
    if is_dict(value):
        return {k: _cast(p, v, k) for k, v in value.items()}
    if is_list(value) or is_tuple(value):
        return value.__class__(_cast(p, v) for v in value)
    return value


@in_mode(Optimizer, "__repr__")
def _repr(self: Any) -> str:
    lines = [f"{type(self).__name__} ("]
    for i, group in enumerate(self.param_groups):
        lines += [f"Parameter Group {i}"]
        lines += [f"    {k}: {v}" for k, v in sorted(group.items()) if k not in ("params", "offload")]
    return "\n".join([*lines, ")"])

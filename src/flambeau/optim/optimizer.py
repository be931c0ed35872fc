"""Optimizer: computes the new values of all parameters and of the state from gradients, in one run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from ..autodiff.backward import Gradients
from ..core.autocast import without_autocast
from ..core.dtype import float32
from ..core.handle import RemovableHandle, hang
from ..core.interrupts import uninterrupted
from ..core.modes import enable_grad, no_grad
from ..core.node import describe
from ..core.tree import is_sequence, is_tuple
from ..core.warn_once import NO_GRAD_KEPT, note
from ..runtime.exchange import leaf, transfer
from ..runtime.run import Readback, realize
from ..tensor import Tensor, tensor
from .groups import IMPLEMENTATION, SHARED, ParamGroup
from .state import check_state, copy_state

HOST = "cpu"
Params = Iterable[Tensor] | Iterable[tuple[str, Tensor]] | Iterable[dict[str, Any]]
State = dict[str, Tensor]
Update = tuple[Tensor, Tensor, State, Any]  # (parameter, gradient, state with the shared terms, options)


class Skip:
    """Keeps the values that a step changes, and restores them on the device if gradients are not finite."""

    def __init__(self, found_inf: Tensor | None):
        self.found_inf = found_inf
        self._old_values: dict[int, tuple[Tensor, Tensor]] = {}

    def watch(self, *tensors: Tensor) -> None:
        """Record the values of tensors before the update."""
        if self.found_inf is not None:
            for t in tensors:
                # Tensor(t.node) shares the old value, so no memory is copied; the first record counts:
                # `_count` has already advanced the shared numbers when they are recorded again
                self._old_values.setdefault(id(t), (t, Tensor(t.node)))

    def kept(self, before: Tensor, after: Tensor) -> Tensor:
        """The value after the step, or the one before if the gradients are not finite."""
        # a where on the device instead of an `if`: testing found_inf on the host would wait for all gradients
        if self.found_inf is None:
            return after
        return transfer(self.found_inf, after.device).where(before, after.to(before.dtype))

    def undo(self) -> None:
        """Restore the tensors that were updated if the gradients have an infinity."""
        for t, before in self._old_values.values():
            if t.node is not before.node:  # an assigned tensor has another node; the others need no restoring
                t.assign_(self.kept(before, t))
        self._old_values.clear()  # the old value's buffer may be reused


class Optimizer:
    """The base of optimisers: groups of parameters with their options, the state, and the step.

    A subclass passes the options with their defaults to `__init__`, lists its state in `names` (and state
    that only some options need in `optional`), and implements `update`. The number of
    steps is kept on the device, so that a recorded step counts as well, once for the parameters that have
    always moved together. ValueError for invalid parameters and options.

    params: the tensors to update, such as model.parameters()
    defaults: the options by name; groups may override them. `maximize`, `foreach`, `fused`, `capturable` and
        `differentiable` may be left out; `offload` keeps the state in host memory
    """

    names: tuple[str, ...] = ()  # a zero tensor of the parameter's shape each
    counts: dict[str, Any] = {"step": 0.0}  # numbers that parameters share, with their initial values
    optional: tuple[str, ...] = ()  # state of both kinds that only some options or shapes need
    # integers that choose a step's loops
    choices = frozenset({"ns_steps", "max_iter", "max_eval", "history_size"})
    offload = False

    def __init__(self, params: Params, defaults: dict[str, Any]):
        self.defaults: dict[str, Any] = SHARED | defaults
        self.offload = bool(self.defaults.pop("offload"))
        self.param_groups: list[ParamGroup] = []
        self.state: dict[Tensor, State] = {}
        self._hooks: dict[str, dict[int, Callable[..., Any]]] = {}
        # for each group: the choices that its state was created for
        self._choices: list[tuple[Any, ...]] = []
        # untyped calls may pass what the annotation excludes: one tensor, None
        if isinstance(wrong := cast(Any, params), Tensor) or not isinstance(wrong, Iterable):
            shown = describe(wrong) if isinstance(wrong, Tensor) else repr(wrong)
            rule = "takes several tensors or dicts: pass model.parameters() or [tensor]"
            raise TypeError(f"{self._name}({shown}): {rule}")
        listed: list[Any] = list(params)
        if not listed:
            raise ValueError(f"{self._name}([]): the list is empty: pass model.parameters()")
        for group in listed if isinstance(listed[0], dict) else [{"params": listed}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def params(self) -> list[Tensor]:
        """The parameters of all groups."""
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def lr(self) -> float:
        """The learning rate of the first group; setting it sets that of all groups, also for a recorded
        step."""
        return self.param_groups[0]["lr"]

    @lr.setter
    def lr(self, value: float) -> None:
        for group in self.param_groups:
            group["lr"] = value

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters: a dict of `params`, and of the options that differ from the defaults.

        ValueError and TypeError for invalid parameters and options.
        """
        tensors: Any = param_group["params"]
        named: list[Any] = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        names = [p[0] for p in named if is_tuple(p)]
        params: list[Any] = [p[1] if is_tuple(p) else p for p in named]
        existing: list[Tensor] = [p for group in self.param_groups for p in group["params"]]
        has_names = any("param_names" in group for group in self.param_groups)
        # As in PyTorch, either all parameters of an optimiser have names or none has.
        if (names or has_names) and (len(names) < len(named) or (existing and not has_names)):
            raise ValueError(
                f"{self._name}(...): some parameters have names and others do not: name all or none"
            )
        self._check_params(params, len(existing))
        lr = param_group.get("lr", self.defaults.get("lr"))
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError(f"{self._name}(lr={describe(lr)}): must be one number: pass a float")
        options: dict[str, Any] = {
            **self.defaults,
            **param_group,
            "params": params,
            **({"param_names": names} if names else {}),
        }
        if options["differentiable"]:
            rule = "a step runs under no_grad: write the update with tensor ops to differentiate it"
            raise ValueError(f"{self._name}(differentiable=True): {rule}")
        group = ParamGroup(self._name, options, frozenset(filter(self._is_number, self.defaults)))
        self.check(group)
        # tensors are compared by identity
        if len({id(p) for p in [*existing, *params]}) < len(existing) + len(params):
            raise ValueError(
                f"{self._name}({len(existing) + len(params)} tensors): one is passed twice: pass each once"
            )
        self.param_groups.append(group)
        self._choices.append(())
        self._complete()
        # one run for the new tensors, so that no later step also computes initial values
        realize(*params, *self._tensors())

    def check(self, group: ParamGroup) -> None:
        """ValueError if options contradict each other."""

    def begin(self, p: Tensor, o: SimpleNamespace) -> dict[str, Any]:
        """A parameter's initial state: tensors, or numbers that fill tensors of its shape."""
        return dict.fromkeys(self.names, 0.0)

    @classmethod
    def may_keep(cls, names: set[str]) -> bool:
        """Whether state with these names may be that of an optimiser of this class."""
        own_names, optional = {*cls.names, *cls.counts, *cls.optional}, set(cls.optional)
        return bool(names) and own_names - optional <= names <= own_names

    def is_counted(self, o: SimpleNamespace) -> bool:
        """Whether the update reads the numbers that parameters share."""
        return True

    def count(self, s: State, o: SimpleNamespace) -> None:
        """Advance the numbers that parameters share, before any parameter is updated."""
        s["step"].assign_(s["step"] + 1)

    def after(self, s: State, o: SimpleNamespace) -> None:
        """Advance the shared numbers that only the next step reads."""

    def terms(self, s: State, o: SimpleNamespace) -> State:
        """Terms of the update that depend only on shared numbers and options, under names that the state does
        not use. They are computed once for all parameters that share them, and added to the `s` of `update`.
        """
        return {}

    def update(self, p: Tensor, g: Tensor, s: State, o: SimpleNamespace) -> Tensor:
        """The parameter's new value; new state is assigned to the tensors of `s`. `s["step"]` begins at 1.

        `o.lr` and other options are HostScalars, which multiply tensors, or 0.0 if they are 0.
        """
        raise NotImplementedError(f"{self._name}.update(...): is not implemented: return the new value")

    def update_all(self, updates: Iterable[Update]) -> Iterable[Tensor]:
        """The new values of all parameters with gradients. This version calls `update` for each; an optimiser
        may override it to compute several at once.
        """
        return (self.update(*one) for one in updates)

    def step(self, grads: "Gradients | Callable[[], Gradients] | None" = None) -> Tensor | None:
        """Update the parameters that have a gradient, in one run; the others stay unchanged.

        `grads` is the result of backward, or a function that returns it; then the loss is returned. If a
        GradScaler found an infinity in it, nothing changes, step counts included. A Ctrl-C takes effect
        before or after the step, never between two parameters. TypeError if there are no gradients: tensors
        keep none.
        """
        if not callable(grads):
            # Gradients that are passed are checked before the hooks; a function is called after them, as in
            # PyTorch.
            grads = self._check_gradients(grads, "")
        for hook in self._hooks_of("step_pre"):
            hook(self, (grads,), {})
        loss = None
        if callable(grads):
            with enable_grad():
                grads = self._check_gradients(grads(), "a function that gives ")
            loss = grads.loss
        self._step(grads)
        for hook in self._hooks_of("step_post"):
            hook(self, (grads,), {})
        return loss

    def _check_gradients(self, grads: Any, prefix: str) -> Gradients:
        if isinstance(grads, Gradients):
            return grads
        rule = "pass the result of backward, since tensors keep no gradients: grads = loss.backward(), and"
        shown = "" if grads is None and not prefix else prefix + describe(grads)
        raise TypeError(f"{self._name}.step({shown}): {rule} then step(grads)")

    def _step(self, grads: Gradients) -> None:
        # (group, parameter, gradient) for each parameter that has a gradient
        active = [(group, p, grads.get(p)) for group in self.param_groups for p in group["params"]]
        active = [(group, p, g) for group, p, g in active if g is not None]
        if not active:
            rule = "the loss depends on none of the parameters: make the optimizer of the model's parameters"
            raise ValueError(f"{self._name}.step({len(grads)} gradients): {rule}")
        self._complete()
        read = [t for t in (grads.loss, grads.found_inf) if t is not None]
        # A Ctrl-C is held back until all values are assigned, else some parameters would be a step ahead.
        with uninterrupted(), no_grad(), without_autocast():
            options = {id(group): group.rule() for group in self.param_groups}
            skip = Skip(grads.found_inf)
            counted = self._count(active, options, skip)
            updates = self._with_terms([(p, g, options[id(group)]) for group, p, g in active])
            if self.offload:
                return self._stream(updates, counted, read, skip)
            for p, *_ in updates:
                skip.watch(*self.state[p].values())
            self._move(updates, skip)
            self._run_after(counted)
            skip.undo()
        # The new values, the state, the loss and found_inf are computed in one run.
        realize(*(p for _, p, _ in active), *self._tensors(), *read)

    def _move(self, updates: list[Update], skip: Skip) -> None:
        # in float32, also of 16-bit parameters: squares of their gradients would overflow or vanish
        in_float32 = ((p.float(), -g.float() if o.maximize else g.float(), s, o) for p, g, s, o in updates)
        for (p, *_), new in zip(updates, self.update_all(in_float32), strict=True):
            p.assign_(skip.kept(p, new))

    def _count(
        self, active: list[tuple[ParamGroup, Tensor, Tensor]], options: dict[int, Any], skip: Skip
    ) -> list[tuple[State, Any]]:
        """Advance the shared numbers. Parameters that are updated without others of their group get their own
        copies from now on.
        """
        # Parameters without a gradient keep their step count, as in PyTorch: a shared number that one of them
        # still needs is copied before it advances.
        active_ids = {id(p) for _, p, _ in active}
        unchanged = {
            _first_id(self._shared_numbers(self.state[p])) for p in self.params if id(p) not in active_ids
        }
        seen: dict[int, State] = {}
        counted: list[tuple[State, Any]] = []
        for group, p, _ in active:
            s = self._shared_numbers(self.state[p])
            key = _first_id(s)
            if s and key not in seen:
                # state tensors are shared by identity
                seen[key] = {n: tensor(t) for n, t in s.items()} if key in unchanged else s
                counted.append((seen[key], options[id(group)]))
                skip.watch(*seen[key].values())
                self.count(*counted[-1])
            if s and seen[key] is not s:  # all parameters that share the old numbers now share the copies
                self.state[p].update(seen[key])
        return counted

    def _with_terms(self, updates: list[tuple[Tensor, Tensor, Any]]) -> list[Update]:
        """Each update, with the shared terms added to the parameter's state."""
        terms: dict[tuple[int, int], State] = {}
        with_terms: list[Update] = []
        for p, g, o in updates:
            s = self.state[p]
            # Terms depend on the shared numbers and on the group's options, so both identify them.
            key = _first_id(self._shared_numbers(s)), id(o)
            if key not in terms:
                terms[key] = self.terms(s, o)
            with_terms.append((p, g, {**s, **terms[key]} if terms[key] else s, o))
        return with_terms

    def _shared_numbers(self, s: State) -> State:
        return {n: s[n] for n in self.counts if n in s}

    def _stream(
        self,
        updates: list[Update],
        counted: list[tuple[State, Any]],
        read: list[Tensor],
        skip: Skip,
    ) -> None:
        """Compute all gradients, then the updates one by one: during each update the previous state is copied
        back to the host.
        """
        # `far` is the state in host memory and `near` its copy on the device.
        far_of = {p: {n: t for n, t in self.state[p].items() if n not in self.counts} for p, *_ in updates}
        realize(*(t for p, _, s, _ in updates for n, t in s.items() if n not in far_of[p]), *read)
        # in one run, since the gradients share the forward and the backward pass
        realize(*(g for _, g, _, _ in updates))
        way_back: Callable[[], None] | None = None
        for p, g, s, o in updates:
            far = far_of[p]
            near = {name: t.to(p.device) for name, t in far.items()}
            # its own Skip, so that the near copies can be freed after this parameter
            one = Skip(skip.found_inf)
            one.watch(*near.values())
            self._move([(p, g, {**s, **near}, o)], one)
            one.undo()
            realize(p, *near.values())
            # The state of the previous parameter is stored while the device computes this one.
            if way_back is not None:
                way_back()
            way_back = partial(_return, list(far.values()), Readback(list(near.values())))
        if way_back is not None:
            way_back()
        self._run_after(counted)
        skip.undo()
        realize(*(t for s, _ in counted for t in s.values()))

    def _run_after(self, counted: list[tuple[State, Any]]) -> None:
        for s, o in counted:
            self.after(s, o)

    def _complete(self) -> None:
        """Create missing state: of new groups, for options that were set since and need more, and of
        parameters that are no longer frozen.
        """
        for i, group in enumerate(self.param_groups):
            # The options that decide which state is needed. Comparing it costs little, so that every step
            # can.
            state_key = (group.choices(self.defaults), sum(p.requires_grad for p in group["params"]))
            if self._choices[i] != state_key:
                self._choices[i] = state_key
                with no_grad(), without_autocast():
                    self._begin(group)

    def _begin(self, group: ParamGroup) -> None:
        """Create the missing state of a group's parameters."""
        o = group.rule()
        shared: dict[Any, State] = {}
        for p in group["params"]:
            own = self.state.setdefault(p, {})
            if not p.requires_grad:
                continue
            device = HOST if self.offload else p.device
            for name, first in self.begin(p, o).items():
                if name not in own:
                    # a tensor from `begin` is on the parameter's device
                    own[name] = _full(p, first, device).to(device)
            if self.is_counted(o) and not self._shared_numbers(own):
                if p.device not in shared:
                    # e.g. ASGD's eta begins at lr
                    firsts = {n: _plain_number(o, v) for n, v in self.counts.items()}
                    shared[p.device] = {n: Tensor.full((), v, device=p.device) for n, v in firsts.items()}
                own.update(shared[p.device])

    def _as_begun(self, p: Tensor, group: ParamGroup) -> State:
        """The initial state of a parameter, which may be frozen."""
        o = group.rule()
        zero = Tensor.full((), 0.0, device=p.device)
        counts = dict.fromkeys(self.counts if self.is_counted(o) else (), zero)
        return counts | {name: _full(p, first, p.device) for name, first in self.begin(p, o).items()}

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Do nothing and warn once: tensors store no gradients; each backward() returns its own.

        set_to_none: accepted and ignored.
        """
        note(NO_GRAD_KEPT)

    def state_dict(self) -> dict[str, Any]:
        """Return the state that a later run needs, in PyTorch's layout: `state`, tensors by the parameter's
        index and by name, and `param_groups`, options with the indices of their parameters.
        """
        for hook in self._hooks_of("state_dict_pre"):
            hook(self)
        out = self._state_dict()
        for hook in self._hooks_of("state_dict_post"):
            out = hook(self, out) or out
        return out

    def _state_dict(self) -> dict[str, Any]:
        """A state_dict before hooks saw it."""
        number = {id(p): i for i, p in enumerate(self.params)}
        groups = [
            {**group, "params": [number[id(p)] for p in group["params"]]} for group in self.param_groups
        ]
        copies: dict[int, Any] = {}  # by id: shared numbers stay shared in the copy
        state = {number[id(p)]: copy_state(s, copies) for p, s in self.state.items() if s}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state_dict of Flambeau or PyTorch; ValueError lists everything that does not fit.

        The options are loaded too; missing state, of parameters that were never updated, begins again.
        """
        for hook in self._hooks_of("load_state_dict_pre"):
            state_dict = hook(self, state_dict) or state_dict
        self._load(state_dict)
        for hook in self._hooks_of("load_state_dict_post"):
            hook(self)

    def _load(self, state_dict: dict[str, Any]) -> None:
        """The part of load_state_dict between its hooks."""
        own = {p: self.state.get(p) or self._as_begun(p, g) for g in self.param_groups for p in g["params"]}
        check_state(state_dict, self.param_groups, own, type(self))
        shared: dict[Any, State] = {}
        with uninterrupted(), no_grad():
            for i, (group, saved) in enumerate(
                # a Ctrl-C takes effect before or after the load
                zip(self.param_groups, state_dict["param_groups"], strict=True)
            ):
                group.update({k: v for k, v in saved.items() if k not in ("params", "param_names")})
                self._choices[i] = ()  # what `_complete` compares: forces it to look for missing state
                for number, p in zip(saved["params"], group["params"], strict=True):
                    self.state[p] = self._restore(p, state_dict["state"].get(number, {}), shared)
            self._complete()
        realize(*self._tensors())

    def _restore(self, p: Tensor, saved: dict[str, Any], shared: dict[Any, State]) -> State:
        """A parameter's saved state. Numbers that were shared, or whose equality is known without a read, are
        shared again.
        """
        counts = {n: v for n, v in saved.items() if n in self.counts}
        # Tensors count as one number only if they are one object: comparing values would read them from the
        # device. PyTorch's state has a step tensor for each parameter, and those stay separate.
        key = (p.device, *map(_identity, counts.values()))
        if counts and key not in shared:
            shared[key] = {n: tensor(v, dtype=float32, device=p.device) for n, v in counts.items()}
        device = HOST if self.offload else p.device
        own = {n: tensor(v, dtype=float32, device=device) for n, v in saved.items() if n not in self.counts}
        return {**own, **shared.get(key, {})}

    # --- hooks ---

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before every step; the returned handle has remove()."""
        return hang(self._hooks.setdefault("step_pre", {}), hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after every step; the returned handle has remove()."""
        return hang(self._hooks.setdefault("step_post", {}), hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer) before every state_dict; the returned handle has remove()."""
        return hang(self._hooks.setdefault("state_dict_pre", {}), hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, state_dict) after every state_dict; a returned dict replaces it."""
        return hang(self._hooks.setdefault("state_dict_post", {}), hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer, state_dict) before one is loaded; a returned dict replaces it."""
        return hang(self._hooks.setdefault("load_state_dict_pre", {}), hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call hook(optimizer) after a state_dict was loaded; the returned handle has remove()."""
        return hang(self._hooks.setdefault("load_state_dict_post", {}), hook)

    def _hooks_of(self, event: str) -> list[Callable[..., Any]]:
        return list(self._hooks.get(event, {}).values())

    # --- helpers ---

    def _is_number(self, name: str) -> bool:
        value = self.defaults[name]
        values: Sequence[Any] = value if is_sequence(value) else (value,)
        kinds = (int, float, Tensor) if is_sequence(value) else (int, float)  # betas may be tensors
        return name not in self.choices and any(type(v) in kinds for v in values)

    def _tensors(self) -> Iterator[Tensor]:
        return (t for s in self.state.values() for t in s.values())

    def _check_params(self, params: list[Any], first: int) -> None:
        if not params:
            raise ValueError(f"{self._name}([]): the list is empty: pass model.parameters()")
        for i, p in enumerate(params, first):
            if not isinstance(p, Tensor):
                raise TypeError(f"{self._name}([..., {p!r:.40}]): takes tensors: pass model.parameters()")
            if not p.is_leaf:
                rule = "is not a leaf: pass the tensors it was computed from, or a copy by detach()"
                raise ValueError(f"{self._name}([..., {describe(p)}]): parameter {i} {rule}")

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}: {len(group['params'])} tensors"]
            lines += [
                f"    {k}: {v}" for k, v in sorted(group.items()) if k not in ("params", *IMPLEMENTATION)
            ]
        return "\n".join([*lines, ")"])


def _full(p: Tensor, first: Any, device: Any) -> Tensor:
    """The initial value of a state: a tensor, or a number that fills the parameter's shape."""
    return first if isinstance(first, Tensor) else Tensor.full(p.shape, first, device=device)


def _plain_number(o: SimpleNamespace, value: Any) -> float:
    """A shared number's initial value: a number, or the value of an option."""
    first = getattr(o, value) if isinstance(value, str) else value
    return getattr(first, "value", first)


def _identity(value: Any) -> Any:
    """The key by which two loaded numbers become one shared number: the same tensor, or the same value."""
    return id(value) if isinstance(value, Tensor) else float(value)


def _first_id(shared: State) -> int:
    return id(next(iter(shared.values()), None))


def _return(homes: list[Tensor], fetch: Readback) -> None:
    """Store values that were copied back to the host."""
    for t, raw in zip(homes, fetch.wait(), strict=True):
        t.assign_(Tensor(leaf(raw, t.shape, t.dtype, t.device)))
    realize(*homes)

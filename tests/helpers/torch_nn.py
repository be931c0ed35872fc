"""A module made by torch and by us, with the same state: the same outputs and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np

import flambeau as fb


def leaves(out: Any) -> list[Any]:
    """The tensors of nested tuples, lists and dicts, in order; None is left out."""
    if isinstance(out, dict):
        return [t for v in out.values() for t in leaves(v)]
    if isinstance(out, list | tuple):
        return [t for v in out for t in leaves(v)]
    return [] if out is None or isinstance(out, int | float) else [out]


def twins(torch: Any, make: Callable[[Any], Any], *examples: Any) -> tuple[Any, Any]:
    """(ours, torch's) of `make(package)`, ours with torch's state; examples are for lazy modules."""
    theirs, ours = make(torch), make(fb)
    if examples:
        theirs(*(as_torch(torch, a) for a in examples))
        ours(*(as_ours(a) for a in examples))
    state = {name: t.detach().numpy() for name, t in theirs.state_dict().items()}
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict(state)
    return ours, theirs


def as_torch(torch: Any, value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    t = torch.tensor(value)
    return t.requires_grad_() if t.is_floating_point() else t.long() if value.dtype.kind == "i" else t


def as_ours(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    t = fb.tensor(value)
    return t.requires_grad_() if t.dtype.is_float else t


def compare(torch: Any, pair: tuple[Any, Any], *given: Any, atol: float = 2e-5, **options: Any) -> None:
    """The outputs, and the gradients of a sum of them by parameters and float inputs, are torch's."""
    ours, theirs = pair
    if hasattr(theirs, "zero_grad"):
        theirs.zero_grad()
    mine, other = [as_ours(a) for a in given], [as_torch(torch, a) for a in given]
    told = {k: as_ours(v) for k, v in options.items()}
    asked = {k: as_torch(torch, v) for k, v in options.items()}
    out, wanted = leaves(ours(*mine, **told)), leaves(theirs(*other, **asked))
    assert len(out) == len(wanted)
    for a, b in zip(out, wanted, strict=True):
        assert a.shape == tuple(b.shape)
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), atol=atol, rtol=1e-4)
    floats = [b for b in wanted if b.requires_grad]
    if not floats:
        return
    weights = [np.cos(np.arange(b.numel())).reshape(b.shape).astype("f4") for b in floats]
    sum((b * torch.tensor(w)).sum() for b, w in zip(floats, weights, strict=True)).backward()
    chosen = [a for a, b in zip(out, wanted, strict=True) if b.requires_grad]
    grads = sum((a * fb.tensor(w)).sum() for a, w in zip(chosen, weights, strict=True)).backward()
    named = [(p, q) for (_, p), (_, q) in zip(_parameters(ours), _parameters(theirs), strict=True)]
    inputs = [(a, b) for a, b in zip([*mine, *told.values()], [*other, *asked.values()]) if _floats(b)]
    for a, b in [*named, *inputs]:
        if b.grad is not None:
            np.testing.assert_allclose(grads[a].numpy(), b.grad.numpy(), atol=5 * atol, rtol=1e-3)
        else:
            assert grads.get(a) is None or not grads[a].numpy().any()


def _parameters(module: Any) -> list[Any]:
    return list(module.named_parameters()) if hasattr(module, "named_parameters") else []


def _floats(t: Any) -> bool:
    return hasattr(t, "requires_grad") and t.requires_grad

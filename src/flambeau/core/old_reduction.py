"""PyTorch's old arguments of losses, size_average and reduce, which `reduction` replaces."""

from collections.abc import Callable
from functools import wraps
from typing import Any

# function -> the positions of size_average and of reduce among PyTorch's arguments
PLACES = {
    "binary_cross_entropy": (3, 4),
    "binary_cross_entropy_with_logits": (3, 4),
    "cosine_embedding_loss": (4, 5),
    "cross_entropy": (3, 5),
    "hinge_embedding_loss": (3, 4),
    "kl_div": (2, 3),
    "l1_loss": (2, 3),
    "margin_ranking_loss": (4, 5),
    "mse_loss": (2, 3),
    "multi_margin_loss": (5, 6),
    "multilabel_margin_loss": (2, 3),
    "multilabel_soft_margin_loss": (3, 4),
    "nll_loss": (3, 5),
    "poisson_nll_loss": (4, 6),
    "smooth_l1_loss": (2, 3),
    "soft_margin_loss": (2, 3),
    "triplet_margin_loss": (7, 8),
}
NAMES = frozenset(("size_average", "reduce"))


def has_old_reduction(places: tuple[int, int], args: tuple[Any, ...], kw: dict[str, Any]) -> bool:
    """Whether a call passes the old arguments, or is in PyTorch's order: None or a bool is at their place."""
    place = places[0]
    return not NAMES.isdisjoint(kw) or (
        len(args) > place and (args[place] is None or isinstance(args[place], bool))
    )


def replace_old_reduction(
    places: tuple[int, int], args: tuple[Any, ...], kw: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with `reduction` instead of the old ones; later arguments keep their order."""
    kw = dict(kw)
    values: list[Any] = []
    in_order = len(args) > places[0] and (args[places[0]] is None or isinstance(args[places[0]], bool))
    for name, place in zip(("size_average", "reduce"), places, strict=True):
        by_place = args[place] if in_order and len(args) > place else None
        values.append(kw.pop(name, by_place))
    if in_order:
        args = tuple(a for i, a in enumerate(args) if i not in places)
    if values != [None, None]:
        size_average, reduce = (True if v is None else bool(v) for v in values)
        kw["reduction"] = "none" if not reduce else "mean" if size_average else "sum"
    return args, kw


def takes_old_reduction(places: tuple[int, int]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let an `__init__` accept the old arguments. places: their positions, without self"""

    def declare(init: Callable[..., None]) -> Callable[..., None]:
        @wraps(init)
        def call(self: Any, *args: Any, **kw: Any) -> None:
            if has_old_reduction(places, args, kw):
                args, kw = replace_old_reduction(places, args, kw)
            init(self, *args, **kw)

        return call

    return declare

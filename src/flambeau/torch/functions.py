"""Functions of the module torch itself that Flambeau's own package does not have, or has in another form."""

from typing import Any

from ..tensor import Tensor


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)

"""All parameters as one vector, and back."""

from collections.abc import Iterable

from ...core.modes import no_grad
from ...errors import ValueError
from ...ops.join import cat
from ...tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate flattened tensors. -> [n]

    parameters: as model.parameters(). ValueError if there are none.
    """
    return cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Assign the values of a vector to tensors, in order.

    vec: the result of parameters_to_vector. parameters: as model.parameters(). ValueError for a wrong length.
    """
    targets = list(parameters)
    size = sum(p.numel() for p in targets)
    if vec.numel() != size:
        rule = f"the parameters have {size} elements: pass a vector of that size"
        raise ValueError(f"vector_to_parameters([{vec.numel()}]): {rule}")
    offset = 0
    for p in targets:
        p.assign_(vec[offset : offset + p.numel()].reshape(p.shape))
        offset += p.numel()

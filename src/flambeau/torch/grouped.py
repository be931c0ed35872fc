"""Products of groups of rows with a matrix each, as the experts of a network are computed."""

from typing import Any

from ..core.node import describe
from ..errors import ValueError
from ..ops.join import cat
from ..tensor import Tensor


def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Any = None, out_dtype: Any = None
) -> Tensor:
    """Rows of a group times the group's matrix. [s, n], [g, n, m], offs [g] -> [s, m]

    Without offs, [g, s, n], [g, n, m] -> [g, s, m].

    offs: where each group of rows ends, which is read. bias: None. out_dtype: the dtype of the result.
    ValueError for other shapes.
    """
    if bias is not None:
        raise ValueError("grouped_mm(bias=...): add it to the result")
    if offs is None:
        y = mat_a @ mat_b
    elif mat_a.ndim == 2 and mat_b.ndim == 3 and offs.shape == (mat_b.shape[0],):
        ends = [int(n) for n in offs.tolist()]
        starts = [0, *ends[:-1]]
        parts = [mat_a[a:b] @ mat_b[i] for i, (a, b) in enumerate(zip(starts, ends, strict=True)) if b > a]
        rest = mat_a.shape[0] - ends[-1]
        if rest or not parts:  # rows of no group
            parts.append(mat_a.new_zeros(rest, mat_b.shape[-1]))
        y = cat(parts, 0)
    else:
        call = f"grouped_mm({describe(mat_a)}, {describe(mat_b)}, offs={describe(offs)})"
        raise ValueError(f"{call}: takes [s, n], [g, n, m] and offs [g]: multiply the groups one by one")
    return y if out_dtype is None else y.to(out_dtype)


_grouped_mm = grouped_mm

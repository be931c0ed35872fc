"""Rows of the movement family."""

import numpy as np
from references.base import windows
from references.index import slid

from flambeau.core.shape import Window

from .row import In, Row

W = (Window(3, 2, 1, 1, 1),)
X = In((2, 3, 4))

MOVEMENT: dict[str, Row] = {
    "reshape": Row(lambda x: x.reshape(4, 6), (X,), call=lambda x: x.reshape(4, -1)),
    "permute": Row(lambda x: x.transpose(2, 0, 1), (X,), call=lambda x: x.permute(2, 0, 1)),
    "expand": Row(lambda x: np.broadcast_to(x, (2, 3, 5)), (In((3, 1)),), call=lambda x: x.expand(2, -1, 5)),
    "_slice": Row(
        lambda x, **_: x[::-1, 1:3, ::2], (X,), {"starts": (1, 1, 0), "steps": (-1, 1, 2), "shape": (2, 2, 2)}
    ),
    "_pad": Row(
        lambda x, **_: np.pad(x[:, 1:], ((1, 2), (0, 0), (0, 3))),
        (X,),
        {"before": (1, -1, 0), "after": (2, 0, 3)},
    ),
    "_windows": Row(windows, (In((2, 3, 7)),), {"spec": W}),
    "detach": Row(lambda x: x, (X,), grads=0),
    "flip": Row(lambda x, dims: np.flip(x, dims), (X,), {"dims": (0, 2)}),
    "narrow": Row(lambda x, **_: x[:, :, 1:3], (X,), {"dim": -1, "start": 1, "length": 2}),
    "transpose": Row(lambda x, dim0, dim1: x.swapaxes(dim0, dim1), (X,), {"dim0": 0, "dim1": -1}),
    "flatten": Row(lambda x, start_dim: x.reshape(2, 12), (X,), {"start_dim": 1}),
    "unflatten": Row(lambda x, **_: x.reshape(2, 3, 2, 2), (X,), {"dim": 2, "sizes": (2, 2)}),
    "unsqueeze": Row(lambda x, dim: np.expand_dims(x, dim), (X,), {"dim": -2}),
    "squeeze": Row(lambda x, dim: x.reshape(3, 1, 4), (In((1, 3, 1, 4)),), {"dim": 0}),
    "pad": Row(
        lambda x, **_: np.pad(x, ((0, 0), (1, 0), (2, 1)), constant_values=3.5),
        (X,),
        {"pad": (2, 1, 1, 0), "value": 3.5},
    ),
    "tril": Row(np.tril, (In((2, 4, 5)),), call=lambda x: x.tril()),
    "triu": Row(lambda x, diagonal: np.triu(x, diagonal), (In((2, 4, 5)),), {"diagonal": 1}),
    "movedim": Row(np.moveaxis, (X,), {"source": (0, 1), "destination": (2, -3)}),
    "select": Row(lambda x, dim, index: x[:, -2], (X,), {"dim": 1, "index": -2}),
    "broadcast_to": Row(np.broadcast_to, (In((3, 1)),), {"shape": (2, 3, 5)}),
    "expand_as": Row(lambda x, y: np.broadcast_to(x, y.shape), (In((3, 1)), X)),
    "view_as": Row(lambda x, y: x.reshape(y.shape), (X, In((6, 4)))),
    "view": Row(lambda x: x.reshape(6, 4), (X,), call=lambda x: x.view(6, 4)),
    "ravel": Row(np.ravel, (X,)),
    "fliplr": Row(np.fliplr, (X,)),
    "flipud": Row(np.flipud, (X,)),
    "rot90": Row(lambda x, k, dims: np.rot90(x, k, dims), (X,), {"k": 3, "dims": (0, 2)}),
    "roll": Row(lambda x, shifts, dims: np.roll(x, shifts, dims), (X,), {"shifts": (1, -3), "dims": (0, 2)}),
    "repeat": Row(lambda x: np.tile(x, (2, 1, 3)), (In((2, 3)),), call=lambda x: x.repeat(2, 1, 3)),
    "tile": Row(lambda x: np.tile(x, (2, 3)), (X,), call=lambda x: x.tile(2, 3)),
    "repeat_interleave": Row(lambda x, dim, **_: np.repeat(x, [2, 0, 3], dim), (X,),
                             {"repeats": [2, 0, 3], "dim": 1}),
    "tensor_unfold": Row(slid, (In((2, 7, 3)),), {"dimension": 1, "size": 3, "step": 2}),
}  # fmt: skip

"""Pools over windows of every sort, and their gradients."""

import flambeau as fb

F = fb.nn.functional


POOLS = {
    "whole fours read at once": lambda x: F.max_pool2d(x[..., :12], 2),
    "an odd line": lambda x: F.max_pool2d(x, 2),
    "overlapping, with an edge": lambda x: F.max_pool2d(x, 3, 2, 1),
    "with gaps": lambda x: F.max_pool2d(x, 3, 1, 1, 2),
    "further apart than they are long": lambda x: F.max_pool2d(x, (1, 2), (2, 3)),
    "too far apart to share": lambda x: F.max_pool2d(x, (2, 3), (1, 5)),
    "to a whole number of windows": lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True),
    "along one dim": lambda x: F.max_pool1d(x[0], 3, 1),
    "over three dims": lambda x: F.max_pool3d(x, (2, 3, 2), 1),
    "means": lambda x: F.avg_pool2d(x, 3, 1, 1),
    "means without the edge, with a stride": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "roots of squares, and more after": lambda x: F.lp_pool2d(x.relu() + 1, 2, 3, 1) * 2 + 1,
    "of what is computed": lambda x: F.max_pool2d(x.flip(3) * x, 3, 2),
}


def with_gradient(pool, x):
    x = x.detach().requires_grad_()
    y = pool(x)
    weights = fb.arange(y.numel(), device=x.device).reshape(*y.shape).to(y.dtype) % 7
    return y, y.backward(weights)[x]

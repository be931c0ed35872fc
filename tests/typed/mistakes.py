"""Five mistakes, one a line that says so: a type checker finds these and no others."""
# pyright: standard

import flambeau as fb
from flambeau import nn

x = fb.zeros(2, 3)
x.sofmax(-1)  # wrong: no such method
nn.Conv2d(3)  # wrong: out_channels and kernel_size are missing
fb.softmax(x, dim="last")  # wrong: a dim is a number
values: fb.Tensor = x.topk(2)  # wrong: values and places
fb.linalg.svd(x, full=True)  # wrong: the argument is full_matrices
right: fb.Tensor = (x @ x.mT + 1).exp().sum(dim=-1, keepdim=True)

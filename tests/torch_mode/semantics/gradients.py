"""Gradients as torch keeps them: printed, and compared with what torch prints."""

import copy
import warnings

import torch
from torch import nn


def show(*values):
    print(*[v.detach().tolist() if isinstance(v, torch.Tensor) else v for v in values])


def error(call):
    try:
        call()
    except Exception as e:
        print(isinstance(e, RuntimeError), isinstance(e, (ValueError, TypeError, RuntimeError)))
    else:
        print("no error")


# adding up, and the same object
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
show(x.grad, x.is_leaf, x.grad_fn, x.requires_grad)
y = x * 2
show(y.is_leaf, y.grad_fn is not None, y.requires_grad)
y.sum().backward()
held = x.grad
show(x.grad, type(x.grad) is torch.Tensor, x.grad.requires_grad, x.grad.is_leaf)
(x**2).sum().backward()
show(x.grad, held is x.grad)
x.grad.zero_()
show(x.grad, held)
x.grad = None
show(x.grad)
x.grad = torch.ones(3)
(x * 3).sum().backward()
show(x.grad)
x.grad.data.mul_(2)
show(x.grad)
x.grad *= 0.5
show(x.grad)
x.grad.detach_()
del x.grad
show(x.grad)

# two leaves with equal gradients do not share them
a, b = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
(a + b).sum().backward()
a.grad.add_(1)
show(a.grad, b.grad)

# gradient=, retain_graph, create_graph
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x**3
y.backward(torch.tensor([1.0, 10.0]), retain_graph=True)
show(x.grad)
y.backward(gradient=torch.ones(2))
show(x.grad)
error(lambda: y.sum().backward())
x.grad = None
(g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
g.sum().backward()
show(g, x.grad)
x.grad = None
(x**3).sum().backward(create_graph=True)
show(x.grad.requires_grad, x.grad.grad_fn is not None)
first = x.grad
x.grad = None
first.sum().backward()
show(x.grad)
error(lambda: (x * 2).backward())
error(lambda: torch.ones(2).sum().backward())

# inputs=
p, q = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
(p * q * 2).sum().backward(inputs=[p])
show(p.grad, q.grad)

# retain_grad and hooks
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.retain_grad()
show(y.retains_grad, x.retains_grad)
y.register_hook(lambda g: g * 10)
(y**2).sum().backward()
show(y.grad, x.grad)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    z = x * 2
    show(z.grad, len(caught), [w.category.__name__ for w in caught])
seen = []
x.grad = None
handle = x.register_hook(lambda g: seen.append(g.tolist()))
after = x.register_post_accumulate_grad_hook(lambda p: seen.append(("after", p.grad.tolist())))
(x * 3).sum().backward()
(x * 3).sum().backward()
print(seen)
handle.remove()
after.remove()
(x * 3).sum().backward()
print(len(seen), x.grad.tolist())
error(lambda: torch.ones(2).register_hook(print))
error(lambda: torch.ones(2).retain_grad())

# grad modes
with torch.no_grad():
    show((x * 2).requires_grad, torch.is_grad_enabled())
    with torch.enable_grad():
        show((x * 2).requires_grad)


@torch.no_grad()
def without(t):
    return t * 2


@torch.no_grad
def bare(t):
    return t * 2


@torch.inference_mode()
def inference(t):
    return t * 2


@torch.inference_mode
def bare_inference(t):
    return t * 2


@torch.enable_grad
def with_gradients(t):
    return t * 2


show(*[f(x).requires_grad for f in (without, bare, inference, bare_inference, with_gradients)])
print(bare.__name__, without.__name__)
with torch.set_grad_enabled(False):
    show((x * 2).requires_grad)
torch.set_grad_enabled(mode=False)
show((x * 2).requires_grad)
torch.set_grad_enabled(True)
show((x * 2).requires_grad)


@torch.no_grad()
def numbers():
    for i in range(2):
        yield (x * i).requires_grad


show(list(numbers()))

# leaves: data, detach, requires_grad_, writes under no_grad
w = torch.ones(2, requires_grad=True)
with torch.no_grad():
    w -= 0.5
    w.add_(torch.ones(2))
    w[0] = 7
show(w, w.requires_grad, w.is_leaf)
error(lambda: w.add_(1))
w.data = torch.zeros(2)
show(w, w.requires_grad)
w.data.add_(3)
show(w)
w.data[0] = 9
show(w)
w.data = torch.zeros(3, 2)
show(w, tuple(w.shape), w.is_leaf, w.requires_grad)
(w * 2).sum().backward()
show(w.grad)
d = w.detach()
d.add_(1)
show(w, d.requires_grad)
v = torch.ones(2)
show(v.requires_grad_() is v, v.requires_grad, v.requires_grad_(False).requires_grad)
u = torch.ones(2, requires_grad=True) * 2
show(u.detach_().requires_grad, u.is_leaf, u.grad_fn)
error(lambda: torch.tensor([1, 2], requires_grad=True))
error(lambda: (w * 2).requires_grad_(False))
t = torch.ones(2)
t.requires_grad = True
show(t.requires_grad)
error(lambda: setattr(t, "grad", torch.ones(3)))
error(lambda: setattr(t, "grad", 1.0))
error(lambda: setattr(t, "grad", torch.ones(2, dtype=torch.float64)))

# copies
m = nn.Linear(2, 1)
m(torch.ones(1, 2)).sum().backward()
twin = copy.deepcopy(m)
show(twin.weight.grad)
m.zero_grad(set_to_none=False)
show(m.weight.grad)
m.zero_grad()
show(m.weight.grad, [p.grad for p in m.parameters()])
m.requires_grad_(False)
show([p.requires_grad for p in m.parameters()])

# torch.autograd
x = torch.tensor([1.0, 2.0], requires_grad=True)
z = torch.tensor([1.0], requires_grad=True)
show(*torch.autograd.grad((x**2).sum(), [x]))
show(torch.autograd.grad((x**2).sum(), [x, z], allow_unused=True)[1])
torch.autograd.backward([(x**2).sum(), (x * 3).sum()])
show(x.grad)
torch.autograd.backward(x * 2, torch.ones(2))
show(x.grad)
error(lambda: torch.autograd.grad((x**2).sum(), [z]))
show(torch.autograd.functional.jacobian(lambda t: t**2, torch.tensor([1.0, 2.0])))

# views and accumulation into parts
base = torch.zeros(4, requires_grad=True)
(base[1:3] * torch.tensor([1.0, 2.0])).sum().backward()
show(base.grad)
s = torch.ones(3, requires_grad=True)
r = s.clone()
r[0] = 5
r.mul_(2)
r.sum().backward()
show(s.grad)
print((torch.ones(2, requires_grad=True) * 2).grad_fn.name(), s.sum().grad_fn.name())
print(type((s * 2).grad_fn).__name__, (s * 2).grad_fn.next_functions[0][0].variable is s)

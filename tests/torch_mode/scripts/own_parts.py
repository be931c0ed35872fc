"""Own autograd functions, hooks of tensors and modules, buffers, parametrisations, weight and spectral norm."""

import copy
import pickle

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as parametrize
from torch.autograd import Function, Variable, gradcheck
from torch.autograd.function import once_differentiable
from torch.nn.parameter import Parameter
from torch.nn.utils import parameters_to_vector, prune, spectral_norm, vector_to_parameters, weight_norm

torch.manual_seed(7)


class Clip(Function):
    """Clamps; gradients pass where the value was inside."""

    @staticmethod
    def forward(ctx, input, low, high):
        ctx.save_for_backward(input)
        ctx.low, ctx.high = low, high
        return input.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        inside = (input >= ctx.low) & (input <= ctx.high)
        assert ctx.needs_input_grad == (True, False, False)
        return grad_output * inside, None, None


class Round(Function):
    """Rounds; the gradient is the identity's."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g.clone()


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class TwoOutputs(Function):
    @staticmethod
    def forward(a, b):
        return a * b, a > b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, g, _):
        a, b = ctx.saved_tensors
        return g * b, g * a


x = torch.linspace(-2, 2, 9, requires_grad=True)
y = Clip.apply(x, -1.0, 1.0)
y.pow(2).sum().backward()
print("clip", x.grad.tolist(), y.grad_fn is not None, x.is_leaf, y.is_leaf)
x.grad = None
(Round.apply(x * 1.3) * x).sum().backward()
print("round", [round(v, 3) for v in x.grad.tolist()])
x.grad.zero_()
GradReverse.apply(x, 0.5).sum().backward()
print("reversed", x.grad.unique().tolist())
product, larger = TwoOutputs.apply(x, x.detach() + 0.5)
print("two", product.requires_grad, larger.requires_grad, larger.dtype)
print("checked", gradcheck(lambda v: Clip.apply(v, -3.0, 3.0) ** 3, torch.randn(4, dtype=torch.double, requires_grad=True)))
v = Variable(torch.ones(2), requires_grad=True)
(v * 3).sum().backward()
print("variable", v.grad.data.tolist(), v.data.requires_grad)

# hooks of tensors
w = torch.tensor([1.0, 2.0], requires_grad=True)
seen = []
handle = w.register_hook(lambda g: seen.append(g.clone()) or g * 2)
h = w * 3
h.retain_grad()
h.sum().backward()
handle.remove()
(w * 3).sum().backward()
print("hooks", w.grad.tolist(), h.grad.tolist(), [s.tolist() for s in seen])
w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.sum().item()))
w.sum().backward()
print("after", seen[-1])


# hooks of modules
class Net(nn.Module):
    def __init__(self, gain=1.5):
        super().__init__()
        self.fc1 = weight_norm(nn.Linear(4, 6))
        self.fc2 = spectral_norm(nn.Linear(6, 5))
        self.scale = Parameter(torch.full((5,), gain))
        self.register_parameter("none", None)
        self.register_buffer("mean", torch.zeros(5))
        self.register_buffer("steps", torch.tensor(0), persistent=False)

    def forward(self, x, power=1):
        x = torch.tanh(self.fc1(x))
        x = self.fc2(x) * self.scale
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
                self.steps += 1
        return (x - self.mean) ** power


net = Net()
print(net)
acts, grads = {}, {}
handles = [m.register_forward_hook(lambda m, i, o, n=n: acts.__setitem__(n, o.detach())) for n, m in net.named_children()]
net.fc2.register_forward_pre_hook(lambda m, args: (args[0] * 0.5,))
net.fc2.register_full_backward_hook(lambda m, gi, go: grads.update(inp=gi[0].norm().item(), out=go[0].norm().item()))
net.register_forward_hook(lambda m, args, kwargs, out: out * kwargs.get("power", 1), with_kwargs=True)
data = torch.randn(3, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = net(data, power=2).sum()
    loss.backward()
    optimizer.step()
    print(f"step {step}: {loss.item():.4f} u {net.fc2.weight_u.norm():.3f} {grads['inp']:.4f} {grads['out']:.4f}")
print("acts", {k: tuple(v.shape) for k, v in acts.items()}, net.steps.item())
print("keys", list(net.state_dict()))
print("g", f"{net.fc1.weight_g.norm():.4f} v {net.fc1.weight_v.norm():.4f} w {net.fc1.weight.norm():.4f}")
for h in handles:
    h.remove()
net.eval()
plain = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5))
twin = copy.deepcopy(plain)
with torch.no_grad():
    twin[0].weight.fill_(0.0)
print("twin", f"{twin[0].weight.abs().sum():.4f}", plain[0].weight.count_nonzero().item())
again = Net()
again.load_state_dict(pickle.loads(pickle.dumps(net.state_dict())))
print("again", torch.allclose(again.eval().mean, net.mean), again.scale.requires_grad)
torch.nn.utils.remove_weight_norm(net.fc1)
print("removed", [n for n, _ in net.fc1.named_parameters()])


# parametrisations and pruning
class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)


layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
print("symmetric", torch.allclose(layer.weight, layer.weight.T), parametrize.is_parametrized(layer))
layer(torch.ones(1, 3)).sum().backward()
print("lower", layer.parametrizations.weight.original.grad.tril(-1).abs().sum().item())
ortho = torch.nn.utils.parametrizations.orthogonal(nn.Linear(4, 4))
print("orthogonal", f"{(ortho.weight.T @ ortho.weight - torch.eye(4)).abs().max().item() < 1e-5}")
pruned = prune.l1_unstructured(nn.Linear(4, 2), name="weight", amount=3)
print("pruned", int((pruned.weight == 0).sum()), sorted(n for n, _ in pruned.named_buffers()))
flat = parameters_to_vector(layer.parameters())
vector_to_parameters(flat * 2, layer.parameters())
print("vector", flat.shape, f"{parameters_to_vector(layer.parameters()).norm() / flat.norm():.3f}")

# gradients of gradients
p = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(g,) = torch.autograd.grad((p**3).sum(), p, create_graph=True)
(g * p).sum().backward()
print("second", p.grad.tolist())
print("jacobian", torch.autograd.functional.jacobian(lambda t: t**2, torch.tensor([1.0, 3.0])).tolist())
print("partial", torch.autograd.grad((p * p.detach()).sum(), [p, w], allow_unused=True)[1])
penalty = sum(t.abs().sum() for t in net.parameters())
penalty.backward()
print("signs", sorted({v for t in net.parameters() for v in t.grad.sign().unique().tolist()} - {0.0}))
with torch.set_grad_enabled(False):
    print("off", (p * 2).requires_grad, torch.is_grad_enabled())
with torch.enable_grad():
    print("on", (p * 2).requires_grad)
try:
    (p.detach() * 2).sum().backward()
except RuntimeError as e:
    print("error", isinstance(e, RuntimeError), "grad" in str(e))
q = p.clone()
q[0] = 5.0
q.sum().backward()
print("written", p.grad.tolist(), F.softplus(q).sum().item() > 0)

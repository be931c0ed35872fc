"""A third Legendre polynomial as an autograd.Function: the tutorial on new autograd functions."""

import math

import torch


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input**3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input**2 - 1)


device = torch.device("cpu")
x = torch.linspace(-math.pi, math.pi, 200, device=device)
y = torch.sin(x)

a = torch.full((), 0.0, device=device, requires_grad=True)
b = torch.full((), -1.0, device=device, requires_grad=True)
c = torch.full((), 0.0, device=device, requires_grad=True)
d = torch.full((), 0.3, device=device, requires_grad=True)

learning_rate = 5e-6
for t in range(300):
    P3 = LegendrePolynomial3.apply
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    if t % 100 == 99:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= learning_rate * p.grad
            p.grad.zero_()

print(f"Result: y = {a.item():.5f} + {b.item():.5f} * P3({c.item():.5f} + {d.item():.5f} x)")

"""Layers with sizes of 0: shapes, values and gradients are PyTorch's (written out)."""

import pytest

import flambeau as fb
from flambeau import nn

# layer, its input, the result's shape and sum, and the sums of its gradients by parameter
CASES = {
    "no outputs": (lambda: nn.Linear(3, 0), (4, 3), (4, 0), [0, 0]),
    "no inputs": (lambda: nn.Linear(0, 3), (4, 0), (4, 3), [0, 12]),
    "layer norm": (lambda: nn.LayerNorm((0, 3)), (2, 0, 3), (2, 0, 3), [0, 0]),
    "rms norm": (lambda: nn.RMSNorm(0), (3, 0), (3, 0), [0]),
    "group norm": (lambda: nn.GroupNorm(1, 0), (2, 0), (2, 0), [0, 0]),
    "instance norm": (lambda: nn.InstanceNorm1d(0, affine=True), (2, 0, 4), (2, 0, 4), [0, 0]),
    "convolution": (lambda: nn.Conv2d(3, 0, 3), (2, 3, 5, 5), (2, 0, 3, 3), [0, 0]),
    "cell": (lambda: nn.LSTMCell(0, 3, bias=False), (4, 0), (4, 3), [0, 0]),
}


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize("name", CASES)
def test_forward_and_gradients(name, device):
    make, given, want, sums = CASES[name]
    with fb.device(device):
        layer, x = make(), fb.ones(*given, requires_grad=True)
        y = layer(x)
        y = y[0] if isinstance(y, tuple) else y
        grads = y.sum().backward()
    assert y.shape == want and grads[x].shape == given
    assert [grads[p].sum().item() for p in layer.parameters()] == sums


def test_warning_and_limits():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op") as warned:
        layer = nn.Linear(3, 0, device="cpu")
    assert warned[0].filename == __file__ and layer.weight.shape == (0, 3)
    assert nn.Embedding(0, 3).weight.shape == (0, 3) and nn.BatchNorm1d(0).running_var.shape == (0,)
    assert nn.Bilinear(2, 3, 0, device="cpu").weight.shape == (0, 2, 3)
    for make in (lambda: nn.Bilinear(0, 3, 2), lambda: nn.LSTM(0, 3), lambda: nn.Conv2d(2, 2, 1, groups=0)):
        with pytest.raises(ValueError, match="=0\\): sizes must be positive integers"):
            make()
    with pytest.raises(TypeError, match=r"Linear\(in_features=1.5\): sizes must be integers"):
        nn.Linear(1.5, 2)

"""Turns tensors into what Python and NumPy ask of them: formats, numbers, arithmetic with arrays, copies."""

import copy
import pickle

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim
from flambeau.device import get_device


@pytest.fixture
def x(device):
    return fb.tensor([[1.0, 2.0, -3.0], [4.0, -0.5, 0.25]], device=device)


def test_formats_and_numbers(x):
    assert f"{x.sum():.4f} {x[0, 1]:>6.1f} {x[0, 0]}" == "3.7500    2.0 1.0"
    assert f"{x}" == repr(x) and format(x[1, 2], ".2f") == "0.25"
    assert (int(x[0, 2]), float(x[1, 1]), bool(x[0, 0]), complex(x[0, 1])) == (-3, -0.5, True, 2 + 0j)
    assert round(x[1, 2], 1).item() == pytest.approx(0.2) and round(x[1, 1]).item() == 0
    place = fb.tensor(1, device=x.device)
    assert [10, 20, 30][place] == 20 and list(range(place)) == [0]
    assert (+x).tolist() == x.tolist() and [r.tolist() for r in reversed(x)] == x.tolist()[::-1]
    assert 4.0 in x and 5.0 not in x
    assert (x == None, x != None) == (False, True)  # noqa: E711


@pytest.mark.parametrize(
    "use, error, text",
    [
        (
            lambda x: f"{x:.2f}",
            TypeError,
            "format(f32[2, 3], '.2f'): only one number has a format: take an element, or"
            " fb.printoptions(precision=...)",
        ),
        (bool, ValueError, "bool(f32[2, 3]): 6 elements are neither true nor false: use .any() or .all()"),
        (
            lambda x: [1][x[0, 0]],
            TypeError,
            "index(f32[]): only one integer is an index: use .int(), or .tolist() for several",
        ),
        (
            lambda x: copy.deepcopy(x.clone().requires_grad_() * 2),
            ValueError,
            "deepcopy(f32[2, 3]): gradients flow through it to other tensors: copy .detach()",
        ),
        (
            lambda x: x @ [1.0, 2.0, 3.0],
            TypeError,
            "matmul(f32[2, 3], [1.0, 2.0, 3.0]): [1.0, 2.0, 3.0] is not a tensor or an array: wrap it in"
            " tensor(...)",
        ),
    ],
)
def test_what_is_refused(use, error, text, x):
    with pytest.raises(error) as told:
        use(x)
    assert str(told.value) == text


def test_arrays_beside_tensors(x):
    array = np.arange(6.0, dtype="f4").reshape(2, 3)
    a = x.numpy()
    found = [x + array, array + x, array - x, x * array, array / x, np.float32(3) * x, x @ array.T]
    found += [array @ x.T, np.exp(x), np.maximum(x, array), x < array]
    wanted = [a + array, array + a, array - a, a * array, array / a, 3 * a, a @ array.T]
    wanted += [array @ a.T, np.exp(a), np.maximum(a, array), a < array]
    for y, want in zip(found, wanted, strict=True):
        assert isinstance(y, fb.Tensor) and y.device is x.device
        np.testing.assert_allclose(y.numpy(), want, rtol=1e-5, atol=1e-5)
    assert (x.int() + np.arange(3, dtype="f4")).dtype is fb.float32  # a float array makes floats
    assert (x.half() + np.float32(1)).dtype is fb.float16  # and one number does not


def test_copies_share_or_do_not(x):
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    x[0, 0] = 9
    assert (shallow[0, 0].item(), deep[0, 0].item()) == (9, 1)
    deep[0, 1] = 7
    assert x[0, 1].item() == 2
    p = x.clone().requires_grad_()
    q = copy.deepcopy(p)
    assert q.requires_grad and q.is_leaf and (q * q).sum().backward()[q].tolist() == (2 * q).tolist()
    one, other = copy.deepcopy([p, p])
    assert one is other


def test_pickles(device):
    for t in (
        fb.tensor([1.5, -2.0], device=device, requires_grad=True),
        fb.tensor([[True, False]], device=device),
        fb.tensor([3, 4, 5], device=device)[1:],
        fb.tensor([1.5, 2.5], dtype=fb.bfloat16, device=device),
        fb.zeros(2, 0, device=device),
    ):
        back = pickle.loads(pickle.dumps(t))
        assert back.tolist() == t.tolist() and back.dtype is t.dtype and back.shape == t.shape
        assert back.device is t.device and back.requires_grad == t.requires_grad
    assert pickle.loads(pickle.dumps(device)) is device is copy.deepcopy(device) is copy.copy(device)
    drawn = fb.Generator(3)
    drawn.take(8)
    assert copy.deepcopy(drawn).get_state() == pickle.loads(pickle.dumps(drawn)).get_state() == (3, 2)


def test_another_machines_gpu_is_the_one_that_is_here(gpu):
    from flambeau.device import reopen

    assert reopen("gpu:an adapter that nobody has") is get_device("gpu")


@pytest.mark.parametrize("make", [copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))])
def test_models_and_optimizers(make):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5)).to("cpu")
    adam = optim.AdamW(model.parameters(), lr=0.1)
    x = fb.tensor([[1.0, 2.0, 3.0], [3.0, -1.0, 0.5]], device="cpu")
    adam.step(model(x).sum().backward())
    other, its = make((model, adam))
    before = {name: t.tolist() for name, t in model.state_dict().items()}
    assert {name: t.tolist() for name, t in other.state_dict().items()} == before
    assert isinstance(other[0].weight, nn.Parameter) and its.params[0] is other[0].weight
    its.step(other.eval()(x).sum().backward())
    assert {name: t.tolist() for name, t in model.state_dict().items()} == before
    assert other[0].weight.tolist() != before["0.weight"]
    steps = [o.state_dict()["state"][0]["step"].item() for o in (its, adam)]
    assert steps == [2, 1]


def test_gradients_are_copied_and_not_pickled():
    w = fb.tensor([1.0, 2.0], requires_grad=True, device="cpu")
    grads = (w * w).sum().backward()
    copied = copy.deepcopy(grads)
    grads[w].mul_(0)
    assert copied[w].tolist() == [2, 4] and copied.loss.item() == 5
    with pytest.raises(TypeError, match="gradients can't be pickled: save {name: grads"):
        pickle.dumps(grads)


def test_named_results(device):
    x = fb.tensor([[3.0, 1.0, 2.0]], device=device)
    for made in (x.max(1), x.min(1), x.sort(1), x.topk(2, 1), x.median(1), x.nanmedian(1), x.mode(1),
                 x.kthvalue(1, 1), x.cummax(1), x.cummin(1), fb.max(x, dim=1)):  # fmt: skip
        values, indices = made
        assert made.values is values and made.indices is indices and isinstance(made, tuple)
    assert fb.frexp(x).mantissa.tolist() == [[0.75, 0.5, 0.5]] and fb.frexp(x).exponent.tolist() == [
        [2, 1, 2]
    ]
    assert fb.histogram(x, 2).hist.tolist() == [1, 2] and fb.histogram(x, 2).bin_edges.tolist() == [1, 2, 3]
    assert fb.max(x, 4 - x).tolist() == [[3, 3, 2]] and x.min(4 - x).tolist() == [[1, 1, 2]]

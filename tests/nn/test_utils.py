"""nn.utils: the same programs with torch, by NumPy where that is short, and what is raised."""

import copy

import numpy as np
import pytest
from helpers.blocks import block_weight
from helpers.torch_nn import compare, twins

import flambeau as fb
from flambeau import nn
from flambeau.nn import utils

RNG = np.random.default_rng(9)


@pytest.fixture(autouse=True)
def on_numpy(monkeypatch):
    """What is here is made of ops that have tests of their kernels."""
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")


def drawn(*shape):
    return RNG.normal(size=shape).astype("f4")


# --- gradients and vectors ---


def gradients(values):
    params = [nn.Parameter(fb.tensor(v)) for v in values]
    return params, sum((p * p).sum() for p in params).backward()


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_clipping_by_norm_beside_torch(torch, p):
    values = [drawn(3, 2), drawn(4)]
    ours, grads = gradients(values)
    theirs = [torch.nn.Parameter(torch.tensor(v)) for v in values]
    sum((q * q).sum() for q in theirs).backward()
    want = torch.nn.utils.clip_grad_norm_(theirs, 1.5, p)
    found = utils.clip_grad_norm_(grads, 1.5, p)
    np.testing.assert_allclose(found.item(), want.item(), rtol=1e-5)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(grads[a].numpy(), b.grad.numpy(), rtol=1e-5)


def test_clipping():
    params, grads = gradients([np.array([3.0, 4.0], "f4"), np.array([0.5], "f4")])
    total = utils.get_total_norm(grads)
    np.testing.assert_allclose(total.item(), np.sqrt(36 + 64 + 1), rtol=1e-6)
    utils.clip_grad_value_(grads, 2.0)
    assert grads[params[0]].tolist() == [2, 2] and grads[params[1]].tolist() == [1]
    utils.clip_grads_with_norm_(grads, 1.0, fb.tensor(2.0))
    np.testing.assert_allclose(grads[params[0]].numpy(), [1, 1], rtol=1e-5)
    again = utils.clip_grad_norm_(grads, 10.0)
    np.testing.assert_allclose(again.item(), 1.5, rtol=1e-5)
    np.testing.assert_allclose(grads[params[1]].numpy(), [0.5], rtol=1e-5)


def test_vectors():
    model = nn.Linear(2, 1)
    vector = utils.parameters_to_vector(model.parameters())
    assert vector.tolist() == [*model.weight.tolist()[0], *model.bias.tolist()]
    utils.vector_to_parameters(fb.tensor([1.0, 2.0, 3.0]), model.parameters())
    assert model.weight.tolist() == [[1, 2]] and model.bias.tolist() == [3] and model.weight.requires_grad


# --- folded norms, calls with other tensors ---


@pytest.mark.parametrize("kind", ["conv", "transposed", "linear"])
def test_folded_norms(kind):
    layer, bn, x = {
        "conv": (nn.Conv2d(2, 3, 2, bias=False), nn.BatchNorm2d(3), drawn(2, 2, 4, 4)),
        "transposed": (nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3), drawn(2, 2, 4, 4)),
        "linear": (nn.Linear(4, 3), nn.BatchNorm1d(3, affine=False), drawn(5, 4)),
    }[kind]
    bn(layer(fb.tensor(x)))  # statistics that are no zeros and ones
    layer.eval(), bn.eval()
    if kind == "linear":
        made = utils.fuse_linear_bn_eval(layer, bn)
    else:
        made = utils.fuse_conv_bn_eval(layer, bn, kind == "transposed")
    assert made is not layer and isinstance(made.weight, nn.Parameter)
    np.testing.assert_allclose(made(fb.tensor(x)).numpy(), bn(layer(fb.tensor(x))).numpy(), atol=2e-6)


def called(m, call):
    """functional_call, with either package."""
    model = m.nn.Sequential(m.nn.Linear(2, 2, bias=False), m.nn.BatchNorm1d(2))
    model.append(model[0])
    model.eval()
    given = {"0.weight": m.tensor([[1.0, 2.0], [3.0, 4.0]]), "1.running_mean": m.tensor([1.0, 2.0])}
    x = m.tensor([[1.0, 1.0]])
    made = [call(model, given, x), call(model, given, (x,), tie_weights=False, strict=False)]
    return made[0].tolist(), tuple(made[1].shape), model[1].running_mean.tolist()


def test_weights_of_fused_layers_by_name():
    weight, bias, ones = (
        fb.tensor([[1.0, 2.0]], device="cpu"),
        fb.zeros(1, device="cpu"),
        fb.ones(1, device="cpu"),
    )
    for fuse in (utils.fuse_linear_bn_weights, utils.fuse_conv_bn_weights):
        folded = fuse(weight, bias, bn_rm=ones, bn_rv=ones * 3, bn_eps=1.0, bn_w=ones * 4, bn_b=ones * 5)
        assert [t.tolist() for t in folded] == [[[2, 4]], [3]]


def test_functional_call():
    found = called(fb, utils.stateless.functional_call)
    np.testing.assert_allclose(found[0], [[12, 26]], rtol=1e-4)
    assert found[1:] == ((1, 2), [0.0, 0.0])
    model = nn.Linear(2, 1)
    given = {"weight": fb.tensor([[1.0, 2.0]]).requires_grad_(), "bias": fb.tensor([0.5])}
    y = utils.stateless.functional_call(model, given, fb.ones(1, 2))
    assert y.item() == 3.5 and y.sum().backward()[given["weight"]].tolist() == [[1, 1]]


def test_functional_call_beside_torch(torch):
    ours, theirs = called(fb, utils.stateless.functional_call), called(torch, torch.func.functional_call)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)
    assert ours[1:] == theirs[1:]


# --- parametrizations ---

MADE = {
    "weight_norm": lambda u, m: u.parametrizations.weight_norm(m.nn.Linear(3, 4)),
    "weight_norm by columns": lambda u, m: u.parametrizations.weight_norm(m.nn.Linear(3, 4), dim=1),
    "weight_norm of all": lambda u, m: u.parametrizations.weight_norm(m.nn.Linear(3, 4), dim=None),
    "spectral_norm": lambda u, m: u.parametrizations.spectral_norm(m.nn.Linear(3, 4)),
    "orthogonal": lambda u, m: u.parametrizations.orthogonal(m.nn.Linear(3, 3)),
    "orthogonal, wide": lambda u, m: u.parametrizations.orthogonal(m.nn.Linear(3, 2)),
    "orthogonal by angles": lambda u, m: u.parametrizations.orthogonal(m.nn.Linear(3, 4), "weight", "cayley"),
    "orthogonal by powers": (
        lambda u, m: u.parametrizations.orthogonal(m.nn.Linear(3, 4), "weight", "matrix_exp")
    ),
    "old weight_norm": lambda u, m: u.weight_norm(m.nn.Linear(3, 4)),
    "old spectral_norm": lambda u, m: u.spectral_norm(m.nn.Linear(3, 4)),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("training", [True, False])
def test_parametrizations_beside_torch(torch, name, training):
    pair = twins(torch, lambda m: MADE[name](m.nn.utils, m))
    for m in pair:
        m.train(training)
    compare(torch, pair, drawn(5, 3), atol=1e-4)


def test_parametrizations_are_what_they_say():
    layer = utils.parametrizations.orthogonal(nn.Linear(3, 5))
    w = layer.weight.numpy()
    np.testing.assert_allclose(w.T @ w, np.eye(3), atol=1e-5)
    layer = utils.parametrizations.spectral_norm(nn.Linear(3, 5), n_power_iterations=20)
    np.testing.assert_allclose(np.linalg.svd(layer.weight.numpy())[1][0], 1, atol=1e-4)
    linear = nn.Linear(3, 4)
    before = linear.weight.numpy()
    normed = utils.parametrizations.weight_norm(linear)
    np.testing.assert_allclose(normed.weight.numpy(), before, atol=1e-6)
    names = ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    assert [n for n, _ in normed.named_parameters()] == names
    grads = normed(fb.ones(2, 3)).sum().backward()
    assert len(grads) == 3
    other = copy.deepcopy(normed)
    np.testing.assert_allclose(other.weight.numpy(), before, atol=1e-6)


class Double(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


class Plus(nn.Module):
    def forward(self, x):
        return x + 1


def test_chains():
    P = utils.parametrize
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": fb.tensor([[4.0, 6.0]]), "bias": fb.tensor([1.0])})
    P.register_parametrization(layer, "weight", Double())
    assert layer.weight.tolist() == [[4, 6]] and type(layer).__name__ == "ParametrizedLinear"
    assert layer.parametrizations.weight.original.tolist() == [[2, 3]]
    layer.weight = fb.tensor([[2.0, 8.0]])
    assert layer.weight.tolist() == [[2, 8]] and layer.parametrizations.weight.original.tolist() == [[1, 4]]
    P.register_parametrization(layer, "weight", Plus())
    assert layer.weight.tolist() == [[3, 9]] and len(layer.parametrizations.weight) == 2
    assert P.is_parametrized(layer) and P.is_parametrized(layer, "weight")
    assert not P.is_parametrized(layer, "bias") and P.type_before_parametrizations(layer) is nn.Linear
    with pytest.raises(NotImplementedError, match="Plus: it can't be inverted: define right_inverse"):
        layer.weight = fb.tensor([[0.0, 0.0]])
    assert layer.weight.tolist() == [[3, 9]]
    with P.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight
    other = nn.Linear(2, 1)
    P.transfer_parametrizations_and_params(layer, other)
    assert other.weight.tolist() == [[3, 9]]
    P.remove_parametrizations(layer, "weight")
    assert layer.weight.tolist() == [[3, 9]] and type(layer) is nn.Linear
    assert list(layer.state_dict()) == ["bias", "weight"] and isinstance(layer.weight, nn.Parameter)
    P.remove_parametrizations(other, "weight", leave_parametrized=False)
    assert other.weight.tolist() == [[1, 4]]


def test_one_more_in_a_chain_takes_the_value_there_is():
    P = utils.parametrize
    layer = nn.Linear(2, 1)
    layer.load_state_dict({"weight": fb.tensor([[4.0, 6.0]]), "bias": fb.tensor([1.0])})
    for made in (Plus(), Double()):
        P.register_parametrization(layer, "weight", made)
    assert layer.weight.tolist() == [[10, 14]]
    assert layer.parametrizations.weight.original.tolist() == [[4, 6]]
    with pytest.raises(ValueError, match=r"becomes f32\[2\]\): a parametrization must keep"):
        P.register_parametrization(layer, "weight", nn.Flatten(0))
    assert len(layer.parametrizations.weight) == 2
    P.register_parametrization(layer, "weight", nn.Flatten(0), unsafe=True)
    assert layer.weight.tolist() == [10, 14]


def test_old_norms_are_undone():
    for make, undo in ((utils.weight_norm, utils.remove_weight_norm),
                       (utils.spectral_norm, utils.remove_spectral_norm)):  # fmt: skip
        layer = make(nn.Linear(3, 2))
        value = layer.eval()(fb.ones(1, 3)).numpy()
        assert undo(layer) is layer and set(layer.state_dict()) == {"weight", "bias"}
        np.testing.assert_allclose(layer(fb.ones(1, 3)).numpy(), value, atol=1e-6)


# --- pruning ---


def test_infinite_weights_are_pruned_like_others():
    m = nn.Linear(4, 1, device="cpu")
    m.weight.assign_(fb.tensor([[float("inf"), 1.0, 2.0, 3.0]], device="cpu"))
    nn.utils.prune.l1_unstructured(m, "weight", 1)
    assert m.weight_mask.tolist() == [[1, 0, 1, 1]]


def pruned(m, prune):
    """What pruning leaves, with either package."""

    def layer():
        made = m.nn.Linear(4, 3)
        values = m.arange(12.0).reshape(3, 4) - 5
        made.load_state_dict({"weight": values, "bias": m.tensor([1.0, -2.0, 3.0])})
        return made

    told = []
    a = prune.l1_unstructured(layer(), "weight", 0.25)
    told += [a.weight.tolist(), sorted(a.state_dict()), [n for n, _ in a.named_parameters()]]
    prune.l1_unstructured(a, "weight", 2)
    told += [a.weight_mask.tolist(), prune.is_pruned(a), a(m.ones(1, 4)).tolist()]
    prune.remove(a, "weight")
    told += [a.weight.tolist(), sorted(a.state_dict()), prune.is_pruned(a)]
    b = prune.ln_structured(layer(), "weight", 0.3, n=2, dim=0)
    told += [b.weight.tolist()]
    prune.ln_structured(b, "weight", 1, n=1, dim=1)
    told += [b.weight.tolist()]
    c = prune.custom_from_mask(layer(), "bias", m.tensor([1.0, 0.0, 1.0]))
    told += [c.bias.tolist(), prune.identity(layer(), "weight").weight.tolist()]
    pair = [(layer(), "weight"), (layer(), "bias")]
    prune.global_unstructured(pair, pruning_method=prune.L1Unstructured, amount=7)
    told += [getattr(*p).tolist() for p in pair]
    for f in (lambda x: prune.random_unstructured(x, "weight", 0.5),
              lambda x: prune.random_structured(x, "weight", 2, dim=1)):  # fmt: skip
        told += [int((f(layer()).weight_mask == 0).sum().item())]
    scores = m.tensor([[1.0] * 4, [0.1] * 4, [2.0] * 4])
    told += [prune.l1_unstructured(layer(), "weight", 4, importance_scores=scores).weight.tolist()]
    return told


def test_pruning():
    told = pruned(fb, utils.prune)
    assert told[0] == [[-5, -4, -3, -2], [0, 0, 0, 2], [3, 4, 5, 6]]
    assert told[1] == ["bias", "weight_mask", "weight_orig"] and told[2] == ["bias", "weight_orig"]
    assert told[-3:] == [6, 6, [[-5, -4, -3, -2], [0, 0, 0, 0], [3, 4, 5, 6]]]


def test_pruning_beside_torch(torch):
    from torch.nn.utils import prune

    assert pruned(fb, utils.prune) == pruned(torch, prune)


# --- fine-tuning ---


def test_lora():
    fb.manual_seed(1)  # one in twenty models learns too little in three steps to see it
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Sequential(nn.Linear(6, 2)))
    x = fb.tensor(drawn(3, 4))
    before = model(x).numpy()
    utils.lora(model, r=2, alpha=4.0, pattern="2.*")
    np.testing.assert_array_equal(model(x).numpy(), before)
    assert [n for n, p in model.named_parameters() if p.requires_grad] == ["2.0.lora_A", "2.0.lora_B"]
    optimizer = fb.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.02)
    for _ in range(3):
        optimizer.step((model(x) - 1).square().sum().backward())
    learned = model(x).numpy()
    assert np.abs(learned - before).max() > 0.01
    low = model[2][0]
    want = low.base.weight.numpy() + low.lora_B.numpy() @ low.lora_A.numpy() * 2
    utils.merge_lora(model)
    assert type(model[2][0]) is nn.Linear and all(p.requires_grad for p in model[2].parameters())
    np.testing.assert_allclose(model[2][0].weight.numpy(), want, atol=1e-6)
    np.testing.assert_allclose(model(x).numpy(), learned, rtol=1e-5, atol=1e-5)  # other products


class Tied(nn.Module):
    """Words in and out by one table."""

    def __init__(self):
        self.words, self.out = nn.Embedding(4, 4), nn.Linear(4, 4, bias=False)
        self.out.weight = self.words.weight

    def forward(self, x):
        return self.out(x) + self.words(fb.tensor([0, 3, 1]))


def of_shared(inner):
    return nn.Sequential(inner, nn.Tanh(), inner)


SHARED = {  # and how many adapters there are
    "a layer in two places": (lambda: of_shared(nn.Linear(4, 4)), 1),
    "a block in two places": (lambda: of_shared(nn.Sequential(nn.Linear(4, 4))), 1),
    "a weight of two layers": (Tied, 1),
    "adapters of adapters": (lambda: utils.lora(nn.Sequential(nn.Linear(4, 4)), r=1), 2),
}


@pytest.mark.parametrize("name", SHARED)
def test_lora_of_what_is_shared(name):
    make, adapters = SHARED[name]
    model, x = make(), fb.tensor(drawn(3, 4))
    before = model(x).numpy()
    utils.lora(model, r=2)
    np.testing.assert_allclose(model(x).numpy(), before, atol=1e-6)
    added = [p for n, p in model.named_parameters() if "lora" in n]
    assert len(added) == 2 * adapters
    for p in added:
        p.assign_(fb.tensor(drawn(*p.shape)))
    learned = model(x).numpy()
    utils.merge_lora(model)
    assert not any("lora" in n for n, _ in model.named_parameters()) and np.abs(learned - before).max() > 0.01
    np.testing.assert_allclose(model(x).numpy(), learned, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sizes", [{}, {"kdim": 3, "vdim": 5}])
def test_lora_of_attention(sizes):
    with fb.device("cpu"):
        model = nn.MultiheadAttention(4, 2, batch_first=True, **sizes)
        q, k, v = (fb.tensor(drawn(2, 3, n)) for n in (4, sizes.get("kdim", 4), sizes.get("vdim", 4)))
        names = [n for n, _ in model.named_parameters() if n.endswith("proj_weight")]
        before, weights = model(q, k, v)[0].numpy(), {n: getattr(model, n).numpy() for n in names}
        utils.lora(model, r=2, alpha=4.0)
        np.testing.assert_array_equal(model(q, k, v)[0].numpy(), before)
        learned = [p for p in model.parameters() if p.requires_grad]
        assert len(learned) == 2 * (len(names) + 1)  # and those of out_proj
        optimizer = fb.optim.SGD(learned, lr=0.02)
        for _ in range(3):
            optimizer.step((model(q, k, v)[0] - 1).square().sum().backward())
        after = model(q, k, v)[0].numpy()
        assert np.abs(after - before).max() > 0.01
        added = {n: model.parametrizations[n][0] for n in names}
        want = {n: weights[n] + 2 * p.lora_B.numpy() @ p.lora_A.numpy() for n, p in added.items()}
        utils.merge_lora(model)
        assert type(model) is nn.MultiheadAttention and all(p.requires_grad for p in model.parameters())
        for name, w in want.items():
            assert np.abs(w - weights[name]).max() > 1e-4
            np.testing.assert_allclose(getattr(model, name).numpy(), w, atol=1e-6)
        np.testing.assert_allclose(model(q, k, v)[0].numpy(), after, atol=1e-5)


def test_lora_of_a_transformer_layer_takes_a_pattern():
    with fb.device("cpu"):
        layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
        utils.lora(layer, r=1, pattern="self_attn.in_proj_*")
        path = "self_attn.parametrizations.in_proj_weight.0"
        learned = [n for n, p in layer.named_parameters() if p.requires_grad]
        assert learned == [f"{path}.lora_A", f"{path}.lora_B"]
        grads = layer(fb.tensor(drawn(3, 2, 4))).square().sum().backward()
        assert len([p for p in layer.parameters() if p in grads]) == 2


@pytest.mark.parametrize("kind", ["words", "blocks"])
def test_lora_of_quantised_layers(kind):
    model = nn.Sequential(nn.Linear(32, 6), nn.ReLU(), nn.Linear(6, 2, bias=False))
    x = fb.tensor(drawn(3, 32))
    if kind == "words":
        assert nn.quantize_(model) == ["0"]
    else:
        nn.keep_blocks(model, {"0.weight": block_weight("q4_0", 6, 32)})
    before, words = model(x).numpy(), getattr(model[0], kind).numpy()
    utils.lora(model, r=2, alpha=4.0)
    learned = [n for n, p in model.named_parameters() if p.requires_grad]
    assert learned == ["0.lora_A", "0.lora_B", "2.lora_A", "2.lora_B"]
    optimizer = fb.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
    step = fb.jit(lambda x: optimizer.step((model(x) - 1).square().sum().backward()))
    for _ in range(3):
        step(x)
    after, low = model(x).numpy(), model[0]
    assert np.abs(after - before).max() > 0.01
    assert (getattr(low.base, kind).numpy() == words).all() and np.abs(low.lora_B.numpy()).max() > 1e-4
    weight = low.base.weight.dequantize() if kind == "words" else low.base.weight
    want = weight.numpy() + low.lora_B.numpy() @ low.lora_A.numpy() * 2
    utils.merge_lora(model)
    assert type(model[0]) is nn.Linear and all(p.requires_grad for p in model.parameters())
    np.testing.assert_allclose(model[0].weight.numpy(), want, atol=1e-6)
    np.testing.assert_allclose(model(x).numpy(), after, rtol=1e-4, atol=1e-5)


def test_freezing_by_name():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    assert utils.freeze(model, "0.*") == ["0.weight", "0.bias"]
    assert [p.requires_grad for p in model.parameters()] == [False, False, True, True]
    frozen = nn.BatchNorm1d(2).to("cpu")
    utils.freeze(frozen)
    for training, mean in ((True, 0.5), (False, 0.5)):  # in eval mode the statistics stay
        frozen.train(training)(fb.full((4, 2), 5.0, device="cpu"))
        assert frozen.running_mean.tolist() == [mean, mean]
    assert utils.freeze(model, ("*.bias", "1.*"), frozen=False) == ["0.bias", "1.weight", "1.bias"]


def tensors():
    return [fb.ones(2)]


ERRORS = {
    "clip_grad_norm_(1 tensors): pass the result of backward, since tensors have no .grad: grads ="
    " loss.backward()": lambda: utils.clip_grad_norm_(tensors(), 1.0),
    "get_total_norm(0 gradients): an empty list has no norm: check requires_grad": (
        lambda: utils.get_total_norm([])
    ),
    "get_total_norm(1 tensors, 2.0): the norm is not finite: look for the first gradient that is not"
    " (fb.debug)": lambda: utils.get_total_norm([fb.ones(1) / 0], error_if_nonfinite=True),
    "vector_to_parameters([2]): the parameters have 3 elements: pass a vector of that size": (
        lambda: utils.vector_to_parameters(fb.ones(2), nn.Linear(2, 1).parameters())
    ),
    "fuse(Linear, BatchNorm1d): fusing needs running statistics: track them, and call eval() on both": (
        lambda: utils.fuse_linear_bn_eval(nn.Linear(2, 1), nn.BatchNorm1d(1))
    ),
    "functional_call(Linear): no tensor is named 'wieght': did you mean 'weight'?": (
        lambda: utils.stateless.functional_call(nn.Linear(2, 1), {"wieght": 0}, fb.ones(1, 2))
    ),
    "functional_call(Linear): no tensor is named 'a.weight': did you mean 'weight'?": (
        lambda: utils.stateless.functional_call(nn.Linear(2, 1), {"a.weight": 0}, fb.ones(1, 2))
    ),
    "functional_call(Linear): strict=True, but ['bias'] are missing": (
        lambda: utils.stateless.functional_call(
            nn.Linear(2, 1), {"weight": fb.ones(1, 2)}, fb.ones(1, 2), strict=True
        )
    ),
    "register_parametrization('w'): Linear has no parameter or buffer of that name: check the name": (
        lambda: utils.parametrize.register_parametrization(nn.Linear(2, 1), "w", Double())
    ),
    "register_parametrization(f32[2, 3] becomes f32[6]): a parametrization must keep shape"
    " and dtype: change it,"
    " or pass unsafe=True": (
        lambda: utils.parametrize.register_parametrization(nn.Linear(3, 2), "weight", nn.Flatten(0))
    ),
    "remove_parametrizations('weight'): Linear has no parametrization of that name: check the name": (
        lambda: utils.parametrize.remove_parametrizations(nn.Linear(2, 1), "weight")
    ),
    "remove_parametrizations('weight', leave_parametrized=False): it has several originals:"
    " pass leave_parametrized=True": lambda: utils.parametrize.remove_parametrizations(
        utils.parametrizations.weight_norm(nn.Linear(2, 1)), "weight", False
    ),
    "transfer_parametrizations_and_params(Linear): the first module has no parametrizations: pass one"
    " that does": (
        lambda: utils.parametrize.transfer_parametrizations_and_params(nn.Linear(2, 1), nn.Linear(2, 1))
    ),
    "spectral_norm('w', 1): the parameter must exist, and there must be at least one"
    " iteration: change the arguments": (
        lambda: utils.parametrizations.spectral_norm(nn.Linear(2, 1), "w")
    ),
    "orthogonal('bias'): the parameter must have at least 2 dims: name one that has": (
        lambda: utils.parametrizations.orthogonal(nn.Linear(2, 1), "bias")
    ),
    "orthogonal('weight', 'svd'): is unknown: use one of matrix_exp, cayley, householder": (
        lambda: utils.parametrizations.orthogonal(nn.Linear(2, 1), "weight", "svd")
    ),
    "remove_weight_norm('weight'): Linear has none of that name: check the name": (
        lambda: utils.remove_weight_norm(nn.Linear(2, 1))
    ),
    "remove('weight'): Linear has no pruned parameter of that name: check the name": (
        lambda: utils.prune.remove(nn.Linear(2, 1), "weight")
    ),
    "L1Unstructured(amount=1.5): must be a fraction from 0 to 1 or an integer: pass one": (
        lambda: utils.prune.L1Unstructured(1.5)
    ),
    "L1Unstructured(amount=9): only 2 are left: pass a smaller amount": (
        lambda: utils.prune.l1_unstructured(nn.Linear(2, 1), "weight", 9)
    ),
    "global_unstructured(LnStructured): slices of several shapes can't be compared: use an"
    " unstructured method": (
        lambda: utils.prune.global_unstructured([], utils.prune.LnStructured)
    ),
    "LoRALinear(r=0): sizes must be positive integers: pass another value": (
        lambda: nn.utils.LoRALinear(nn.Linear(2, 1), 0)
    ),
    "lora(pattern='x'): matches no linear layer: the linear layers are 0": (
        lambda: utils.lora(nn.Sequential(nn.Linear(2, 1)), pattern="x")
    ),
    "lora(pattern='x'): matches no linear layer: the linear layers are out_proj, in_proj_weight": (
        lambda: utils.lora(nn.MultiheadAttention(2, 1), pattern="x")
    ),
    "lora(pattern='*', dropout=0.1): in_proj_weight of MultiheadAttention supports no"
    " dropout: pass 0, or a pattern"
    " without it": (
        lambda: utils.lora(nn.MultiheadAttention(2, 1), dropout=0.1)
    ),
    "freeze(pattern='x'): matches no parameter: see named_parameters()": (
        lambda: utils.freeze(nn.Linear(2, 1), "x")
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    with pytest.raises((ValueError, TypeError)) as e:
        ERRORS[text]()
    assert str(e.value) == text

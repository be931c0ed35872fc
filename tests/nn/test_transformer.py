"""Attention layers and transformers: NumPy's formula, torch's values and gradients, masks of all kinds."""

import numpy as np
import pytest
from helpers.torch_nn import compare, twins

import flambeau as fb
from flambeau import nn

RNG = np.random.default_rng(7)


@pytest.fixture
def on_numpy(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")


def drawn(*shape):
    return RNG.normal(size=shape).astype("f4")


N, M, B, E = 4, 5, 2, 6
CAUSAL = np.triu(np.ones((N, N), bool), 1)
PADDING = np.array([[False] * 4 + [True], [False] * 3 + [True] * 2])
ADDED = drawn(N, M)
HIDDEN = np.zeros((N, M), bool)
HIDDEN[0, 1:3] = True
LAYERS = {
    "plain": {},
    "no bias, two features": {"bias": False, "kdim": 3, "vdim": 7},
    "more keys": {"add_bias_kv": True, "add_zero_attn": True},
    "batch first": {"batch_first": True},
}
MASKS = {
    "none": {},
    "padding": {"key_padding_mask": PADDING},
    "bool": {"attn_mask": HIDDEN},
    "float and padding": {"attn_mask": ADDED, "key_padding_mask": np.where(PADDING, -np.inf, 0).astype("f4")},
    "by head": {"attn_mask": np.stack([HIDDEN, HIDDEN[::-1], HIDDEN[:, ::-1], HIDDEN & False])},
    "all heads' weights": {"average_attn_weights": False},
    "no weights": {"need_weights": False, "attn_mask": HIDDEN, "key_padding_mask": PADDING},
}


def options(masks, torch=None):
    """Masks as tensors of a package, without gradients."""
    make = torch.tensor if torch else fb.tensor
    return {k: make(v) if isinstance(v, np.ndarray) else v for k, v in masks.items()}


@pytest.mark.parametrize("layer", LAYERS)
def test_attention_beside_torch(torch, on_numpy, layer):
    kw = LAYERS[layer]
    pair = twins(torch, lambda f: f.nn.MultiheadAttention(E, 2, **kw))
    given = [drawn(N, B, E), drawn(M, B, kw.get("kdim", E)), drawn(M, B, kw.get("vdim", E))]
    if "batch_first" in kw:
        given = [np.swapaxes(a, 0, 1) for a in given]
    for masks in MASKS.values():
        ours, theirs = options(masks), options(masks, torch)
        calls = (lambda *t, o=ours: pair[0](*t, **o), lambda *t, o=theirs: pair[1](*t, **o))
        compare(torch, calls, *given)
    one = [a[0] if "batch_first" in kw else a[:, 0] for a in given]
    compare(torch, pair, *one)


def test_attention_to_itself_beside_torch(torch, on_numpy):
    pair = twins(torch, lambda f: f.nn.MultiheadAttention(E, 3))
    for how in ({}, {"need_weights": False}, {"need_weights": False, "is_causal": True}):
        mask = {"attn_mask": CAUSAL} if "is_causal" in how else {}
        ours, theirs = options({**mask, **how}), options({**mask, **how}, torch)
        calls = (lambda x, o=ours: pair[0](x, x, x, **o), lambda x, o=theirs: pair[1](x, x, x, **o))
        compare(torch, calls, drawn(N, B, E))


def test_attention_by_numpy(device):
    layer = nn.MultiheadAttention(E, 2, device=device)
    x, y = drawn(N, B, E), drawn(M, B, E)
    w, b = layer.in_proj_weight.numpy(), layer.in_proj_bias.numpy()
    q, k, v = (a @ w[i * E : i * E + E].T + b[i * E : i * E + E] for i, a in enumerate((x, y, y)))
    q, k, v = (a.reshape(len(a), B, 2, 3).transpose(1, 2, 0, 3) for a in (q, k, v))
    s = q @ k.swapaxes(-1, -2) / np.sqrt(3)
    s[1, :, :, 3:] = -np.inf
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    want = (p @ v).transpose(2, 0, 1, 3).reshape(N, B, E) @ layer.out_proj.weight.numpy().T
    given = [fb.tensor(a, device=device) for a in (x, y, y)]
    padding = fb.tensor([[False] * 5, [False] * 3 + [True] * 2], device=device)
    found, weights = layer(*given, key_padding_mask=padding)
    np.testing.assert_allclose(found.numpy(), want, atol=5e-6)
    np.testing.assert_allclose(weights.numpy(), p.mean(1), atol=5e-6)
    again, none = layer(*given, key_padding_mask=padding, need_weights=False)
    assert none is None
    np.testing.assert_allclose(again.numpy(), want, atol=5e-6)


HELD = {  # masks [3, 3] of which row 1 is the lowest number, or nothing; what row 1 sees
    "lowest": (np.float32([[0] * 3, [np.finfo("f4").min] * 3, [0, 1, 2]]), {}, 1 / 3),
    "minus infinity": (np.float32([[0] * 3, [-np.inf] * 3, [0, 1, 2]]), {}, 0),
    "bools": (np.array([[False] * 3, [True] * 3, [False, True, False]]), {}, 0),
    "padding": (None, {"key_padding_mask": np.array([[True] * 3])}, 0),
}


@pytest.mark.parametrize("p", [0.0, 0.5])
@pytest.mark.parametrize("name", HELD)
@pytest.mark.share(5)
def test_weights_that_are_wanted_change_no_result(name, p, device):
    mask, more, seen = HELD[name]
    layer = nn.MultiheadAttention(4, 2, dropout=p, batch_first=True, device=device)
    x = fb.tensor(drawn(1, 3, 4), device=device, requires_grad=True)
    masks = {n: fb.tensor(m, device=device) for n, m in ({"attn_mask": mask} | more).items() if m is not None}

    def run(**how):
        fb.manual_seed(5)
        y, weights = layer(x, x, x, **masks, **how)
        return y, weights, y.square().sum().backward()[x]

    (a, none, ga), (b, weights, gb) = run(need_weights=False), run(average_attn_weights=False)
    assert none is None
    np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-6)
    np.testing.assert_allclose(ga.numpy(), gb.numpy(), atol=1e-5)
    assert np.isfinite(b.numpy()).all() and np.isfinite(gb.numpy()).all()
    if not p:
        np.testing.assert_allclose(weights.numpy()[0, :, 1], seen, atol=1e-6)
        np.testing.assert_allclose(layer(x, x, x, **masks)[1].numpy(), weights.numpy().mean(1), atol=1e-6)


def test_attention_as_a_function_beside_torch(torch, on_numpy):
    def run(f):
        def call(q, k, v, *w):
            given = (E, 2, w[0], w[1], None, None, True, 0.0, w[2], w[3])
            separate = {f"{n}_proj_weight": t for n, t in zip("qkv", w[4:], strict=True)}
            many = f.nn.functional.multi_head_attention_forward
            one = many(q, k, v, *given, training=False)
            return one, many(q, k, v, *given, use_separate_proj_weight=True, need_weights=False, **separate)

        return call

    weights = [drawn(3 * E, E), drawn(3 * E), drawn(E, E), drawn(E), *(drawn(E, E) for _ in range(3))]
    compare(torch, (run(fb), run(torch)), drawn(N, B, E), drawn(M, B, E), drawn(M, B, E), *weights)


STACKS = {
    "plain": {},
    "norms first": {"norm_first": True, "activation": "gelu", "batch_first": True},
    "no bias": {"bias": False, "activation": "gelu"},
}


@pytest.mark.parametrize("kw", STACKS)
def test_layers_beside_torch(torch, on_numpy, kw):
    how = STACKS[kw]
    turn = (lambda a: np.swapaxes(a, 0, 1)) if how.get("batch_first") else lambda a: a
    x, memory = turn(drawn(N, B, E)), turn(drawn(M, B, E))
    encoder = twins(torch, lambda f: f.nn.TransformerEncoderLayer(E, 2, 8, **how).train())
    for m in encoder:
        m.train()
        for d in m.modules():
            if type(d).__name__ == "Dropout":
                d.p = 0.0
        m.self_attn.dropout = 0.0
    compare(torch, encoder, x)
    masked = [
        lambda t, m=m, f=f: m(t, src_mask=f(CAUSAL), src_key_padding_mask=f(PADDING[:, 1:]))
        for m, f in zip(encoder, (fb.tensor, torch.tensor), strict=True)
    ]
    compare(torch, tuple(masked), x)
    decoder = twins(torch, lambda f: f.nn.TransformerDecoderLayer(E, 2, 8, dropout=0.0, **how))
    compare(torch, decoder, x, memory)
    masked = [
        lambda t, s, m=m, f=f: m(t, s, tgt_mask=f(CAUSAL), memory_key_padding_mask=f(PADDING))
        for m, f in zip(decoder, (fb.tensor, torch.tensor), strict=True)
    ]
    compare(torch, tuple(masked), x, memory)


def test_transformers_beside_torch(torch, on_numpy):
    pair = twins(torch, lambda f: f.nn.Transformer(E, 2, 2, 2, 8, 0.0, "gelu"))
    compare(torch, pair, drawn(M, B, E), drawn(N, B, E))
    mask = nn.Transformer.generate_square_subsequent_mask(N)
    np.testing.assert_array_equal(
        mask.numpy(), torch.nn.Transformer.generate_square_subsequent_mask(N).numpy()
    )
    calls = [
        lambda s, t, m=m, f=f: m(s, t, tgt_mask=f(mask.numpy()), tgt_is_causal=True)
        for m, f in zip(pair, (fb.tensor, torch.tensor), strict=True)
    ]
    compare(torch, tuple(calls), drawn(M, B, E), drawn(N, B, E))


def test_a_stack_is_its_layers(on_numpy):
    layer = nn.TransformerEncoderLayer(E, 2, 8, dropout=0.0)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(E))
    assert stack.layers[0] is not layer and len(list(stack.parameters())) == 2 * 12 + 2
    x = fb.tensor(drawn(N, B, E))
    np.testing.assert_allclose(stack(x).numpy(), stack.norm(layer(layer(x))).numpy(), atol=1e-6)
    causal = stack(x, nn.Transformer.generate_square_subsequent_mask(N), is_causal=True)
    cut = stack(x[:2], nn.Transformer.generate_square_subsequent_mask(2))
    np.testing.assert_allclose(causal.numpy()[:2], cut.numpy(), atol=1e-5)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(E, 2, 8, dropout=0.0), 1)
    assert decoder(x, x).shape == (N, B, E)
    dropped = nn.TransformerEncoderLayer(E, 2, 8, dropout=0.9)
    assert (dropped(x).numpy() != dropped(x).numpy()).any()
    np.testing.assert_array_equal(dropped.eval()(x).numpy(), dropped(x).numpy())


X = fb.zeros(N, B, E, device="cpu")
ERRORS = {
    "MultiheadAttention(6, 4): num_heads must divide embed_dim: pass a divisor": (
        lambda: nn.MultiheadAttention(6, 4)
    ),
    "MultiheadAttention(is_causal=True): it is a hint about attn_mask: pass attn_mask too": (
        lambda: nn.MultiheadAttention(6, 2)(X, X, X, is_causal=True)
    ),
    "MultiheadAttention(f32[4, 2, 6], f32[2, 6], f32[4, 2, 6]): takes 3 dims, or 2 without a batch: reshape"
    " them": lambda: nn.MultiheadAttention(6, 2)(X, X[0], X),
    "multi_head_attention_forward: static_k and static_v: not supported: use scaled_dot_product_attention": (
        lambda: nn.functional.multi_head_attention_forward(X, X, X, *[None] * 10, static_k=X)
    ),
    "activation='elu': is unknown: use 'relu', 'gelu' or a function": (
        lambda: nn.TransformerEncoderLayer(6, 2, activation="elu")
    ),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(on_numpy, text):
    with pytest.raises((ValueError, TypeError)) as e:
        ERRORS[text]()
    assert str(e.value) == text

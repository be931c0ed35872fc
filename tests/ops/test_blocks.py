"""Products and rows of weights that stay GGUF's blocks: every format, NumPy, both classes of kernels."""

import numpy as np
import pytest
from helpers.blocks import block_weight
from helpers.draws import in_turn
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.core.block_formats import FORMATS
from flambeau.core.events import subscribe
from flambeau.io import BlockWeight
from flambeau.io.gguf_blocks import BLOCKS
from flambeau.nn.blocks import BlockEmbedding, BlockLinear


def blocks_read(y) -> bool:
    """Whether no kernel writes a matrix of floats: the plan has only the kernels of the products."""
    return all(k.shader.template.startswith(("contract/", "map/")) for k in y.plan())


@pytest.mark.parametrize("form", FORMATS)
def test_numpy_has_the_bits_of_the_other_decoder(form):
    """io/gguf_blocks.py decodes by ops of the graph, whose bits are llama.cpp's (tests/io/test_gguf.py)."""
    k = 3 * FORMATS[form].elements
    w = block_weight(form, 5, k, spread=True)
    codes = fb.tensor(w.rows.reshape(-1, FORMATS[form].size), device="cpu").to(fb.int32)
    wanted = BLOCKS[form.upper()].decode(codes).reshape(5, k).numpy()
    assert np.array_equal(w.numpy(), wanted)
    assert np.array_equal(BlockLinear(w, device="cpu").weight[1:, 32:].numpy(), wanted[1:, 32:])


@pytest.mark.parametrize("form", in_turn(list(FORMATS), 3))
def test_kernels_decode_the_same_bits(form, gpu):
    k = 2 * FORMATS[form].elements
    w = block_weight(form, 7, k, seed=1, spread=True)
    d, wanted = BlockLinear(w, device=gpu).weight, w.numpy()
    assert np.array_equal(d.numpy(), wanted)
    # an element alone, at any place of its four
    assert np.array_equal(d.t()[5:9].numpy(), wanted.T[5:9])


def drawn(seed: int) -> tuple[str, int, int, int]:
    """A format, and the sizes of a product: m up to 17, odd n, and a k of any number of blocks."""
    rng = np.random.default_rng(seed)
    form = list(FORMATS)[int(rng.integers(len(FORMATS)))]
    many = 3 if FORMATS[form].elements == 256 else 21
    return (
        form,
        int(rng.integers(1, 18)),
        int(rng.integers(1, 90)),
        int(rng.integers(1, many)) * FORMATS[form].elements,
    )


def check_product(seed: int, device) -> None:
    form, m, n, k = drawn(seed)
    rng, w = np.random.default_rng(seed), block_weight(form, n, k, seed)
    x, bias = rng.standard_normal((m, k)).astype("f4"), rng.standard_normal(n).astype("f4")
    layer = BlockLinear(w, fb.tensor(bias, device=device), device)
    y = layer(fb.tensor(x, device=device).realize())
    dense = w.numpy().astype("f8")
    wanted = x.astype("f8") @ dense.T + bias
    if device != "cpu":
        assert blocks_read(y), y.plan()
    error = np.linalg.norm(y.numpy() - wanted) / np.linalg.norm(abs(x).astype("f8") @ abs(dense.T))
    assert error < 1e-6, (form, m, n, k, error)


@pytest.mark.parametrize("seed", in_turn(list(range(40)), 10))
def test_products_on_numpy(seed, monkeypatch):
    monkeypatch.setattr("flambeau.nn.blocks.SLICE", 4096)  # several slices of most matrices
    check_product(seed, "cpu")


@pytest.mark.parametrize("seed", in_turn(list(range(48)), 24))
@pytest.mark.parametrize("software", [True, False])
def test_products_on_kernels(seed, software, gpu):
    with planned_for(gpu, software):
        check_product(seed + 100 * software, gpu)


def test_gradients_reach_the_input_and_the_bias(device):
    w = block_weight("q4_0", 6, 64)
    bias = fb.zeros(6, device=device, requires_grad=True)
    layer = BlockLinear(w, bias, device)
    x = fb.ones(3, 64, device=device, requires_grad=True)
    grads = layer(x).sum().backward()
    assert np.allclose(grads[x].numpy(), w.numpy().sum(0), atol=1e-5) and grads[bias].tolist() == [3.0] * 6


@pytest.mark.parametrize("form", in_turn(["q5_0", "q4_k", "q6_k", "q8_0"], 2))
def test_rows_of_a_table(form, device):
    k = FORMATS[form].elements
    w = block_weight(form, 9, k)
    table = BlockEmbedding(w, device)
    ids = fb.tensor([[8, 0], [3, 3]], device=device)
    assert np.array_equal(table(ids).numpy(), w.numpy()[[[8, 0], [3, 3]]])
    x = fb.ones(2, k, device=device)
    assert np.allclose(table.product(x).numpy(), w.numpy().sum(1), atol=1e-3)
    if table.blocks.device.kind == "gpu":
        assert len(table(ids.realize()).plan()) == 1


def test_float16_inputs_get_float16_results(device):
    w = block_weight("q5_1", 4, 32)
    y = BlockLinear(w, device=device)(fb.ones(1, 32, device=device).half())
    assert y.dtype is fb.float16 and np.allclose(y.numpy(), w.numpy().sum(1), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("form", in_turn(["IQ4_NL", "Q3_K", "MXFP4", "IQ2_XXS"], 4))
def test_formats_that_no_kernel_decodes(form):
    """They are decoded by ops at each use; the blocks stay as they are."""
    block, rng = BLOCKS[form], np.random.default_rng(3)
    rows = rng.integers(0, 120, (3, 2 * block.size), dtype=np.uint8)
    w = BlockWeight(block, rows)
    layer, table = BlockLinear(w, device="cpu"), BlockEmbedding(w, "cpu")
    assert layer.blocks.nbytes == rows.size and np.array_equal(layer.weight.numpy(), w.numpy())
    x = fb.ones(2, w.shape[1], device="cpu")
    assert np.allclose(layer(x).numpy(), w.numpy().sum(1), rtol=1e-4, atol=1e-4)
    assert np.array_equal(table(fb.tensor([2, 0], device="cpu")).numpy(), w.numpy()[[2, 0]])


def test_words_are_checked():
    words = fb.zeros(9, dtype=fb.uint32, device="cpu")
    with pytest.raises(ValueError, match=r"32 elements need 5 words: got \[4\]"):
        words[:4]._decode_blocks("q4_0", (1, 32))
    with pytest.raises(TypeError, match=r"takes uint32 words: cast with .to\(flambeau.uint32\)"):
        words.view(dtype=fb.uint8)._decode_blocks("q4_0", (1, 32))
    with pytest.raises(ValueError, match="rows of 16 elements are no multiple of a block of 32"):
        words._decode_blocks("q4_0", (2, 16))
    with pytest.raises(ValueError, match="rows have 32 elements"):
        BlockLinear(block_weight("q4_0", 2, 32), device="cpu")(fb.ones(1, 31, device="cpu"))


@pytest.mark.parametrize("seed", in_turn(list(range(12)), 12))
@pytest.mark.share(3)
def test_a_gated_perceptron_is_two_kernels(seed, gpu):
    """The kernel of the products adds up the norm's sums, and multiplies by both weights; recorded."""
    rng = np.random.default_rng(seed)
    k, wide, m = 512, 4 * int(rng.integers(8, 30)) + 256 * 2, int(rng.integers(1, 4))
    wide -= wide % 256
    forms = [("q4_0", "q4_1", "q8_0")[i] for i in rng.integers(0, 3, 3)]  # short to compile
    sizes = [(wide, k), (wide, k), (k, wide)]
    weights = [block_weight(f, *size, seed + i) for i, (f, size) in enumerate(zip(forms, sizes, strict=True))]
    gate, up, down = (BlockLinear(w, device=gpu) for w in weights)
    scale = fb.tensor(rng.uniform(0.5, 2, k).astype("f4"), device=gpu)
    plans = []

    @fb.jit
    def layer(x):
        h = fb.nn.functional.rms_norm(x, (k,), scale, 1e-5)
        return x + down(fb.nn.functional.silu(gate(h)) * up(h))

    with planned_for(gpu, False), fb.no_grad(), subscribe("planned", lambda plan, _: plans.append(plan)):
        for _ in range(3):
            x = rng.standard_normal((m, k)).astype("f4")
            y = layer(fb.tensor(x, device=gpu)).numpy()
    w1, w2, w3 = (w.numpy().astype("f8") for w in weights)
    h = x / np.sqrt((x.astype("f8") ** 2).mean(-1, keepdims=True) + 1e-5) * scale.numpy()
    g = h @ w1.T
    wanted = x + (g / (1 + np.exp(-g)) * (h @ w2.T)) @ w3.T
    assert np.linalg.norm(y - wanted) < 1e-5 * np.linalg.norm(wanted), forms
    assert min(len(p.kernels) for p in plans) == 2, [k.name for k in plans[-1].kernels]

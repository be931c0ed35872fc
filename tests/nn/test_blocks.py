"""Models whose weights stay the blocks of a GGUF file: memory, the state dict, and what is replaced."""

import io

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.io import BlockWeight, load_gguf, open_weights, save_gguf
from flambeau.io.block_weight import join_rows
from flambeau.io.gguf_blocks import BLOCKS, weight_of


class Net(nn.Module):
    def __init__(self):
        self.table, self.first = nn.Embedding(10, 64), nn.Linear(64, 96)
        self.norm, self.last = nn.RMSNorm(96), nn.Linear(96, 10, bias=False)

    def forward(self, ids):
        return self.last(self.norm(self.first(self.table(ids)).relu()))


def test_a_model_keeps_the_blocks(device):
    net = Net().to(device=device)
    file = io.BytesIO()
    forms = {r"table\.weight|last\.weight": "Q4_1", r"first\.weight": "Q8_0"}
    save_gguf({name: t.detach() for name, t in net.state_dict().items()}, file, quantize=forms)
    ids = fb.tensor([[1, 9, 0]], device=device)
    floats = Net().to(device=device)
    floats.load_state_dict(load_gguf(file.getvalue(), device))
    wanted = floats(ids).numpy()
    state = load_gguf(file.getvalue(), device, keep_quantized=True)
    assert isinstance(state["first.weight"], BlockWeight) and state["first.bias"].dtype is fb.float32
    rest = nn.keep_blocks(net, state, device)
    net.load_state_dict(rest)
    assert type(net.first) is nn.BlockLinear and type(net.table) is nn.BlockEmbedding
    assert np.allclose(net(ids).numpy(), wanted, rtol=1e-4, atol=1e-5)
    # what the model holds is what the file has: blocks, and the floats of biases and norms
    held = sum(t.nbytes for t in net.state_dict().values())
    assert held == 20 * (10 * 64 + 10 * 96) // 32 + 34 * 64 * 96 // 32 + 4 * (96 + 96)
    # the state dict goes round
    other = Net().to(device=device)
    nn.keep_blocks(other, state, device)
    other.load_state_dict(net.state_dict())
    assert np.array_equal(other(ids).numpy(), net(ids).numpy())


def test_other_layers_get_floats():
    w = BlockWeight(BLOCKS["Q8_0"], np.zeros((4, 34), np.uint8))
    net = nn.Sequential(nn.Bilinear(2, 3, 4), nn.Linear(32, 4))
    rest = nn.keep_blocks(net, {"0.weight": w, "1.weight": w, "1.bias": fb.ones(4)}, "cpu")
    assert rest["0.weight"].shape == (4, 32) and set(rest) == {"0.weight", "1.blocks", "1.bias"}
    with pytest.raises(ValueError, match=r"0.weight: is \[4, 32\], the layer has \[4, 16\]"):
        nn.keep_blocks(nn.Sequential(nn.Linear(16, 4)), {"0.weight": w}, "cpu")


def test_rows_move_and_join():
    rng = np.random.default_rng(0)
    a, b = (BlockWeight(BLOCKS["Q4_0"], rng.integers(0, 60, (3, 18), dtype=np.uint8)) for _ in "ab")
    assert np.array_equal(a.take_rows([2, 0]).numpy(), a.numpy()[[2, 0]])
    both = join_rows([a, b])
    assert both is not None and np.array_equal(both.numpy(), np.concatenate([a.numpy(), b.numpy()]))
    assert join_rows([a, BlockWeight(BLOCKS["Q5_1"], np.zeros((1, 24), np.uint8))]) is None
    assert repr(a) == "BlockWeight([3, 32], Q4_0, 54 bytes)"


def test_files_are_read_lazily_as_blocks():
    file = io.BytesIO()
    x = fb.arange(64, device="cpu").float().reshape(2, 32)
    save_gguf({"w": x, "v": x[0]}, file, quantize={"w": "Q8_0", "v": "Q8_0"})
    with open_weights(file.getvalue(), "cpu", keep_quantized=True) as weights:
        assert isinstance(weights["w"], BlockWeight) and weights["v"].dtype is fb.float32
    with pytest.raises(ValueError, match=r"weight_of\(Q8_0, \[2, 32\]\): 5 bytes are not its blocks"):
        weight_of("Q8_0", bytes(5), (2, 32))

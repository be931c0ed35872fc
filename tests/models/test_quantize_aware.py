"""Quantisation-aware training: numbers are those of the file, bit for bit, and gradients those of floats."""

import numpy as np
import pytest
from helpers.networks import LLAMA, filled

import flambeau as fb
from flambeau import models, nn
from flambeau.io import load_gguf
from flambeau.io.gguf_quantize import quantize_blocks
from flambeau.models.rounded_weights import ROUNDED, RoundedWeight

WIDE = LLAMA | {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "head_dim": 8}


@pytest.mark.parametrize("form", ROUNDED)
def test_rounded_numbers_are_quantised_to_themselves(form, device, tmp_path):
    """Of many sizes, zeros, ties, and numbers near the ends of float16; and close to the host's own."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((64, 64)).astype("f4") * np.float32(10.0) ** rng.integers(-6, 4, (64, 1)).astype(
        "f4"
    )
    x[3], x[4, :32], x[5] = 0, -1, np.round(x[5] / np.abs(x[5]).max() * 8)
    found = RoundedWeight(form)(fb.tensor(x, device=device)).numpy()
    fb.io.save_gguf({"x": fb.tensor(found, device="cpu")}, tmp_path / "x.gguf", quantize={"x": form})
    assert (load_gguf(tmp_path / "x.gguf", "cpu")["x"].numpy() == found).all()
    raw = quantize_blocks(form, x.tobytes(), x.shape)
    fb.io.save_gguf({"x": fb.tensor(x, device="cpu")}, tmp_path / "y.gguf", quantize={"x": form})
    host = load_gguf(tmp_path / "y.gguf", "cpu")["x"].numpy()
    # a division that is rounded otherwise moves a few numbers by one step
    assert len(raw) and (host == found).mean() > (0.99 if device.kind == "gpu" else 0.999)


def test_gradients_go_straight_through():
    weight = fb.randn(4, 64, device="cpu").requires_grad_(True)
    gradient = (RoundedWeight("Q4_0")(weight) * fb.tensor(np.arange(64, dtype="f4"), device="cpu")).sum()
    assert (gradient.backward()[weight].numpy() == np.arange(64)).all()


def test_a_trained_model_and_its_file(device, tmp_path):
    model = filled(models.LlamaForCausalLM(WIDE)).to(device)
    names = models.quantize_aware(model, "Q8_0")
    assert "model.layers.0.self_attn.q_proj" in names and "lm_head" in names
    optimizer = fb.optim.AdamW(model.parameters(), lr=0.02)
    ids = fb.tensor([[5, 6, 7, 8, 9]], device=device)
    losses = []
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:])
        optimizer.step(loss.backward())
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    models.save_quantized(model, tmp_path / "x.gguf")
    state = load_gguf(tmp_path / "x.gguf", device)
    for name in names:
        assert (model.get_submodule(name).weight.numpy() == state[f"{name}.weight"].numpy()).all()
    plain = filled(models.LlamaForCausalLM(WIDE)).to(device)
    plain.load_state_dict(state)
    assert (plain(ids).numpy() == model(ids).numpy()).all()


def test_errors(tmp_path):
    model = filled(models.LlamaForCausalLM(WIDE))
    for call, text in (
        (
            lambda: models.quantize_aware(model, "Q4_K"),
            "quantize_aware('Q4_K'): unknown: one of Q4_0, Q5_0, Q8_0",
        ),
        (
            lambda: models.quantize_aware(nn.Linear(3, 3)),
            "quantize_aware(Linear): has no matrices with rows of blocks: pass a larger model",
        ),
        (
            lambda: models.save_quantized(model, tmp_path / "x.gguf"),
            "save_quantized(LlamaForCausalLM): has no rounded layers: call quantize_aware first",
        ),
    ):
        with pytest.raises(ValueError) as e:
            call()
        assert str(e.value) == text

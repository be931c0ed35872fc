"""CLIP's network for images against torch's layers and transformers, and what it says of other images."""

import numpy as np
import pytest
from helpers.networks import filled, libraries, value_of
from helpers.torch_clip import torch_clip

import flambeau as fb
from flambeau import models

SMALL = models.ClipVisionConfig(32, 8, 24, 2, 3, 10)
IMAGES = np.random.default_rng(6).standard_normal((2, 3, 32, 32)).astype("f4")
WIDE = np.random.default_rng(7).standard_normal((1, 3, 16, 64)).astype("f4")


def cpu(x):
    return fb.tensor(x, device="cpu")


def near(found, wanted):
    """Beside the largest value: sums whose terms cancel are as far off as those terms are rounded."""
    right = wanted.detach().numpy()
    np.testing.assert_allclose(found.numpy(), right, atol=max(1e-4, 2e-5 * np.abs(right).max()), rtol=1e-3)


def test_as_torchs_layers(torch):
    """Its own size, and one whose positions are interpolated; values and gradients."""
    ours, theirs = filled(models.ClipVision(SMALL)), torch_clip(torch, SMALL)
    state = {n: torch.tensor(value_of(n, tuple(t.shape))) for n, t in theirs.net.state_dict().items()}
    assert set(state) == set(ours.state_dict())
    theirs.net.load_state_dict(state)
    for images in (IMAGES, WIDE):
        x, y = cpu(images).requires_grad_(), torch.tensor(images).requires_grad_()
        found, wanted = ours.features(x), theirs.features(y)
        for a, b in zip(found, wanted, strict=True):
            near(a, b)
        near(ours(x), theirs.embedding(y))
        way = np.random.default_rng(8).standard_normal(found[-1].shape).astype("f4")
        grads = ((found[-1] * cpu(way)).sum() + ours(x).square().sum()).backward()
        ((wanted[-1] * torch.tensor(way)).sum() + theirs.embedding(y).square().sum()).backward()
        near(grads[x], y.grad)
        near(grads[ours.positional_embedding], theirs.net.positional_embedding.grad)
        theirs.net.zero_grad()


RENAMED = {  # ours, transformers'
    "conv1.weight": "embeddings.patch_embedding.weight",
    "class_embedding": "embeddings.class_embedding",
    "positional_embedding": "embeddings.position_embedding.weight",
    "ln_pre": "pre_layrnorm",
    "ln_post": "post_layernorm",
    "transformer.resblocks": "encoder.layers",
    "ln_1": "layer_norm1",
    "ln_2": "layer_norm2",
    "mlp.c_fc": "mlp.fc1",
    "mlp.c_proj": "mlp.fc2",
    "attn.": "self_attn.",
}


def to_transformers(torch, state):
    """Our tensors under transformers' names, whose queries, keys and values are three layers."""
    out = {}
    for name, t in state.items():
        value = torch.tensor(t.numpy())
        if name == "proj":
            out["visual_projection.weight"] = value.T
            continue
        for ours, theirs in RENAMED.items():
            name = name.replace(ours, theirs)
        kind = name.rpartition("_")[2]
        if "in_proj" in name:
            for part, one in zip("qkv", value.chunk(3), strict=True):
                out["vision_model." + name.replace(f"in_proj_{kind}", f"{part}_proj.{kind}")] = one
        else:
            out["vision_model." + name] = value
    return out


def test_as_transformers(torch):
    transformers = libraries(torch).transformers
    config = transformers.CLIPVisionConfig(
        hidden_size=24, intermediate_size=96, projection_dim=10, num_hidden_layers=2, num_attention_heads=3,
        image_size=32, patch_size=8, hidden_act="quick_gelu",
    )  # fmt: skip
    ours = filled(models.ClipVision(SMALL))
    theirs = transformers.CLIPVisionModelWithProjection(config).eval()
    theirs.load_state_dict(to_transformers(torch, ours.state_dict()))
    with torch.no_grad():
        near(ours(cpu(IMAGES)), theirs(torch.tensor(IMAGES)).image_embeds)


def test_sizes_and_names_of_the_whole():
    assert models.ClipVision().num_parameters() == 87_849_216  # of ViT-B/32's part for images
    small = filled(models.ClipVision(SMALL))
    whole = {f"visual.{name}": t for name, t in small.state_dict().items()}
    whole |= {"positional_embedding": fb.ones(77, 8), "logit_scale": fb.ones(())}
    found = models.ClipVision(SMALL).to("cpu")
    models.load_weights(found, whole)
    assert (found(cpu(IMAGES)).numpy() == small(cpu(IMAGES)).numpy()).all()
    assert small(cpu(IMAGES)).shape == (2, 10) and small.features(cpu(WIDE))[1].shape == (1, 16, 24)


@pytest.mark.share(3)
def test_on_the_kernels(gpu):
    small = filled(models.ClipVision(SMALL))
    wanted = small(cpu(WIDE)).numpy()
    found = small.to(gpu)(fb.tensor(WIDE, device=gpu)).numpy()
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_errors():
    for call, text in (
        (
            lambda: models.ClipVisionConfig(30, 8),
            "ClipVisionConfig: 30 pixels in 8, 768 features in 12: patches must divide the"
            " image, and heads the features",
        ),
        (
            lambda: models.ClipVision(SMALL)(cpu(IMAGES[:, :, :30])),
            "ClipVision(f32[2, 3, 30, 32]): takes [n, 3, h, w] with sides that are multiples"
            " of 8: resize the images",
        ),
    ):
        with pytest.raises(ValueError) as told:
            call()
        assert str(told.value) == text

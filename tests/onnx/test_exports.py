"""Networks as torch.onnx exports them: outputs as ONNX Runtime has them, gradients as torch has."""

import io
import warnings

import numpy as np
import pytest

import flambeau as fb

pytestmark = pytest.mark.torch


def exported(torch, model, *inputs, **how):
    """The bytes of an .onnx file."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model.eval(), inputs, file, dynamo=False, opset_version=18, **how)
    return file.getvalue()


def residual(torch):
    """ResNet's first block and head."""
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
            )
            self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
            self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))

        def forward(self, x):
            x = self.stem(x)
            return self.head(torch.relu(self.body(x) + x))

    return Residual(), (torch.randn(2, 3, 19, 22),)


def mobile(torch):
    """MobileNet v3's block: depthwise, squeezed and excited, with hard activations."""
    nn = torch.nn

    class Mobile(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide = nn.Sequential(nn.Conv2d(4, 12, 1), nn.BatchNorm2d(12), nn.Hardswish())
            self.deep = nn.Sequential(nn.Conv2d(12, 12, 5, 2, 2, groups=12), nn.Hardswish())
            self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(12, 4, 1), nn.ReLU())
            self.excite = nn.Sequential(nn.Conv2d(4, 12, 1), nn.Hardsigmoid())
            self.narrow = nn.Conv2d(12, 4, 1)

        def forward(self, x):
            y = self.deep(self.wide(x))
            y = self.narrow(y * self.excite(self.squeeze(y)))
            return nn.functional.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)

    return Mobile(), (torch.randn(2, 4, 9, 8),)


def encoder(torch):
    """A layer of BERT's kind."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
    return nn.TransformerEncoder(layer, 1), (torch.randn(2, 5, 16),)


def decoder(torch):
    """GPT-2's block between its embeddings."""
    nn = torch.nn

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(20, 16), nn.Embedding(8, 16)
            self.first, self.second = nn.LayerNorm(16), nn.LayerNorm(16)
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
            self.mlp = nn.Sequential(nn.Linear(16, 64), nn.GELU("tanh"), nn.Linear(64, 16))

        def forward(self, ids):
            x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
            q, k, v = (t.unflatten(-1, (4, 4)).transpose(1, 2) for t in self.qkv(self.first(x)).split(16, -1))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).flatten(2))
            return (x + self.mlp(self.second(x))) @ self.token.weight.T

    return Decoder(), (torch.randint(0, 20, (2, 6)),)


def recurrent(torch):
    """Both ways through two layers, and through another."""
    nn = torch.nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True)
            self.gru = nn.GRU(8, 5, batch_first=True)

        def forward(self, x):
            return self.gru(self.lstm(x)[0])[0]

    return Recurrent(), (torch.randn(2, 6, 3),)


@pytest.mark.parametrize("make", [residual, mobile, encoder, decoder, recurrent])
def test_an_export_computes_what_onnx_runtime_computes(torch, make):
    import onnxruntime

    torch.manual_seed(3)
    model, inputs = make(torch)
    data, arrays = exported(torch, model, *inputs), [x.numpy() for x in inputs]
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    wanted = session.run(None, {v.name: x for v, x in zip(session.get_inputs(), arrays, strict=True)})
    for device in ("cpu", "gpu") if make is mobile else ("cpu",):
        with fb.no_grad():
            found = fb.onnx.load(data, device=device)(*arrays)
        np.testing.assert_allclose(found.numpy(), wanted[0], rtol=2e-3, atol=1e-5)


def test_gradients_of_an_export_are_those_of_torch(torch):
    nn = torch.nn
    torch.manual_seed(5)
    model = nn.Sequential(
        nn.Conv2d(2, 6, 3, 2, 1),
        nn.GroupNorm(3, 6),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(24),
        nn.Linear(24, 3),
    )
    x = torch.randn(2, 2, 8, 9)
    ours = fb.onnx.load(exported(torch, model, x), device="cpu").requires_grad_()
    grads = ours(fb.tensor(x.numpy(), device="cpu")).square().sum().backward()
    model(x).square().sum().backward()
    weights = dict(ours.named_parameters())
    assert weights.keys() >= {"0.weight", "0.bias", "5.weight", "6.weight", "6.bias"}
    for name, p in model.named_parameters():
        if name in weights:
            np.testing.assert_allclose(grads[weights[name]].numpy(), p.grad.numpy(), rtol=1e-4, atol=1e-5)


def test_norms_are_folded_whose_numbers_are_another_norms(torch):
    """Means and variances of new norms are equal, so the exporter writes one, and Identity nodes."""
    nn = torch.nn
    layers = [nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)]
    model, x = nn.Sequential(*layers).eval(), torch.randn(1, 3, 7, 7)
    kept = {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
    found = fb.onnx.load(exported(torch, model, x, **kept), device="cpu", fold_norms=True)
    assert [n.op for n in found.definition.graph.nodes] == ["Conv", "Relu", "Conv"]
    assert np.allclose(found(x.numpy()).numpy(), model(x).detach().numpy(), atol=1e-5)

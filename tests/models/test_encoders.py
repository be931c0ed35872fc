"""RoBERTa, DistilBERT, MPNet and ModernBERT: folders of transformers under `./run test --torch`; padding,
names and errors in any run."""

import numpy as np
import pytest
from helpers.networks import BERT, IDS, MASK, filled, libraries, value_of

import flambeau as fb
from flambeau import models
from flambeau.models.bert import BertConfig
from flambeau.models.pretrained import KINDS

DISTIL = {
    "model_type": "distilbert", "vocab_size": 48, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32,
    "max_position_embeddings": 20,
}  # fmt: skip
MODERN = BERT | {"model_type": "modernbert", "num_hidden_layers": 4, "local_attention": 4, "pad_token_id": 0}
MODERN |= {"eos_token_id": 2, "bos_token_id": 1, "cls_token_id": 1, "sep_token_id": 2}
ROBERTA = BERT | {"max_position_embeddings": 20, "type_vocab_size": 1, "pad_token_id": 1}
CASES = {  # what config.json holds, and the classes of transformers
    "roberta": (ROBERTA | {"model_type": "roberta"}, "RobertaModel", "RobertaForMaskedLM"),
    "xlm-roberta": (ROBERTA | {"model_type": "xlm-roberta"}, "XLMRobertaModel", "XLMRobertaForMaskedLM"),
    "distilbert": (DISTIL, "DistilBertModel", "DistilBertForMaskedLM"),
    "mpnet": (ROBERTA | {"model_type": "mpnet", "layer_norm_eps": 1e-5}, "MPNetModel", "MPNetForMaskedLM"),
    "modernbert": (MODERN, "ModernBertModel", "ModernBertForMaskedLM"),
}
SEEN = MASK[:, ::-1].copy()  # padding at the end
PADDED = np.where(SEEN == 1, IDS, 1)


def words_of(model, ids=PADDED, seen=SEEN):
    found = model(fb.tensor(ids, device="cpu"), fb.tensor(seen, device="cpu"))
    return (found[0] if isinstance(found, tuple) else found).numpy()


@pytest.mark.parametrize("head", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_folders_of_transformers(name, head, torch, tmp_path):
    transformers = libraries(torch).transformers
    sizes, *kinds = CASES[name]
    theirs = getattr(transformers, kinds[head])(transformers.AutoConfig.for_model(**sizes)).eval()
    with torch.no_grad():
        for key, t in theirs.state_dict().items():
            if t.is_floating_point():
                t.copy_(torch.from_numpy(value_of(key, tuple(t.shape))))
        body = theirs.base_model if head else theirs
        given = {"input_ids": torch.from_numpy(PADDED).long(), "attention_mask": torch.from_numpy(SEEN)}
        want = body(**given)
    theirs.save_pretrained(tmp_path)
    ours = models.from_pretrained(tmp_path, "cpu")
    words, is_token = want.last_hidden_state.numpy(), SEEN == 1
    most = max(1.0, float(np.abs(words).max()))
    assert np.abs(words_of(ours) - words)[is_token].max() <= 1e-4 * most
    if not head and getattr(want, "pooler_output", None) is not None:
        first = ours(fb.tensor(PADDED, device="cpu"), fb.tensor(SEEN, device="cpu"))[1].numpy()
        assert np.abs(first - want.pooler_output.numpy()).max() <= 1e-4
    if not head:
        assert not [name for name in theirs.state_dict() if "position_ids" in name]
        count = sum(t.numel() for t in theirs.parameters())
        assert count == sum(p.numel() for p in ours.parameters())


@pytest.mark.parametrize("name", CASES)
def test_padding_changes_no_vector(name):
    model = filled(KINDS[name](CASES[name][0]))
    alone = words_of(model, IDS[1:, :5], SEEN[1:, :5])
    assert np.abs(words_of(model)[1:, :5] - alone).max() < 1e-5
    vectors = model.embed(fb.tensor(PADDED, device="cpu"), fb.tensor(SEEN, device="cpu")).numpy()
    assert np.abs((vectors**2).sum(1) - 1).max() < 1e-5


@pytest.mark.parametrize("name", ["mpnet", "modernbert"])
def test_kernels_compute_the_same(name, gpu):
    model = filled(KINDS[name](CASES[name][0]))
    want, ids, seen = words_of(model), fb.tensor(PADDED, device=gpu), fb.tensor(SEEN, device=gpu)
    found = model.to(gpu)(ids, seen)
    found = (found[0] if isinstance(found, tuple) else found).numpy()
    assert np.abs(found - want)[SEEN == 1].max() <= 1e-4 * max(1.0, np.abs(want).max())


def test_near_tokens_alone_matter():
    """A layer with a window of two tokens on each side."""
    one = filled(
        models.ModernBertModel(MODERN | {"num_hidden_layers": 1, "layer_types": ["sliding_attention"]})
    )
    ids = IDS[:1].copy()
    before = words_of(one, ids, SEEN[:1])
    ids[0, 8] = 44
    changed = np.abs(words_of(one, ids, SEEN[:1]) - before).max(-1)[0] > 0
    assert changed.tolist() == [False] * 6 + [True] * 3


def test_errors():
    with pytest.raises(ValueError) as e:
        BertConfig(model_type="berta")
    families = "bert, roberta, xlm-roberta, camembert, distilbert, mpnet"
    assert str(e.value) == f"model_type 'berta': unknown: one of {families}"
    model = filled(models.BertModel(ROBERTA | {"model_type": "roberta"}))
    with pytest.raises(ValueError) as e:
        model(fb.zeros(1, 19, dtype=fb.int32, device="cpu"))
    rule = "BertModel(i32[1, 19]): has positions for 18 tokens: pass a shorter text"
    assert str(e.value) == rule
    model = filled(models.ModernBertModel(MODERN | {"max_position_embeddings": 4}))
    with pytest.raises(ValueError) as e:
        model(fb.zeros(1, 5, dtype=fb.int32, device="cpu"))
    assert str(e.value) == "ModernBertModel(i32[1, 5]): has positions for 4 tokens: pass a shorter text"
    with pytest.raises(ValueError) as e:
        models.ModernBertModel(MODERN | {"layer_types": ["full_attention"]})
    problem = "layer_types has 1 of 4 layers: pass one entry for each layer"
    assert str(e.value) == f"ModernBertConfig: {problem}"
    with pytest.raises(ValueError) as e:
        models.ModernBertModel(MODERN | {"num_attention_heads": 3})
    assert str(e.value) == "ModernBertConfig: 3 heads, 16 features: the heads must divide the features"

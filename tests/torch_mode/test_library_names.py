"""Names of torch's own modules that libraries use: trees, bases of layers, parts of distributions, files."""

import hashlib
import importlib
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

from flambeau.torch import distribution_parts, hub_files, layer_bases, trees

Point = namedtuple("Point", "x y")
TREE = {"a": [1, (2, None)], "b": OrderedDict(c=Point(3, [4])), "d": defaultdict(list, e=[5])}


def tree_facts(pytree) -> list:
    """What a module of trees makes of TREE; of ours and of torch's."""
    leaves, spec = pytree.tree_flatten(TREE)
    again = pytree.tree_unflatten([0 if v is None else v * 2 for v in leaves], spec)
    ints = pytree.tree_map_only(int, lambda v: v + 1, TREE)
    kept = pytree.tree_leaves(TREE, is_leaf=lambda v: isinstance(v, Point))
    paths = [(pytree.keystr(path), leaf) for path, leaf in pytree.tree_flatten_with_path(TREE)[0]]
    summed = pytree.tree_map(lambda a, b: a + b, {"x": [1, 2]}, {"x": [10, 20]})
    more = [pytree.tree_any(lambda v: v == 5, TREE)]
    return [
        leaves,
        again,
        ints,
        kept,
        paths,
        summed,
        spec.num_leaves,
        spec.num_nodes,
        spec.num_children,
        *more,
    ]


def test_trees():
    facts = tree_facts(trees)
    assert facts[0] == [1, 2, None, 3, 4, 5]
    assert facts[1]["b"] == OrderedDict(c=Point(6, [8])) and facts[1]["a"] == [2, (4, 0)]
    assert facts[4][1] == ("['a'][1][0]", 2) and facts[4][3] == ("['b']['c'].x", 3)
    _, spec = trees.tree_flatten([1, {"a": 2}])
    assert spec == trees.tree_structure([5, {"a": 6}]) != trees.tree_structure([5, {"b": 6}])


def test_trees_beside_torch(torch):
    assert tree_facts(trees) == tree_facts(torch.utils._pytree)


def test_bases_of_layers(mode):
    nn = mode.nn
    modules = importlib.import_module("flambeau.torch.nn.modules")
    assert isinstance(nn.Conv2d(1, 1, 1), modules.conv._ConvNd)
    assert isinstance(nn.BatchNorm2d(1), modules.batchnorm._BatchNorm)
    assert isinstance(nn.Dropout2d(), modules.dropout._DropoutNd)
    assert isinstance(nn.MaxPool2d(2), modules.pooling._MaxPoolNd)
    assert not isinstance(nn.AvgPool2d(2), modules.pooling._MaxPoolNd)
    assert isinstance(nn.L1Loss(), modules.loss._Loss)
    assert not isinstance(nn.L1Loss(), modules.loss._WeightedLoss)
    assert isinstance(nn.CrossEntropyLoss(), modules.loss._WeightedLoss)

    class Own(modules.loss._WeightedLoss):
        def forward(self, x):
            return x.sum() if self.reduction == "sum" else x.mean()

    loss = Own(mode.ones(2), size_average=False)
    assert loss(mode.ones(3)).item() == 3 and list(loss.state_dict()) == ["weight"]
    assert modules.utils._pair(3) == (3, 3) and modules.utils._triple((1, 2, 3)) == (1, 2, 3)
    assert modules.utils._ntuple(5)(1) == (1,) * 5
    state = OrderedDict({"module.a": 1, "b": 2})
    modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert state == {"a": 1, "b": 2}
    assert layer_bases._canonical_mask(mode.tensor([True, False]), target_type=mode.float32).tolist() == [
        float("-inf"),
        0,
    ]


def distribution_facts(torch, parts) -> list:
    matrix = torch.tensor([[1.0, 0.0], [2.0, 3.0]])
    probs = torch.tensor([0.0, 0.25, 1.0])
    vector = parts.tril_matrix_to_vec(matrix)
    values = [
        vector,
        parts.vec_to_tril_matrix(vector),
        parts.vec_to_tril_matrix(torch.tensor([4.0]), -1),
        parts.probs_to_logits(probs, True),
        parts.logits_to_probs(probs),
        *parts.broadcast_all(torch.ones(2, 1), 3.0),
        parts._sum_rightmost(torch.ones(2, 3, 4), 2),
    ]
    return [v.numpy() for v in values]


def test_parts_of_distributions(mode):
    facts = distribution_facts(mode, distribution_parts)
    assert facts[0].tolist() == [1, 2, 3] and facts[1].tolist() == [[1, 0], [2, 3]]
    assert (
        facts[2].tolist() == [[0, 0], [4, 0]] and facts[6].shape == (2, 1) and facts[7].tolist() == [12, 12]
    )

    class Lazy:
        calls = 0

        @distribution_parts.lazy_property
        def size(self):
            self.calls += 1
            return 3

    x = Lazy()
    assert x.size == x.size == 3 and x.calls == 1


def test_parts_of_distributions_beside_torch(torch):
    import flambeau as fb

    with fb.device("cpu"):
        ours = distribution_facts(fb, distribution_parts)
    for a, b in zip(ours, distribution_facts(torch, torch.distributions.utils), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_files_of_the_hub(tmp_path, monkeypatch):
    import flambeau as fb

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub_files.get_dir() == str(tmp_path / "hub")
    source = tmp_path / "w.pt"
    fb.save({"a": fb.tensor([1.0, 2.0], device="cpu")}, source)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    named = tmp_path / f"w-{digest[:8]}.pt"
    named.write_bytes(source.read_bytes())
    state = hub_files.load_state_dict_from_url(named.as_uri(), map_location="cpu", check_hash=True)
    assert state["a"].tolist() == [1, 2] and (tmp_path / "hub" / "checkpoints" / named.name).exists()
    wrong = tmp_path / "w-00000000.pt"
    wrong.write_bytes(source.read_bytes())
    with pytest.raises(fb.FlambeauError, match="SHA-256"):
        hub_files.load_state_dict_from_url(wrong.as_uri(), check_hash=True)

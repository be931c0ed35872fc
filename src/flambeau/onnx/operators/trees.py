"""Ensembles of decision trees (ai.onnx.ml), on the host: each step of a walk depends on the previous one."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...tensor import Tensor
from ..values import host, to_array
from .scores import labels_at, post_transform_scores
from .table import operator

ML = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


class Trees(NamedTuple):
    """All nodes of all trees as arrays; a leaf l is the child ~l (below 0)."""

    roots: Any
    features: Any
    splits: Any
    modes: Any
    yes: Any
    no: Any
    missing: Any  # whether a missing value takes the true branch
    members: dict[int, Any]  # the member sets of BRANCH_MEMBER nodes


class Votes(NamedTuple):
    """The weights of leaves: leaf l has entries `first[l]` to `first[l + 1]`, each a target and a weight."""

    first: Any
    targets: Any
    weights: Any


def _answers(t: Trees, nodes: Any, values: Any) -> Any:
    """Whether the condition of each node holds for a value."""
    import numpy as np

    where: Any = np.where
    # Lambdas: most models use one mode only, and then only that comparison is computed. [n, trees]
    splits, mode = t.splits[nodes], t.modes[nodes]
    tests: tuple[Callable[[], Any], ...] = (
        lambda: values <= splits,
        lambda: values < splits,
        lambda: values >= splits,
        lambda: values > splits,
        lambda: values == splits,
        lambda: values != splits,
    )
    answers: Any = np.zeros(values.shape, bool)
    for k in np.unique(mode).tolist():
        if k < len(tests):
            answers = where(mode == k, tests[k](), answers)
    for node, members in t.members.items():
        answers = where(nodes == node, np.isin(values, members), answers)
    # NaN is a missing value, whose branch the node declares
    return where(np.isnan(values), t.missing[nodes], answers)


def _leaves(t: Trees, x: Any) -> Any:
    """Return the leaf of every row in every tree. [n, features] -> [n, trees]"""
    import numpy as np

    where: Any = np.where
    # Inner nodes are numbers from 0 on; leaf l is ~l = -l - 1. So the sign tells when a row has arrived.
    nodes: Any = np.repeat(t.roots[None], len(x), 0)
    rows = np.arange(len(x))[:, None]
    # All rows walk all trees in step; a walk without a cycle ends after at most as many steps as there are
    # nodes.
    for _ in range(len(t.features) + 1):
        inner: Any = nodes >= 0
        if not inner.any():
            return ~nodes
        node = where(inner, nodes, 0)
        answer: Any = _answers(t, node, x[rows, t.features[node]])
        nodes = where(inner, where(answer, t.yes[node], t.no[node]), nodes)
    raise ValueError("its nodes form a cycle, which a tree must not have")


def _sum_votes(votes: Votes, leaves: Any, targets: int, how: str) -> Any:
    """Sum the weights of each row's leaves by target. [n, trees] -> [n, targets]"""
    import numpy as np

    start = {"MIN": np.inf, "MAX": -np.inf}.get(how, 0.0)
    total = np.full((len(leaves), targets), start, votes.weights.dtype)
    join = {"MIN": np.minimum, "MAX": np.maximum}.get(how, np.add)
    counts = votes.first[1:] - votes.first[:-1]
    # the k-th weight of every leaf that has one, in the order of the file
    for k in range(int(counts.max(initial=0))):
        row, tree = np.nonzero(counts[leaves] > k)
        entry = votes.first[leaves[row, tree]] + k
        join.at(total, (row, votes.targets[entry]), votes.weights[entry])
    # A target for which no leaf votes has the start value of MIN or MAX: report 0 instead.
    total = np.where(np.isinf(total), 0.0, total).astype(total.dtype) if start else total
    return total / leaves.shape[1] if how == "AVERAGE" else total


def _one_of(names: tuple[str, ...], value: Any, attribute: str) -> str:
    """Return a name, which an attribute may give by its index."""
    name = names[value] if isinstance(value, int) and 0 <= value < len(names) else value
    if name not in names:
        raise ValueError(f"{attribute} {value!r} is unknown: use one of {', '.join(names)}")
    return name


def _check(t: Trees, leaves: int, features: int) -> Trees:
    """Return the trees; ValueError if an index is out of range."""
    n = len(t.features)
    for name, child in (("true", t.yes), ("false", t.no), ("root", t.roots)):
        if len(child) and (child.max() >= n or (~child).max() >= leaves):
            raise ValueError(f"a {name} node is not among the {n} nodes and {leaves} leaves")
    if n and not 0 <= t.features.min() <= t.features.max() < features:
        raise ValueError(f"nodes use feature {t.features.max()}: the input has {features} features")
    return t


# --- TreeEnsemble of version 5 ---


class EnsembleAttributes(NamedTuple):
    """The attributes of TreeEnsemble, under ONNX's names."""

    leaf_targetids: tuple[int, ...]
    leaf_weights: Any
    nodes_falseleafs: tuple[int, ...]
    nodes_falsenodeids: tuple[int, ...]
    nodes_featureids: tuple[int, ...]
    nodes_modes: Any
    nodes_splits: Any
    nodes_trueleafs: tuple[int, ...]
    nodes_truenodeids: tuple[int, ...]
    tree_roots: tuple[int, ...]
    n_targets: int = 1
    aggregate_function: int = 1
    membership_values: Any = None
    nodes_hitrates: Any = None  # how often training visited the nodes; not used
    nodes_missing_value_tracks_true: tuple[int, ...] | None = None
    post_transform: int = 0


def _member_sets(modes: Any, values: Any) -> dict[int, Any]:
    """Return the member sets of BRANCH_MEMBER nodes, which membership_values separates by NaN."""
    import numpy as np

    # One flat list for all member nodes, in their order, each set ended by NaN.
    nodes = np.flatnonzero(modes == MODES.index("BRANCH_MEMBER"))
    values = np.zeros(0) if values is None else np.asarray(values)
    sets = np.split(values, np.flatnonzero(np.isnan(values)) + 1)
    if len(sets) < len(nodes):
        raise ValueError(f"membership_values has {len(sets)} sets: {len(nodes)} nodes need one")
    return {int(node): s[~np.isnan(s)] for node, s in zip(nodes, sets)}


@operator("TreeEnsemble", domain=ML, since=5)
def tree_ensemble(x: Tensor, **attributes: Any) -> Tensor:
    """Return the sums of all trees for each target. [n, features] -> [n, targets]"""
    import numpy as np

    a, data = EnsembleAttributes(**attributes), to_array(x)
    modes = np.asarray(a.nodes_modes).astype(int)
    # ONNX marks leaves by a flag and numbers them separately: here leaf l is ~l, see Trees.
    yes, no = (
        np.where(np.array(leaf, bool), ~np.array(child, int), np.array(child, int))
        for leaf, child in (
            (a.nodes_trueleafs, a.nodes_truenodeids),
            (a.nodes_falseleafs, a.nodes_falsenodeids),
        )
    )
    missing = np.array(a.nodes_missing_value_tracks_true or [0] * len(modes), bool)
    features, splits = np.array(a.nodes_featureids, int), np.asarray(a.nodes_splits)
    members = _member_sets(modes, a.membership_values)
    trees = Trees(np.array(a.tree_roots, int), features, splits, modes, yes, no, missing, members)
    weights = np.asarray(a.leaf_weights)
    votes = Votes(np.arange(len(weights) + 1), np.array(a.leaf_targetids, int), weights)
    leaves = _leaves(_check(trees, len(weights), data.shape[1]), data)
    total = _sum_votes(
        votes, leaves, a.n_targets, _one_of(AGGREGATES, a.aggregate_function, "aggregate_function")
    )
    scores = post_transform_scores(
        host(total, total.dtype.name), _one_of(TRANSFORMS, a.post_transform, "post_transform")
    )
    return scores.to(x.dtype)


# --- TreeEnsembleClassifier and TreeEnsembleRegressor ---

NODES = (
    *("nodeids", "treeids", "featureids", "values", "falsenodeids", "truenodeids", "modes"),
    *("missing_value_tracks_true", "hitrates"),
)


def _take_array(attributes: dict[str, Any], name: str, default: Any = ()) -> Any:
    """Return an attribute as a list or, of doubles, as a tensor."""
    import numpy as np

    tensor = attributes.pop(f"{name}_as_tensor", None)
    plain = attributes.pop(name, default)
    return np.asarray(plain, np.float32) if tensor is None else np.asarray(tensor)


def _old_trees(attributes: dict[str, Any], votes: str, features: int) -> tuple[Trees, Votes]:
    """Trees whose nodes have (tree, node) ids, and the weights of their leaves."""
    import numpy as np

    values = _take_array(attributes, "nodes_values")
    _take_array(attributes, "nodes_hitrates")
    n = {name: attributes.pop(f"nodes_{name}", None) for name in NODES if name not in ("values", "hitrates")}
    # Nodes are rows in any order with an id within a tree; votes and children refer to (tree, node).
    keys = list(zip(n["treeids"] or (), n["nodeids"] or (), strict=True))
    place = {key: k for k, key in enumerate(keys)}
    is_leaf = np.array([mode == "LEAF" for mode in n["modes"] or ()], bool)
    # The number of each leaf among the leaves; `code` is ~leaf for leaves, the row for inner nodes.
    leaf = np.cumsum(is_leaf) - 1
    code = np.where(is_leaf, ~leaf, np.arange(len(keys)))
    yes, no = (
        np.array(
            [_child(place, code, key[0], c, end) for key, c, end in zip(keys, children or (), is_leaf)], int
        )
        for children in (n["truenodeids"], n["falsenodeids"])
    )
    modes = np.array(
        [
            MODES.index(_one_of((*MODES, "LEAF"), m, "nodes_modes")) if m != "LEAF" else 0
            for m in n["modes"] or ()
        ],
        int,
    )
    first: dict[int, int] = {}  # the first node of each tree
    for k, (tree, _) in enumerate(keys):
        first.setdefault(tree, k)
    roots = code[list(first.values())] if first else np.zeros(0, int)
    missing = np.array(n["missing_value_tracks_true"] or [0] * len(keys), bool)
    # Leaves have feature ids too, which mean nothing: set them to 0, so that the range check ignores them.
    wanted = np.array(n["featureids"] or (), int) * ~is_leaf
    trees = Trees(roots, wanted, values, modes, yes, no, missing, {})
    return _check(trees, int(is_leaf.sum()), features), _old_votes(attributes, votes, place, code)


def _child(place: dict[Any, Any], code: Any, tree: int, node: int, is_leaf: bool) -> int:
    """Return the code of a node's child; a leaf has none."""
    if is_leaf:
        return ~0
    if (tree, node) not in place:
        raise ValueError(f"tree {tree} has no node {node}")
    return code[place[tree, node]]


def _old_votes(attributes: dict[str, Any], kind: str, place: dict[Any, Any], code: Any) -> Votes:
    import numpy as np

    weights = _take_array(attributes, f"{kind}_weights")
    where = [attributes.pop(f"{kind}_{name}", ()) for name in ("treeids", "nodeids", "ids")]
    missing = [key for key in zip(where[0], where[1], strict=True) if key not in place]
    if missing:
        raise ValueError(f"tree {missing[0][0]} has no node {missing[0][1]}, which {kind}_nodeids names")
    leaves = np.array([~code[place[key]] for key in zip(where[0], where[1], strict=True)], int)
    if len(leaves) and leaves.min() < 0:
        raise ValueError(f"{kind}_nodeids names a node that is not a leaf")
    # Group the votes by leaf (compressed rows), and keep the file's order within one.
    order = np.argsort(leaves, kind="stable")
    # the number of votes of each leaf; leaves without any count 0
    count = np.bincount(leaves, minlength=int((code < 0).sum()))
    first = np.concatenate([[0], np.cumsum(count)])
    return Votes(first, np.array(where[2], int)[order], weights[order])


def _refuse_rest(attributes: dict[str, Any]) -> None:
    if attributes:
        raise TypeError(f"has no attribute {min(attributes)!r}")


@operator("TreeEnsembleRegressor", domain=ML)
def tree_ensemble_regressor(x: Tensor, **attributes: Any) -> Tensor:
    """[n, features] -> [n, targets]"""
    data = to_array(x)
    trees, votes = _old_trees(attributes, "target", data.shape[1])
    targets, base = attributes.pop("n_targets", 1), _take_array(attributes, "base_values")
    how = _one_of(AGGREGATES, attributes.pop("aggregate_function", "SUM"), "aggregate_function")
    transform = attributes.pop("post_transform", "NONE")
    _refuse_rest(attributes)
    total = _sum_votes(votes, _leaves(trees, data), targets, how)
    total = total + base if len(base) else total
    return post_transform_scores(host(total, "float32"), transform)


@operator("TreeEnsembleClassifier", domain=ML)
def tree_ensemble_classifier(x: Tensor, **attributes: Any) -> tuple[Any, ...]:
    """Return the label of each row, and the scores of all. [n, features] -> [n], [n, classes]"""
    import numpy as np

    data = to_array(x)
    trees, votes = _old_trees(attributes, "class", data.shape[1])
    labels = attributes.pop("classlabels_strings", None) or attributes.pop("classlabels_int64s", ())
    attributes.pop("classlabels_int64s", None)
    base, transform = _take_array(attributes, "base_values"), attributes.pop("post_transform", "NONE")
    _refuse_rest(attributes)
    classes = len(labels)
    total = _sum_votes(votes, _leaves(trees, data), classes, "SUM")
    # onnxruntime's binary case: all weights are for one class, and the score's threshold decides.
    if classes == 2 and len(set(votes.targets.tolist())) == 1:
        return _two_classes(total[:, votes.targets[0]], base, labels, transform, votes.weights)
    total = total + base if len(base) else total
    best = np.argmax(total, 1)
    return labels_at(best, labels), post_transform_scores(host(total, "float32"), transform)


def _two_classes(score: Any, base: Any, labels: Any, transform: str, weights: Any) -> tuple[Any, ...]:
    """Binary classification with weights for one class only: its score decides."""
    import numpy as np

    # Weights that are all at least 0 are probabilities (threshold 0.5); others are log-odds (threshold 0).
    score = score + (base[-1] if len(base) else 0)
    positive = (weights >= 0).all()
    best = (score > (0.5 if positive else 0)).astype(int)
    other = 1 - score if positive and transform == "NONE" else -score
    return labels_at(best, labels), post_transform_scores(
        host(np.stack([other, score], 1), "float32"), transform
    )

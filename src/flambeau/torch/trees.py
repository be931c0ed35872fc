"""torch.utils._pytree: nested containers as lists of leaves, and back."""

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.node import describe
from ..core.tree import is_dict
from ..errors import ValueError


class ContainerKind(NamedTuple):
    """How a kind of container is flattened and rebuilt."""

    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Any, Any], Any]
    flatten_with_keys_fn: Callable[[Any], Any] | None = None


class MappingKey(NamedTuple):
    """The place of a leaf in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The value at this place."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """The place of a leaf in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The value at this place."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """The place of a leaf in a named tuple or an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The value at this place."""
        return getattr(obj, self.name)


@dataclass
class TreeSpec:
    """The structure of nested containers: the class of one, its context (keys) and the specs of its parts.

    type: the class, None for a leaf. num_leaves, num_nodes, num_children: counts.
    """

    type: Any
    context: Any = None
    children_specs: list["TreeSpec"] = field(default_factory=list["TreeSpec"])

    def __post_init__(self) -> None:
        parts = self.children_specs
        self.num_children = len(parts)
        self.num_leaves: int = sum(p.num_leaves for p in parts) if self.type is not None else 1
        self.num_nodes: int = 1 + sum(p.num_nodes for p in parts)

    def is_leaf(self) -> bool:
        """Whether the spec is a leaf's."""
        return self.type is None

    def children(self) -> list["TreeSpec"]:
        """The specs of the parts."""
        return list(self.children_specs)

    def child(self, index: int) -> "TreeSpec":
        """The spec of a part."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this structure with these leaves."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of a tree at the places of this structure's leaves. ValueError if it differs."""
        if self.is_leaf():
            return [tree]
        kind = _kind_of(tree)
        parts, context = NODES[kind].flatten_fn(tree) if kind in NODES else ([], None)
        if kind is not self.type or len(parts) != self.num_children or context != self.context:
            rule = "the structures differ: pass trees of one structure"
            raise ValueError(f"flatten_up_to({describe(tree)}): {rule}")
        pairs = zip(self.children_specs, parts, strict=True)
        return [leaf for spec, part in pairs for leaf in spec.flatten_up_to(part)]

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self) -> str:
        if self.is_leaf():
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context!r}, {self.children_specs!r})"


def LeafSpec() -> TreeSpec:
    """The spec of a leaf."""
    return TreeSpec(None)


def _from_dict(kind: Any) -> ContainerKind:
    def flatten(d: Any) -> tuple[list[Any], Any]:
        return list(d.values()), list(d)

    def unflatten(values: Any, keys: Any) -> Any:
        return kind(zip(keys, values, strict=True))

    return ContainerKind(flatten, unflatten)


def _from_sequence(kind: Any) -> ContainerKind:
    def flatten(values: Any) -> tuple[list[Any], Any]:
        return list(values), None

    def unflatten(values: Any, _: Any) -> Any:
        return kind(values)

    return ContainerKind(flatten, unflatten)


def _flatten_default(d: Any) -> tuple[list[Any], Any]:
    return list(d.values()), [d.default_factory, list(d)]


def _unflatten_default(values: Any, context: Any) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _flatten_deque(d: Any) -> tuple[list[Any], Any]:
    return list(d), d.maxlen


def _unflatten_deque(values: Any, maxlen: Any) -> Any:
    return deque(values, maxlen=maxlen)


def _flatten_named(t: Any) -> tuple[list[Any], Any]:
    kind: Any = t.__class__
    return list(t), kind


def _unflatten_named(values: Any, kind: Any) -> Any:
    return kind(*values)


OF_PYTHON = ("builtins", "collections", __name__)


class namedtuple_node:
    """The class under which all named tuples are registered."""


NODES: dict[Any, ContainerKind] = {
    dict: _from_dict(dict),
    OrderedDict: _from_dict(OrderedDict),
    list: _from_sequence(list),
    tuple: _from_sequence(tuple),
    defaultdict: ContainerKind(_flatten_default, _unflatten_default),
    deque: ContainerKind(_flatten_deque, _unflatten_deque),
    namedtuple_node: ContainerKind(_flatten_named, _unflatten_named),
}
SUPPORTED_NODES = NODES


def register_pytree_node(
    cls: Any,
    flatten_fn: Any,
    unflatten_fn: Any,
    *,
    flatten_with_keys_fn: Any = None,
    **_more: Any,
) -> None:
    """Let trees contain objects of a class. flatten_fn(obj) gives its parts and a context,
    unflatten_fn(parts, context) the object. flatten_with_keys_fn: gives the parts with their places."""
    NODES[cls] = ContainerKind(flatten_fn, unflatten_fn, flatten_with_keys_fn)


def register_older(cls: Any, flatten_fn: Any, unflatten_fn: Any, *_more: Any, **more: Any) -> None:
    """The older name of register_pytree_node."""
    register_pytree_node(cls, flatten_fn, unflatten_fn, **more)


def register_dataclass(cls: Any, **_more: Any) -> None:
    """Let trees contain objects of a dataclass, whose fields are its parts."""
    names = list(cls.__dataclass_fields__)

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        return [getattr(obj, n) for n in names], names

    def unflatten(values: Any, keys: Any) -> Any:
        return cls(**dict(zip(keys, values, strict=True)))

    register_pytree_node(cls, flatten, unflatten)


def register_constant(cls: Any) -> None:
    """Let objects of a class be leaves, as all unknown objects are."""


def _kind_of(tree: Any) -> Any:
    kind: Any = tree.__class__
    is_named = kind not in NODES and isinstance(tree, tuple) and hasattr(kind, "_fields")
    return namedtuple_node if is_named else kind


class KnownTrees:
    """Structures of results that recordings cannot return as they are: objects of registered classes."""

    is_unwatched = True

    def __init__(self) -> None:
        self.specs: list[TreeSpec] = []

    def plain(self, tree: Any) -> tuple[Any, int | None]:
        """The leaves of a tree that has objects of registered classes, and the number of its structure: the
        tree itself and None if it has none."""
        before = sys.getprofile()
        sys.setprofile(None)  # the functions of a registered class read its objects alone: no need to listen
        try:
            flat, spec = tree_flatten(tree)
        finally:
            sys.setprofile(before)
        if not _has_own_classes(spec):
            return tree, None
        if spec not in self.specs:
            self.specs.append(spec)
        return flat, self.specs.index(spec)

    def whole(self, tree: Any, number: int | None) -> Any:
        """The tree of these leaves."""
        return tree if number is None else tree_unflatten(tree, self.specs[number])


def _has_own_classes(spec: TreeSpec) -> bool:
    own = spec.type is not None and spec.type.__module__ not in OF_PYTHON
    return own or any(map(_has_own_classes, spec.children_specs))


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, in order, and its structure. is_leaf(part): whether a part counts as a leaf."""
    leaves: list[Any] = []
    return leaves, _flatten_into(leaves, tree, is_leaf)


def _flatten_into(leaves: list[Any], tree: Any, is_leaf: Any) -> TreeSpec:
    kind = _kind_of(tree)
    if kind not in NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return TreeSpec(None)
    parts, context = NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(leaves, p, is_leaf) for p in parts])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """A tree of a structure with these leaves. ValueError for another number of leaves."""
    listed = list(leaves)
    if len(listed) != treespec.num_leaves:
        rule = f"the structure has {treespec.num_leaves} leaves: pass as many"
        raise ValueError(f"tree_unflatten({len(listed)} leaves): {rule}")
    rest = iter(listed)
    return _build(rest, treespec)


def _build(rest: Any, spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return next(rest)
    return NODES[spec.type].unflatten_fn([_build(rest, s) for s in spec.children_specs], spec.context)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """A tree with func of each leaf, and of the parts of the other trees (rests) at its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten(map(func, leaves, *others), spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """Call func with each leaf; returns the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _only(kinds: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(leaf: Any) -> Any:
        chosen = isinstance(leaf, kinds) if isinstance(kinds, type | tuple) else kinds(leaf)
        return func(leaf) if chosen else leaf

    return apply


def tree_map_only(type_or_types_or_pred: Any, func: Any = None, tree: Any = None, is_leaf: Any = None) -> Any:
    """A tree with func of the leaves of some types, or for which a predicate is true."""
    return tree_map(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, func: Any = None, tree: Any = None, is_leaf: Any = None
) -> Any:
    """Call func with the leaves of some types; returns the tree."""
    return tree_map_(_only(type_or_types_or_pred, func), tree, is_leaf=is_leaf)


def map_only(type_or_types_or_pred: Any) -> Any:
    """A decorator: the function applies to some types, and returns other values."""

    def decorate(func: Any) -> Any:
        return _only(type_or_types_or_pred, func)

    return decorate


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether a predicate is true for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether a predicate is true for any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_flatten_with_path(tree: Any, is_leaf: Any = None) -> tuple[list[tuple[Any, Any]], TreeSpec]:
    """(place, leaf) of each leaf, in order, and the structure. A place is a tuple of keys."""
    out: list[tuple[Any, Any]] = []
    _places_into(out, (), tree, is_leaf)
    return out, tree_structure(tree, is_leaf)


def _places_into(out: list[tuple[Any, Any]], path: tuple[Any, ...], tree: Any, is_leaf: Any) -> None:
    kind = _kind_of(tree)
    if kind not in NODES or (is_leaf is not None and is_leaf(tree)):
        out.append((path, tree))
        return
    node = NODES[kind]
    if node.flatten_with_keys_fn is not None:
        pairs = node.flatten_with_keys_fn(tree)[0]
    else:
        parts = node.flatten_fn(tree)[0]
        pairs = zip(_keys_of(kind, tree, len(parts)), parts, strict=True)
    for key, part in pairs:
        _places_into(out, (*path, key), part, is_leaf)


def _keys_of(kind: Any, tree: Any, n: int) -> list[Any]:
    if kind is namedtuple_node:
        return [GetAttrKey(name) for name in tree._fields]
    return [MappingKey(k) for k in tree] if is_dict(tree) else [SequenceKey(i) for i in range(n)]


def tree_leaves_with_path(tree: Any, is_leaf: Any = None) -> list[tuple[Any, Any]]:
    """(place, leaf) of each leaf, in order."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """A tree with func(place, leaf) of each leaf."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return tree_unflatten(map(func, *zip(*pairs, strict=True), *others) if pairs else [], spec)


def keystr(kp: Any) -> str:
    """The text of a key path, such as ['a'][0]."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Any) -> Any:
    """The part of a tree at a place."""
    for key in kp:
        obj = key.get(obj)
    return obj

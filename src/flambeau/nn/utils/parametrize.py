"""Parametrized tensors of modules: each use of `module.weight` applies a chain of modules to the learned
parameters, as in torch.nn.utils.parametrize."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from ...core.modes import no_grad
from ...core.node import describe
from ...core.tree import is_sequence
from ...errors import ValueError
from ...tensor import Tensor
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Buffer, Parameter

_cache: dict[tuple[int, str], Tensor] = {}  # values by module and name, while a `cached` block is open
_depth = 0  # of nested `cached` blocks


@contextmanager
def cached() -> Generator[None, None, None]:
    """Within the block, compute each parametrized tensor once."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:  # the last of nested blocks
            _cache.clear()


class ParametrizationList(ModuleList):
    """The chain of modules of a tensor, and the learned parameters: original, or original0, original1, ... if
    right_inverse returns several.

    modules: in order. original: the tensor that is parametrized. unsafe: shapes and dtypes may change.
    """

    def __init__(self, modules: Iterable[Module], original: Tensor, unsafe: bool = False):
        super().__init__(modules)
        self.unsafe, self.is_parameter = unsafe, isinstance(original, Parameter)
        self.wanted = original.requires_grad
        self._names: list[str] = []
        self.shown = describe(original)
        try:
            self.right_inverse(original)
        except NotImplementedError as e:  # without right_inverse the tensor itself is the input of the map
            if isinstance(e, TypeError):  # an op of right_inverse refused the dtype
                raise
            self._take(original)
        if not unsafe:
            _check_kept(self.shown, self())

    def add(self, parametrization: Module, unsafe: bool) -> None:
        """Append a parametrization; the originals stay unchanged, as in PyTorch."""
        if not unsafe:
            value = self()
            _check_kept(describe(value), parametrization(value))
        self.append(parametrization)
        self.unsafe |= unsafe

    def originals(self) -> list[Tensor]:
        """The tensors that the value is computed from."""
        return [getattr(self, name) for name in self._names]

    @no_grad()
    def right_inverse(self, value: Tensor) -> None:
        """Set originals that produce the value; NotImplementedError if a map has no right_inverse."""
        original: Any = value
        for m in reversed(list(self)):
            undo = getattr(m, "right_inverse", None)
            if undo is None:
                rule = "it can't be inverted: define right_inverse(value), or set the original"
                raise NotImplementedError(f"{type(m).__name__}: {rule}")
            original = undo(original)
        self._take(original)

    def _take(self, originals: Any) -> None:
        """Set the original tensors."""
        several = is_sequence(originals)
        parts: list[Tensor] = list(originals) if is_sequence(originals) else [originals]
        names = [f"original{i}" for i in range(len(parts))] if several else ["original"]
        # The same names: the values are replaced, and optimisers keep their tensors.
        if self._names and names == self._names:
            for name, part in zip(names, parts, strict=True):
                getattr(self, name).assign_(part)
            return
        for name in self._names:
            delattr(self, name)
        self._names = names
        for name, part in zip(names, parts, strict=True):
            setattr(
                self,
                name,
                Parameter(part.detach(), self.wanted) if self.is_parameter else Buffer(part.detach()),
            )

    def forward(self) -> Any:  # type: ignore[override]
        """The value."""
        first, *others = list(self)
        value = first(*self.originals())
        for m in others:  # only the first map may have several inputs
            value = m(value)
        return value


def _check_kept(shown: str, value: Any) -> None:
    """ValueError if a parametrization changes the shape or dtype of a tensor."""
    if (computed := describe(value)) != shown:
        rule = "a parametrization must keep shape and dtype: change it, or pass unsafe=True"
        raise ValueError(f"register_parametrization({shown} becomes {computed}): {rule}")


def _chains(module: Module) -> Any:
    """The parametrizations of a module by the names of its tensors."""
    return vars(module)["parametrizations"]


def _property(name: str) -> property:
    def get(self: Module) -> Any:
        chain = _chains(self)[name]
        if not _depth:
            return chain()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = chain()
        return _cache[key]

    return property(get, lambda self, value: _chains(self)[name].right_inverse(value))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer by `parametrization`; the learned tensor becomes
    module.parametrizations.NAME.original. Returns the module.

    tensor_name: its name. parametrization: a module of the tensor; if it has right_inverse(value), the value
    is preserved and can be assigned to. Further ones are applied to the result. unsafe: shapes and dtypes may
    change. ValueError for an unknown name, or if shape or dtype change.
    """
    if is_parametrized(module, tensor_name):
        _chains(module)[tensor_name].add(parametrization, unsafe)
        return module
    tensor = vars(module).get(tensor_name)
    if not isinstance(tensor, Tensor):
        rule = f"{type(module).__name__} has no parameter or buffer of that name: check the name"
        raise ValueError(f"register_parametrization({tensor_name!r}): {rule}")
    chain = ParametrizationList([parametrization], tensor, unsafe)
    delattr(module, tensor_name)
    # A property must be on a class, and other modules share the module's class, so the module gets its own
    # subclass.
    cls = type(module)
    if not is_parametrized(module):
        cls = type(f"Parametrized{cls.__name__}", (cls,), {"_before": cls, "__module__": cls.__module__})
        module.__class__ = cls
        module.add_module("parametrizations", ModuleDict())
    setattr(cls, tensor_name, _property(tensor_name))
    _chains(module)[tensor_name] = chain
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of that name."""
    parametrized = vars(module).get("parametrizations")
    # "parametrizations" may also be a user's own attribute
    has = isinstance(parametrized, ModuleDict) and hasattr(type(module), "_before")
    return has and (tensor_name is None or tensor_name in parametrized)  # type: ignore[operator]


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Turn a parametrized tensor into a plain parameter or buffer again, with its current value, or with
    leave_parametrized=False its original. Returns the module. ValueError if it is not parametrized, or has
    several originals and leave_parametrized is False."""
    if not is_parametrized(module, tensor_name):
        rule = f"{type(module).__name__} has no parametrization of that name: check the name"
        raise ValueError(f"remove_parametrizations({tensor_name!r}): {rule}")
    chain = _chains(module)[tensor_name]
    if not leave_parametrized and len(chain.originals()) > 1:
        rule = "it has several originals: pass leave_parametrized=True"
        raise ValueError(f"remove_parametrizations({tensor_name!r}, leave_parametrized=False): {rule}")
    value = getattr(module, tensor_name) if leave_parametrized else chain.original
    detached = value.detach()
    detached = Parameter(detached, chain.wanted) if chain.is_parameter else Buffer(detached)
    del _chains(module)[tensor_name]
    delattr(type(module), tensor_name)  # the property
    if not len(_chains(module)):
        delattr(module, "parametrizations")
        module.__class__ = type_before_parametrizations(module)
    setattr(module, tensor_name, detached)
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module before it was parametrized."""
    return getattr(type(module), "_before", type(module))


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy the parametrizations of another module, or those of one tensor, with their parameters; returns the
    module. ValueError if the other has none."""
    if not is_parametrized(from_module):
        rule = "the first module has no parametrizations: pass one that does"
        raise ValueError(f"transfer_parametrizations_and_params({type(from_module).__name__}): {rule}")
    names = list(_chains(from_module)) if tensor_name is None else [tensor_name]
    for name in names:
        chain = _chains(from_module)[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for m in chain:
            # unsafe: the other module checked these maps already.
            register_parametrization(to_module, name, m, unsafe=True)
        for own, other in zip(_chains(to_module)[name].originals(), chain.originals(), strict=True):
            own.data = other.detach()
    return to_module

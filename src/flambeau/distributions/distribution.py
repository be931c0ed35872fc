"""The base class of distributions: shapes, checks and expansion."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..core.modes import no_grad
from ..core.node import describe
from ..core.shape import broadcast
from ..core.sizes import integers
from ..runtime.state import thread
from ..tensor import Tensor, tensor
from . import constraints


def tensors_of(parameters: dict[str, Any]) -> dict[str, Tensor]:
    """Convert parameters to float tensors, on the device of the first one that is a tensor already."""
    # so that a number beside a tensor on the GPU needs no second device
    device = next((v.device for v in parameters.values() if isinstance(v, Tensor)), None)
    tensors: dict[str, Tensor] = {}
    for name, value in parameters.items():
        t = value if isinstance(value, Tensor) else tensor(value, device=device)
        tensors[name] = t if t.dtype.is_float else t.float()
    return tensors


def sample_dims(sample_shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return the sample dimensions as a tuple; an integer is one dimension. Raises TypeError for other
    values."""
    sizes = integers(sample_shape, "sample_shape")
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


class Distribution:
    """The base class of distributions: `batch_shape` independent random values, each of `event_shape`.

    Parameters are numbers or tensors, which broadcast. Parameters and the values passed to log_prob are read
    and checked, as PyTorch does, except while a call is recorded and in a page that can't wait. Turn the
    checks off with validate_args=False or `set_default_validate_args(False)`.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    support: Any = None
    has_rsample: Any = False  # a bool, or a property that follows the base distribution
    has_enumerate_support = False
    _validates = True
    _params: tuple[str, ...] = ()
    batch_shape: tuple[int, ...] = ()
    event_shape: tuple[int, ...] = ()

    if TYPE_CHECKING:  # _set stores parameters as attributes, by name

        def __getattr__(self, name: str) -> Any: ...

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ):
        """The shapes of a custom distribution; its parameters are already attributes.

        batch_shape, event_shape: of independent values, and of one value. validate_args: check the parameters
        that `arg_constraints` names.
        """
        # a subclass may have properties of these names, which can't be set
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        if validate_args is not None:
            self._validates = validate_args
        if self._validates:
            parameters = {name: vars(self).get(name) for name in self.arg_constraints}
            self._check_parameters({n: t for n, t in parameters.items() if isinstance(t, Tensor)})

    @property
    def _batch_shape(self) -> tuple[int, ...]:  # PyTorch's name, which subclasses write
        return vars(self).get("batch_shape", ())

    @_batch_shape.setter
    def _batch_shape(self, shape: Sequence[int]) -> None:
        vars(self)["batch_shape"] = tuple(shape)

    @property
    def _event_shape(self) -> tuple[int, ...]:
        return vars(self).get("event_shape", ())

    @_event_shape.setter
    def _event_shape(self, shape: Sequence[int]) -> None:
        vars(self)["event_shape"] = tuple(shape)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions without `validate_args` check their parameters and values."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args({value!r}): pass True or False")
        Distribution._validates = value

    def _set(self, validate_args: bool | None, **parameters: Any) -> None:
        """Store and check parameters, expanded to the batch shape that they broadcast to."""
        if validate_args is not None:
            self._validates = validate_args
        # A parameter's shape is [*batch, *event]; only the batch parts broadcast with each other.
        tensors, self._params = tensors_of(parameters), tuple(parameters)
        batch_shapes = {n: t.shape[: t.ndim - self._event_dim(n)] for n, t in tensors.items()}
        self.batch_shape = broadcast(*batch_shapes.values())
        for name, t in tensors.items():
            # a view: parameters are not copied, and log_prob gets the full batch shape by broadcasting
            setattr(self, self._slot(name), t.expand(*self.batch_shape, *t.shape[len(batch_shapes[name]) :]))
        self._check_parameters(tensors)

    def _slot(self, name: str) -> str:
        """Return the attribute that holds a parameter: `_name` if `name` is a property."""
        return f"_{name}" if isinstance(getattr(type(self), name, None), property) else name

    def _event_dim(self, name: str) -> int:
        return self.arg_constraints[name].event_dim

    def _check_parameters(self, parameters: dict[str, Tensor]) -> None:
        for name, value in parameters.items():
            rule = self.arg_constraints[name]
            if (
                not constraints.is_dependent(rule)
                and self._checks(value)
                and not rule.check(value).all().item()
            ):
                call = f"{type(self).__name__}({name}={describe(value)})"
                raise ValueError(
                    f"{call}: values are not in {rule}: pass other values, or validate_args=False"
                )

    def _checks(self, value: Tensor) -> bool:
        # a check reads the device: not while recording, and not where reading must be awaited
        return self._validates and thread.recorder is None and value.device.can_wait

    def _validate_sample(self, value: Any) -> None:
        """Raise ValueError for values that do not broadcast with the shape or lie outside the support."""
        if not self._validates:
            return
        call = f"{type(self).__name__}.log_prob({describe(value)})"
        shape = self.batch_shape + self.event_shape
        if not isinstance(value, Tensor):
            raise ValueError(f"{call}: takes a tensor")
        # NumPy's rule, aligned at the last dim
        for n, m in zip(reversed(value.shape), reversed(shape)):
            if 1 not in (n, m) and n != m:
                raise ValueError(f"{call}: does not broadcast with the batch and event shape {list(shape)}")
        rule = self.support
        if rule is not None and self._checks(value) and not rule.check(value).all().item():
            raise ValueError(f"{call}: values are not in {rule}: pass other values, or validate_args=False")

    def first_parameter(self) -> Tensor:
        """Return the first stored parameter, expanded to the batch shape."""
        return getattr(self, self._slot(self._params[0]))

    def _copy(self, instance: Any = None) -> Self:
        # without __init__, which would check the parameters again
        new: Self = object.__new__(type(self)) if instance is None else instance
        vars(new).update({**vars(self), **vars(new)})
        return new

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """Return the same distribution with a larger batch shape; nothing is copied.

        _instance: the object that a subclass has begun to fill in
        """
        if not self._params:
            rule = "its parameters are not known: define expand in the subclass"
            raise NotImplementedError(f"{type(self).__name__}.expand: {rule}")
        new, shape = self._copy(_instance), tuple(batch_shape)
        for name in self._params:
            value = getattr(self, self._slot(name))
            event = value.shape[len(self.batch_shape) :]
            setattr(new, self._slot(name), value.expand(*shape, *event))
        new.batch_shape = shape
        new._finish_expand()
        return new

    def _finish_expand(self) -> None:
        """Bring the attributes that follow from parameters up to date in an expanded copy."""

    def _shape(self, sample_shape: int | Sequence[int]) -> tuple[int, ...]:
        return (*sample_dims(sample_shape), *self.batch_shape, *self.event_shape)

    def _extended_shape(self, sample_shape: int | Sequence[int] = ()) -> tuple[int, ...]:  # PyTorch's name
        return self._shape(sample_shape)

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """The object that `expand` of a subclass fills in: given, or a new one without __init__."""
        return object.__new__(type(self)) if _instance is None else _instance

    def sample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        """Draws without a gradient. -> [*sample_shape, *batch_shape, *event_shape]"""
        with no_grad():
            return (self.rsample if self.has_rsample else self._draw)(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """sample((n,))."""
        return self.sample((n,))

    def _draw(self, sample_shape: int | Sequence[int]) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}.sample: not implemented: define _draw or rsample")

    def rsample(self, sample_shape: int | Sequence[int] = ()) -> Tensor:
        """Draws with gradients of the parameters. Raises NotImplementedError if the distribution has none."""
        raise NotImplementedError(f"{type(self).__name__}.rsample: has no gradient: use sample and log_prob")

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the logarithm of the density, or of the probability, of values. [..., *event_shape] ->
        [...]"""
        raise NotImplementedError(f"{type(self).__name__}.log_prob: has no closed form")

    def prob(self, value: Tensor) -> Tensor:
        """exp of log_prob."""
        return self.log_prob(value).exp()

    def cdf(self, value: Tensor) -> Tensor:
        """Return the probability of a value at most this large. [...] -> [...]"""
        raise NotImplementedError(f"{type(self).__name__}.cdf: has no closed form here")

    def icdf(self, value: Tensor) -> Tensor:
        """Return the inverse of cdf: values from probabilities. [...] -> [...]"""
        raise NotImplementedError(f"{type(self).__name__}.icdf: has no closed form here")

    def entropy(self) -> Tensor:
        """Return the entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__}.entropy: has no closed form here")

    def perplexity(self) -> Tensor:
        """exp of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return all values of a discrete distribution, along a new dim 0. expand: repeat them over the
        batch."""
        raise NotImplementedError(f"{type(self).__name__}.enumerate_support: has no finite list of values")

    def _insert_batch(self, values: Tensor, expand: bool) -> Tensor:
        """Insert the batch dimensions, of size 1 or expanded. [n, *event] -> [n, *batch, *event]"""
        # torch's layout: the values come first
        event = values.shape[1:]
        ones = values.reshape(values.shape[0], *(1,) * len(self.batch_shape), *event)
        return ones.expand(values.shape[0], *self.batch_shape, *event) if expand else ones

    @property
    def mean(self) -> Tensor:
        """The mean of draws."""
        raise NotImplementedError(f"{type(self).__name__}.mean: has no closed form")

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{type(self).__name__}.mode: has no closed form")

    @property
    def variance(self) -> Tensor:
        """The variance of draws."""
        raise NotImplementedError(f"{type(self).__name__}.variance: has no closed form")

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def __repr__(self) -> str:
        parameters = ", ".join(f"{n}: {describe(getattr(self, self._slot(n)))}" for n in self._params)
        return f"{type(self).__name__}({parameters})"


class ExponentialFamily(Distribution):
    """The base class, as in torch, of distributions with the density exp(<parameters, statistics> -
    normaliser).

    batch_shape, event_shape, validate_args: see Distribution
    """


def one_of(name: str, **parameters: Any) -> dict[str, Any]:
    """Return the one parameter of several that is not None. Raises ValueError for none and for several."""
    chosen = {k: v for k, v in parameters.items() if v is not None}
    if len(chosen) != 1:
        raise ValueError(f"{name}(...): takes one of {' and '.join(parameters)}, not {len(chosen)}: pass one")
    return chosen

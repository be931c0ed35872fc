"""What all distributions share: shapes, checks, expansion, and the density of draws."""

from typing import TYPE_CHECKING, Any, ClassVar

from ..core.modes import no_grad
from ..core.node import describe
from ..core.shape import broadcast
from ..core.sizes import integers
from ..runtime.state import thread
from ..tensor import Tensor, tensor
from . import constraints


def tensors_of(given: dict[str, Any]) -> dict[str, Tensor]:
    """Parameters as float tensors, on the device of those that are tensors already."""
    known = [v for v in given.values() if isinstance(v, Tensor)]
    device = known[0].device if known else None
    made = {}
    for name, value in given.items():
        t = value if isinstance(value, Tensor) else tensor(value, device=device)
        made[name] = t if t.dtype.is_float else t.float()
    return made


def lead(sample_shape: Any) -> tuple[int, ...]:
    """The dims before those of a batch; an integer is one dim. TypeError where one is no integer."""
    sizes = integers(sample_shape, "sample_shape")
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)


class Distribution:
    """Random numbers of one kind: `batch_shape` independent ones, each of `event_shape`.

    Parameters are numbers or tensors, which broadcast. They and the values given to log_prob are checked by
    reading them, as PyTorch does, but while a call is recorded or a page can't wait: validate_args=False (or
    `set_default_validate_args(False)`) leaves that out.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    support: Any = None
    has_rsample = False
    has_enumerate_support = False
    _validates = True
    _params: tuple[str, ...] = ()
    batch_shape: tuple[int, ...] = ()
    event_shape: tuple[int, ...] = ()

    if TYPE_CHECKING:  # parameters are attributes, set by name

        def __getattr__(self, name: str) -> Any: ...

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions that are not told so check their parameters and values."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args({value!r}): give True or False")
        Distribution._validates = value

    def _set(self, validate_args: bool | None, **given: Any) -> None:
        """Take parameters: those of one batch shape, which is that of all of them broadcast."""
        if validate_args is not None:
            self._validates = validate_args
        made, self._params = tensors_of(given), tuple(given)
        lead = {n: t.shape[: t.ndim - self._event_dim(n)] for n, t in made.items()}
        self.batch_shape = broadcast(*lead.values())
        for name, t in made.items():
            setattr(self, self._slot(name), t.expand(*self.batch_shape, *t.shape[len(lead[name]) :]))
        self._check_parameters(made)

    def _slot(self, name: str) -> str:
        """Where a parameter is kept: one that may be given in two ways is computed where it was not."""
        return f"_{name}" if isinstance(getattr(type(self), name, None), property) else name

    def _event_dim(self, name: str) -> int:
        return self.arg_constraints[name].event_dim

    def _check_parameters(self, given: dict[str, Tensor]) -> None:
        for name, value in given.items():
            rule = self.arg_constraints[name]
            if (
                not constraints.is_dependent(rule)
                and self._checks(value)
                and not rule.check(value).all().item()
            ):
                call = f"{type(self).__name__}({name}={describe(value)})"
                raise ValueError(f"{call}: values are not in {rule}: give others, or validate_args=False")

    def _checks(self, value: Tensor) -> bool:
        return self._validates and thread.recorder is None and value.device.can_wait

    def _validate_sample(self, value: Any) -> None:
        """ValueError for values that do not fit the shape, or lie outside of the support."""
        if not self._validates:
            return
        call, whole = (
            f"{type(self).__name__}.log_prob({describe(value)})",
            self.batch_shape + self.event_shape,
        )
        if not isinstance(value, Tensor):
            raise ValueError(f"{call}: takes a tensor")
        for n, m in zip(reversed(value.shape), reversed(whole)):
            if 1 not in (n, m) and n != m:
                raise ValueError(
                    f"{call}: does not broadcast with the shape {list(whole)} of batch and event"
                )
        rule = self.support
        if rule is not None and self._checks(value) and not rule.check(value).all().item():
            raise ValueError(f"{call}: values are not in {rule}: give others, or validate_args=False")

    def expand(self, batch_shape: Any) -> Any:
        """The same distribution for more of a batch; nothing is copied."""
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        shape = tuple(batch_shape)
        for name in self._params:
            value = getattr(self, self._slot(name))
            event = value.shape[len(self.batch_shape) :]
            setattr(new, self._slot(name), value.expand(*shape, *event))
        new.batch_shape = shape
        new._expanded()
        return new

    def _expanded(self) -> None:
        """What else an expanded copy needs: distributions made of others."""

    def _shape(self, sample_shape: Any) -> tuple[int, ...]:
        return (*lead(sample_shape), *self.batch_shape, *self.event_shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws, through which no gradient flows. -> [*sample_shape, *batch_shape, *event_shape]"""
        with no_grad():
            return (self.rsample if self.has_rsample else self._draw)(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """sample((n,))."""
        return self.sample((n,))

    def _draw(self, sample_shape: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__}.sample: is not written: define _draw or rsample")

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Draws that are differentiable by the parameters; NotImplementedError where there is no such way."""
        raise NotImplementedError(f"{type(self).__name__}.rsample: has no gradient: use sample and log_prob")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, of values. [..., *event_shape] -> [...]"""
        raise NotImplementedError(f"{type(self).__name__}.log_prob: has no closed form")

    def prob(self, value: Tensor) -> Tensor:
        """exp of log_prob."""
        return self.log_prob(value).exp()

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to these."""
        raise NotImplementedError(f"{type(self).__name__}.cdf: has no closed form here")

    def icdf(self, value: Tensor) -> Tensor:
        """The values whose cdf is this."""
        raise NotImplementedError(f"{type(self).__name__}.icdf: has no closed form here")

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__}.entropy: has no closed form here")

    def perplexity(self) -> Tensor:
        """exp of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a first dim; expand: for each of the batch."""
        raise NotImplementedError(f"{type(self).__name__}.enumerate_support: has no finite list of values")

    def _listed(self, values: Tensor, expand: bool) -> Tensor:
        """Values of shape [n, *event] with the batch between, of size 1 or expanded."""
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
        told = ", ".join(f"{n}: {describe(getattr(self, self._slot(n)))}" for n in self._params)
        return f"{type(self).__name__}({told})"


class ExponentialFamily(Distribution):
    """Those whose density is exp(<parameters, statistics> - normaliser): the name alone, as torch has it."""


def one_of(name: str, **given: Any) -> dict[str, Any]:
    """The one parameter of several that was given."""
    found = {k: v for k, v in given.items() if v is not None}
    if len(found) != 1:
        raise ValueError(f"{name}(...): takes one of {' and '.join(given)}, not {len(found)}: give one")
    return found

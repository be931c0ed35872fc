"""The rule of each operation by names, as tables: what its dims are called by, and what its result has."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import cache
from inspect import Signature, signature
from typing import Any, NamedTuple, cast

from ..core.op import COMPOSED, OPS
from ..core.tree import is_dict, rebuild
from ..errors import TypeError, ValueError, suggest
from ..tensor import Tensor
from . import layouts
from .movement import text
from .names import Names, aligned, ordered, place, places, run, shown_call, union
from .patterns import einsum
from .refusals import REFUSED, in_place_refusal
from .tensor import METHODS, NamedTensor, known, named


class OpCall(NamedTuple):
    """One call: the operation's name, its function for plain tensors, and its arguments."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kw: dict[str, Any]

    @property
    def text(self) -> str:
        """The call as errors begin with it."""
        return shown_call(self.name, self.args, self.kw)

    @property
    def first(self) -> NamedTensor:
        """The named tensor that the operation is of; TypeError if the first argument is another value."""
        x = self.args[0] if self.args else self.kw.get("input")
        if not isinstance(x, NamedTensor):
            raise TypeError(f"{self.text}: the first argument has no names: write fb.named.tensor(x, names)")
        return x


Rule = Callable[[OpCall], Any]


def _map_tensors(result: Any, f: Callable[[Tensor], Any]) -> Any:
    """f of a tensor or of each tensor of a tuple."""
    if isinstance(result, Tensor):
        return f(result)
    if isinstance(result, list | tuple):
        return rebuild(result, [_map_tensors(r, f) for r in result])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - any results
    return result


def elementwise(call: OpCall) -> Any:
    """Operands broadcast by name; the result has all names, in the order of their first occurrence."""
    values = [*call.args, *call.kw.values()]
    tensors = [v for v in values if isinstance(v, NamedTensor)]
    names = union(tensors, call.text)
    for v in values:
        if isinstance(v, Tensor) and v.ndim:
            rule = "a tensor has dims without names: write fb.named.tensor(x, names)"
            raise TypeError(f"{call.text}: {rule}")
    args = [aligned(v, names) if isinstance(v, NamedTensor) else v for v in call.args]
    kw = {k: aligned(v, names) if isinstance(v, NamedTensor) else v for k, v in call.kw.items()}
    return _map_tensors(run(call.function, call.text, args, kw), lambda t: _named_if(t, names))


def _named_if(t: Tensor, names: Names) -> Any:
    """The tensor with names if it has as many dims; a reduced loss has none."""
    return named(t, names if t.ndim else ())


def in_place(call: OpCall) -> Any:
    """An elementwise operation that writes to its first operand, which must have all names."""
    x = call.first
    tensors = [v for v in (*call.args, *call.kw.values()) if isinstance(v, NamedTensor)]
    extra = [n for n in union(tensors, call.text) if n not in x.names]
    if extra:
        rule = f"write x = x.{call.name[:-1]}(...)"
        raise ValueError(f"{call.text}: {extra[0]!r} is not a dim of the tensor that is written: {rule}")
    args = [aligned(v, x.names) if isinstance(v, NamedTensor) else v for v in call.args]
    kw = {k: aligned(v, x.names) if isinstance(v, NamedTensor) else v for k, v in call.kw.items()}
    run(getattr(Tensor, call.name), call.text, args, kw)
    return x


@cache
def _signature(name: str) -> Signature:
    return signature(COMPOSED[name])


def _bound(call: OpCall, word: str) -> dict[str, Any]:
    """The arguments by parameter; several names in a row are one tuple: x.sum("row", "column")."""
    args, kw = call.args, dict(call.kw)
    if "axis" in kw:
        kw[word] = kw.pop("axis")
    if len(args) > 2 and all(isinstance(a, str) for a in args[1:]):
        args = (args[0], args[1:])
    try:
        return dict(_signature(call.name).bind(*args, **kw).arguments)
    except builtins.TypeError as e:
        raise TypeError(f"{call.text}: {e}") from None


class Along:
    """A rule of operations with dims as arguments.

    word: the parameter
    keeps: whether the result has the dims too
    whole: whether no name means all dims; else it is the only dim
    """

    def __init__(self, word: str = "dim", keeps: bool = True, whole: bool = False):
        self.word, self.keeps, self.whole = word, keeps, whole

    def __call__(self, call: OpCall) -> Any:
        x, arguments = call.first, _bound(call, self.word)
        if isinstance(arguments.get("dim"), NamedTensor | Tensor) and call.name in ("max", "min"):
            other = {"max": "maximum", "min": "minimum"}[call.name]
            return elementwise(OpCall(other, OPS[other], call.args, call.kw))
        if isinstance(arguments.get("q"), Tensor | list | tuple | NamedTensor):
            raise TypeError(f"{call.text}: several q make a dim without a name: call it for each q")
        dims = self._dims(call, x, arguments.get(self.word))
        if dims is not None:
            one = not isinstance(arguments.get(self.word), list | tuple) and not self._is_several(call)
            arguments[self.word] = dims[0] if one and dims else dims
        kept = self.keeps or arguments.get("keepdim", False)
        removed: set[int] = set() if kept else set(range(x.ndim) if dims is None else dims)
        names = tuple(n for i, n in enumerate(x.names) if i not in removed)
        arguments = {k: _operand(v, x, k, call) for k, v in arguments.items()}
        result = run(_spread(call.name), call.text, [arguments], {}, x.names)
        return _map_tensors(result, lambda t: named(t, names))

    def _is_several(self, call: OpCall) -> bool:
        return _signature(call.name).parameters[self.word].kind.name == "VAR_POSITIONAL"

    def _dims(self, call: OpCall, x: NamedTensor, value: Any) -> tuple[int, ...] | None:
        if value is None or value == ():
            if self.whole or x.ndim == 0:
                return None
            if x.ndim == 1:
                return (0,)
            raise TypeError(
                f"{call.text}: the dim is missing: write {call.name}(x, {self.word}={x.names[-1]!r})"
            )
        several: tuple[Any, ...] = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        is_nested = len(several) == 1 and isinstance(several[0], tuple)  # flip(x, ("row", "column"))
        return places(x, several[0] if is_nested else value, call.text)


def _operand(value: Any, x: NamedTensor, word: str, call: OpCall) -> Any:
    """An argument for plain tensors: a 1-d index as it is, others in the order of x, with its names."""
    if not isinstance(value, NamedTensor):
        if isinstance(value, Tensor) and value.ndim > 1:
            raise TypeError(f"{call.text}: {word!r} has no names: write fb.named.tensor({word}, names)")
        return value
    if value.ndim == 1 and x.ndim != 1:
        return value.tensor
    if set(value.names) != set(x.names):
        rule = f"give it the dims {', '.join(map(repr, x.names))}"
        raise ValueError(f"{call.text}: {word!r} has the dims {', '.join(map(repr, value.names))}: {rule}")
    return ordered(value, x.names)


def _spread(name: str) -> Callable[[dict[str, Any]], Any]:
    """The function of arguments by parameter, those of *dims included."""
    parameters = _signature(name).parameters
    several = [p.name for p in parameters.values() if p.kind.name == "VAR_POSITIONAL"]
    first = next(iter(parameters))

    def run_it(arguments: dict[str, Any]) -> Any:
        rest = {k: v for k, v in arguments.items() if k != first and k not in several}
        more = arguments.get(several[0], ()) if several else ()
        return COMPOSED[name](arguments[first], *more, **rest)

    return run_it


def contraction(call: OpCall) -> Any:
    """The sum of products over named dims: x.dot(y, "feature"). Without names over the only common one."""
    x, y, *names = [*call.args, *call.kw.values()]
    if not isinstance(x, NamedTensor) or not isinstance(y, NamedTensor):
        raise TypeError(f"{call.text}: an operand has no names: write fb.named.tensor(x, names)")
    if len(names) == 1 and isinstance(names[0], list | tuple):
        names: list[Any] = [*cast("list[Any]", names[0])]
    common = [n for n in x.names if n in y.names]
    if not names and len(common) != 1:
        what = f"{', '.join(map(repr, common))} are common" if common else "no dim is common"
        what_next = f"write x.dot(y, {common[-1]!r})" if common else "write x * y for all pairs"
        raise ValueError(f"{call.text}: {what}: {what_next}")
    over: list[Any] = names or common
    for t in (x, y):
        places(t, over, call.text)
    union([x, y], call.text)
    result = [n for n in dict.fromkeys((*x.names, *y.names)) if n not in over]
    return einsum(x, y, f"{' '.join(x.names)}, {' '.join(y.names)} -> {' '.join(result)}")


def joined(call: OpCall) -> Any:
    """cat: tensors with the same names, one after the other along a named dim."""
    tensors, dim = _several(call)
    x = tensors[0]
    d = place(x, dim, call.text)
    for t in tensors[1:]:
        if set(t.names) != set(x.names):
            raise ValueError(f"{call.text}: {text(t)} has other dims than {text(x)}: name the same dims")
    parts = [ordered(t, x.names) for t in tensors]
    return named(run(call.function, call.text, [parts, d], {}), x.names)


def stacked(call: OpCall) -> Any:
    """stack: tensors with the same names, along a new named dim in front."""
    tensors, dim = _several(call)
    x = tensors[0]
    if dim in x.names or not isinstance(dim, str):
        raise ValueError(f"{call.text}: {dim!r} is no new name: write stack(tensors, 'new')")
    names = union(tensors, call.text)
    if any(set(t.names) != set(names) for t in tensors):
        raise ValueError(f"{call.text}: the tensors have different dims: name the same dims")
    parts = [ordered(t, x.names) for t in tensors]
    return named(run(call.function, call.text, [parts, 0], {}), (dim, *x.names))


def _several(call: OpCall) -> tuple[list[NamedTensor], Any]:
    arguments = dict(_signature(call.name).bind(*call.args, **call.kw).arguments)
    tensors = list(arguments["tensors"])
    if not tensors or not all(isinstance(t, NamedTensor) for t in tensors):
        raise TypeError(f"{call.text}: takes named tensors, one or more: write fb.named.tensor(x, names)")
    if "dim" not in arguments:
        raise TypeError(f"{call.text}: the dim is missing: write {call.name}(tensors, 'name')")
    return tensors, arguments["dim"]


class Matrix:
    """A rule of operations of matrices: `dims` names rows and columns; a tensor of two dims needs no dims.

    keeps: whether the result is a matrix too, or has neither dim
    """

    def __init__(self, keeps: bool):
        self.keeps = keeps

    def __call__(self, call: OpCall) -> Any:
        x, kw = call.first, dict(call.kw)
        dims = kw.pop("dims", x.names if x.ndim == 2 else ())
        if len(dims) != 2:
            raise TypeError(f"{call.text}: rows and columns are missing: write dims=('row', 'column')")
        places(x, dims, call.text)
        rest = [n for n in x.names if n not in dims]
        result = run(call.function, call.text, [ordered(x, [*rest, *dims]), *call.args[1:]], kw)

        def back(t: Tensor) -> Any:
            y = named(t, [*rest, *dims] if self.keeps else rest)
            return y.order(*x.names) if self.keeps else y

        return _map_tensors(result, back)


def created(call: OpCall) -> Any:
    """A new tensor: fb.named.zeros({"row": 3, "column": 4})."""
    sizes = [v for v in (*call.args, *call.kw.values()) if is_dict(v)]
    if len(sizes) != 1:
        example = f"{call.name}({{'row': 3, 'column': 4}})"
        raise TypeError(f"{call.text}: sizes by name are missing: write {example}")
    shape = tuple(sizes[0].values())
    args = [_plain(shape if is_dict(v) else v) for v in call.args]
    kw = {k: _plain(shape if is_dict(v) else v) for k, v in call.kw.items()}
    return named(run(call.function, call.text, args, kw), tuple(sizes[0]))


def counted(call: OpCall) -> Any:
    """arange: fb.named.arange({"row": 3}) counts along a new dim."""
    sizes = call.args[0] if call.args else None
    if not is_dict(sizes) or len(sizes) != 1:
        raise TypeError(f"{call.text}: one size by name is missing: write arange({{'row': 3}})")
    (name,) = sizes
    return named(run(call.function, call.text, [sizes[name], *call.args[1:]], call.kw), [name])


def _plain(value: Any) -> Any:
    return value.tensor if isinstance(value, NamedTensor) else value


def fact(call: OpCall) -> Any:
    """A Python value or a comparison of two whole tensors, in the order of the first one's names."""
    names = union([a for a in call.args if isinstance(a, NamedTensor)], call.text)
    args = [aligned(a, names) if isinstance(a, NamedTensor) else a for a in call.args]
    return run(call.function, call.text, args, call.kw)


def method(call: OpCall) -> Any:
    """A method of NamedTensor, in which names are the arguments."""
    x = call.first
    return getattr(x, call.name)(*call.args[1:], **call.kw)


def _laid_out(lay: Callable[..., Any]) -> Rule:
    def rule(call: OpCall) -> Any:
        return lay(call.name, call.function, call.text, call.args, call.kw)

    return rule


def _rows(words: str, rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(words.split(), rule)


ELEMENTWISE = """
    abs absolute acos acosh add addcdiv addcmul airy_ai alpha_dropout angle arccos arccosh arcsin
    arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh bernoulli bessel_j0 bessel_j1 bessel_y0
    bessel_y1 binary_cross_entropy binary_cross_entropy_with_logits binomial bitwise_and
    bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor cast ceil celu
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w clamp
    clamp_max clamp_min clip clone complex conj conj_physical copysign cos cosh deg2rad detach digamma
    div divide dropout elu empty_like entr eq erf erfc erfcx erfinv exp exp2 expm1 exponent fix
    float_power floor floor_divide fmax fmin fmod frac frexp full_like gaussian_nll_loss gcd ge gelu
    greater greater_equal gt hardshrink hardsigmoid hardswish hardtanh heaviside hermite_polynomial_h
    hermite_polynomial_he hinge_embedding_loss huber_loss hypot i0 i0e i1 i1e igamma igammac imag
    isclose isfinite isinf isnan isneginf isposinf isreal kl_div l1_loss laguerre_polynomial_l lcm ldexp
    le leaky_relu legendre_polynomial_p lerp less less_equal lgamma log log10 log1p log2 log_ndtr
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logsigmoid lt
    margin_ranking_loss masked_fill maximum minimum mish modified_bessel_k0 modified_bessel_k1 mse_loss
    mul multiply mvlgamma nan_to_num ndtr ndtri ne neg negative nextafter not_equal ones_like poisson
    poisson_nll_loss polar polygamma positive pow rad2deg rand_like randint_like randn_like real
    reciprocal relu relu6 remainder resolve_conj resolve_neg round rrelu rsqrt rsub
    scaled_modified_bessel_k0 scaled_modified_bessel_k1 selu sgn shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w shrink
    sigmoid sign signbit silu sin sinc sinh smooth_l1_loss soft_margin_loss softplus softshrink softsign
    spherical_bessel_j0 sqrt square sub subtract tan tanh tanhshrink threshold thresholded_relu
    true_divide trunc where xlog1py xlogy zeros_like zeta
"""
IN_PLACE = """
    abs_ absolute_ acos_ acosh_ add_ addcdiv_ addcmul_ arccos_ arccosh_ arcsin_ arcsinh_ arctan2_
    arctan_ arctanh_ asin_ asinh_ atan2_ atan_ atanh_ bernoulli_ bitwise_and_ bitwise_left_shift_
    bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ cauchy_ ceil_ clamp_ clamp_max_
    clamp_min_ clip_ conj_physical_ copy_ copysign_ cos_ cosh_ deg2rad_ digamma_ div_ divide_ eq_ erf_
    erfc_ erfinv_ exp2_ exp_ expm1_ exponential_ fill_ fix_ float_power_ floor_ floor_divide_ fmod_
    frac_ gcd_ ge_ geometric_ greater_ greater_equal_ gt_ heaviside_ hypot_ i0_ igamma_ igammac_ lcm_
    ldexp_ le_ lerp_ less_ less_equal_ lgamma_ log10_ log1p_ log2_ log_ log_normal_ logical_and_
    logical_not_ logical_or_ logical_xor_ logit_ lt_ masked_fill_ mul_ multiply_ mvlgamma_ nan_to_num_
    ne_ neg_ negative_ nextafter_ normal_ not_equal_ polygamma_ pow_ rad2deg_ random_ reciprocal_ relu_
    remainder_ round_ rsqrt_ sgn_ sigmoid_ sign_ sin_ sinc_ sinh_ sqrt_ square_ sub_ subtract_ tan_
    tanh_ true_divide_ trunc_ uniform_ xlogy_ zero_
"""
REDUCE = """
    all amax amin aminmax any count_nonzero logsumexp max mean median min nanmean nanmedian nansum prod
    std std_mean sum var var_mean linalg_vector_norm
"""
ALONG = """
    argsort cummax cummin cumprod cumsum cumulative_trapezoid diff fft_fft fft_hfft fft_ifft fft_ihfft
    fft_irfft fft_rfft gather glu gumbel_softmax index_add index_copy index_fill index_select
    log_softmax logcumsumexp narrow normalize quiet_softmax repeat_interleave scatter scatter_add
    scatter_reduce softmax softmin sort swiglu take_along_dim topk split chunk tensor_split fft_fftn
    fft_fftshift fft_hfftn fft_ifftn fft_ifftshift fft_ihfftn fft_irfftn fft_rfftn fft_fft2 fft_ifft2
    fft_rfft2 fft_irfft2 fft_hfft2 fft_ihfft2 index_reduce renorm linalg_cross cross
"""
SPATIAL = """
    avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d lp_pool1d lp_pool2d lp_pool3d
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    interpolate upsample dropout1d dropout2d dropout3d feature_alpha_dropout max_unpool1d max_unpool2d
    max_unpool3d
"""
RULES: dict[str, Rule] = {
    **_rows(ELEMENTWISE, elementwise),
    **_rows(IN_PLACE, in_place),
    **_rows(REDUCE, Along(keeps=False, whole=True)),
    **_rows("argmax argmin kthvalue mode quantile nanquantile select unbind trapezoid", Along(keeps=False)),
    **_rows("linalg_vecdot cosine_similarity", Along(keeps=False)),
    **_rows(ALONG, Along()),
    **_rows("flip", Along("dims")),
    **_rows("roll", Along("dims")),
    **_rows("dot matmul mm bmm mv inner vdot tensordot", contraction),
    **_rows("cat", joined),
    **_rows("stack", stacked),
    **_rows(
        "tril triu linalg_inv cholesky linalg_cholesky cholesky_inverse matrix_exp matrix_power", Matrix(True)
    ),
    **_rows("linalg_matrix_exp linalg_matrix_power", Matrix(True)),
    **_rows("logdet linalg_det linalg_slogdet trace linalg_cond linalg_matrix_rank", Matrix(False)),
    **_rows("linalg_matrix_norm", Matrix(False)),
    **_rows(
        "zeros ones empty full rand randn randint uniform exponential gumbel laplace log_normal", created
    ),
    **_rows("cauchy geometric normal new_zeros new_ones new_empty new_full", created),
    **_rows("arange", counted),
    **_rows("allclose equal is_conj is_neg is_inference is_set_to", fact),
    **_rows("flatten unflatten expand rearrange reduce repeat", method),
    **_rows("permute", _laid_out(layouts.permute)),
    **_rows("transpose swapaxes swapdims", _laid_out(layouts.transpose)),
    **_rows("squeeze", _laid_out(layouts.squeeze)),
    **_rows("unsqueeze", _laid_out(layouts.unsqueeze)),
    **_rows("pad", _laid_out(layouts.pad)),
    **_rows("unfold tensor_unfold", _laid_out(layouts.unfold)),
    **_rows("layer_norm rms_norm", _laid_out(layouts.normalise)),
    **_rows(SPATIAL, _laid_out(layouts.spatial)),
    **_rows("batch_norm instance_norm group_norm local_response_norm", _laid_out(layouts.spatial)),
    **_rows("pixel_shuffle pixel_unshuffle", _laid_out(layouts.spatial)),
    **_rows("cross_entropy nll_loss", _laid_out(layouts.class_loss)),
    **_rows("prelu", _laid_out(layouts.prelu)),
    **_rows("embedding", _laid_out(layouts.embedding)),
    **_rows("one_hot", _laid_out(layouts.one_hot)),
    **_rows("scaled_dot_product_attention", _laid_out(layouts.attention)),
    **_rows("bucketize isin", _laid_out(layouts.looked_up)),
}
# other names of operations: methods of tensors
SAME_AS = {"det": "linalg_det", "inverse": "linalg_inv", "slogdet": "linalg_slogdet"}
RULES.update({alias: RULES[name] for alias, name in SAME_AS.items()})


def call(name: str, /, *args: Any, **kw: Any) -> Any:
    """OpCall an operation by its name with named tensors.

    name: the operation, as "softmax"
    args: its arguments, dims by name
    kw: those by name
    Raises TypeError for an operation without a rule, with what to write instead.
    """
    rule = RULES.get(name)
    if rule is None:
        sentence = REFUSED.get(name) or (in_place_refusal(name) if name.endswith("_") else "")
        raise TypeError(
            f"{shown_call(name, args, kw)}: {sentence or 'no such operation' + suggest(name, RULES)}"
        )
    name = SAME_AS.get(name, name)
    function = COMPOSED.get(name) or OPS.get(name) or getattr(Tensor, name, None)
    return rule(OpCall(name, function or _missing, args, kw))


def _missing(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


METHODS["call"] = call
known.update(RULES, REFUSED)

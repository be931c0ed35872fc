"""Turns the op table and the package's signatures into stubs (.pyi) beside the modules that are filled at run
time, which editors and type checkers cannot read otherwise.

python scripts/write_stubs.py            # writes them
python scripts/write_stubs.py --check    # exit code 1 where one is not as it would be written
"""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import flambeau as fb
from flambeau import array_api, functions, nn, ops
from flambeau.core.op import COMPOSED, OPS, Op
from flambeau.nn import activation, loss, pool, stateless
from flambeau.ops import polynomials
from flambeau.ops.inplace import METHODS, SHAPED
from flambeau.runtime.exchange import Exchange
from flambeau.runtime.protocols import Protocols
from flambeau.tensor import Plans
from flambeau.tensor import own as own_node

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "flambeau"
COMMAND = "python scripts/write_stubs.py"

# --- types of arguments and results, where the signatures do not say them ---

VALUE = "Tensor | float | HostScalar"  # what stands beside a tensor and is broadcast
NUMBER = "float | HostScalar"
SIZES = "int | Sequence[int]"
DTYPE = "DType | type[Any] | str"

# type: the arguments that have it, whichever function takes them
BY_TYPE = {
    "Tensor": "input x x1 x2 y z A B L LD LU LU_data LU_pivots a b abs angle anchor attn_mask aweights"
    " batch1 batch2 bias boundaries condition elements fweights grid imag index indices input1 input2 key"
    " log_probs logits mask mat mat1 mat2 negative offset offsets other per_sample_weights pivots pos_weight"
    " positive query real rows running_mean running_var sorted_sequence sorter source src table target"
    " targets tau tensor tensor1 tensor2 theta updates vec vec1 vec2 weight weights window",
    VALUE: "exponent max min end values rhs q",
    NUMBER: "alpha beta fill_value scale softcap start step",
    SIZES: "dilation dim dims kernel_size normalized_shape output_padding output_size pad padding s shape"
    " shifts sizes size stride indices_or_sections repeats",
    "Sequence[Tensor]": "tensors",
    "bool": "ceil_mode count_include_pad requires_grad return_indices",
    "float": "atol dx norm_type p rtol tol",
    "int": "bins divisor_override",
    "int | float | str": "ord",
    "str": "equation side",
    "Tensor | Sequence[int]": "input_lengths logit_lengths target_lengths",
    "Tensor | float": "prepend append",
    "Generator": "generator",
    DTYPE: "dtype to",
}
BY_NAME = {name: text for text, names in BY_TYPE.items() for name in names.split()}
BY_NAME |= {"append": "Tensor", "prepend": "Tensor", "device": "Any", "size": SIZES}
OPERATORS = "pow rsub rtruediv rpow rmod rfloordiv rlshift rrshift"
POLYNOMIALS = tuple(polynomials.NAMED)
# (function, argument): its type, where that is not what the argument's name says
EXACT = {
    **{(name, "padding"): "int | Sequence[int] | str" for name in ("conv1d", "conv2d", "conv3d")},
    **{(name, "other"): VALUE for name in ("add", "div", "fmax", "fmin", "isclose", "rsub", "sub", "where")},
    **{(f"__{name}__", "other"): VALUE for name in OPERATORS.split()},
    **{(name, "self"): VALUE for name in ("add", "div", "pow", "sub", "float_power")},
    **{(name, "size"): "int | Sequence[int]" for name in ("interpolate", "upsample")},
    **{
        (name, n): SIZES
        for name in ("as_strided", "as_strided_", "as_strided_scatter")
        for n in ("size", "stride")
    },
    **{(name, "split_sizes"): "Sequence[int]" for name in ("split_with_sizes", "unsafe_split_with_sizes")},
    **{("binomial", name): "Tensor | float" for name in ("count", "prob")},
    **{(name, "index"): "int" for name in ("select", "select_scatter")},
    **{(name, "src"): VALUE for name in ("scatter", "slice_scatter", "select_scatter", "diagonal_scatter")},
    **{(name, "value"): VALUE for name in ("index_fill", "masked_fill", "slice_assign")},
    **{(name, "weight"): "Quantized" for name in ("quantized_linear",)},
    **{(name, "dims"): "int | Sequence[Sequence[int]]" for name in ("tensordot",)},
    **{(name, "bins"): "int | Tensor" for name in ("histogram",)},
    **{(name, "input"): "Tensor | float" for name in ("bucketize", "searchsorted")},
    **{(name, "operands"): "Any" for name in ("einsum",)},
    **{(name, "start"): "int | Tensor | HostScalar" for name in ("put_rows", "scaled_dot_product_attention")},
    **{(name, "divisor_override"): "int" for name in ("avg_pool2d", "avg_pool3d")},
    ("scaled_dot_product_attention", "value"): "Tensor",
    ("__getitem__", "key"): "Any",
    ("__setitem__", "key"): "Any",
    ("__setitem__", "value"): VALUE,
    ("where", "input"): VALUE,
    ("new_empty_strided", "size"): SIZES,
    ("new_empty_strided", "stride"): SIZES,
    ("as_strided_scatter", "src"): "Tensor",
    ("is_set_to", "tensor"): "Tensor",
    ("narrow_copy", "out"): "Tensor",
    ("arange", "end"): "float",
    ("arange", "start"): "float",
    ("arange", "step"): "float",
    ("full", "size"): SIZES,
    ("gather_nd", "indices"): "Tensor",
    ("heaviside", "values"): VALUE,
    ("lobpcg", "X"): "Tensor",
    ("lobpcg", "k"): "int",
    ("lobpcg", "n"): "int",
    ("histogramdd", "bins"): "int | Sequence[int] | Sequence[Tensor]",
    ("histogramdd", "range"): "Sequence[float]",
    ("index_put", "indices"): "Sequence[Tensor | None]",
    ("index_put", "values"): VALUE,
    ("interpolate", "scale_factor"): "float | Sequence[float]",
    ("upsample", "scale_factor"): "float | Sequence[float]",
    ("lerp", "weight"): VALUE,
    ("linalg_cond", "p"): "float | str",
    ("linalg_norm", "ord"): "float | str",
    ("linalg_matrix_norm", "ord"): "float | str",
    ("linalg_vector_norm", "ord"): "float",
    ("linalg_multi_dot", "tensors"): "Sequence[Tensor]",
    ("movedim", "destination"): SIZES,
    ("movedim", "source"): SIZES,
    ("normal", "mean"): "Tensor | float",
    ("normal", "std"): "Tensor | float",
    ("norm", "p"): "float | str",
    ("new_tensor", "data"): "Any",
    ("polygamma", "n"): "int | Tensor",
    ("polygamma", "input"): "int | Tensor",
    **{(name, "n"): "int | Tensor" for name in POLYNOMIALS},
    **{(name, "input"): "Tensor | float" for name in POLYNOMIALS},
    ("quantile", "q"): "float | Tensor",
    ("nanquantile", "q"): "float | Tensor",
    ("repeat_interleave", "repeats"): "int | Tensor",
    ("searchsorted", "right"): "bool",
    ("signal_windows_exponential", "center"): "float",
    ("signal_windows_general_cosine", "a"): "Sequence[float]",
    ("slice_assign", "key"): "Any",
    ("split", "split_size"): SIZES,
    ("tensor_split", "indices_or_sections"): "int | Sequence[int] | Tensor",
    ("triplet_margin_with_distance_loss", "distance_function"): "Callable[[Tensor, Tensor], Tensor]",
    ("histogram", "range"): "tuple[float, float]",
    ("fill_", "value"): VALUE,
    ("bernoulli_", "p"): "Tensor | float",
    ("forward", "var"): "Tensor | float",
    ("gaussian_nll_loss", "var"): "Tensor | float",
    ("isin", "test_elements"): VALUE,
    ("chain_matmul", "matrices"): "Tensor",
    ("clamp_max", "max"): VALUE,
    ("clamp_min", "min"): VALUE,
    ("hermitian", "n"): "int",
}
TENSORS, PAIR = "tuple[Tensor, ...]", "tuple[Tensor, Tensor]"
# what an operation gives, where that is not one tensor: the operations
BY_RESULT = {
    TENSORS: "broadcast_tensors chunk dsplit gradient hsplit meshgrid split tensor_split unbind unravel_index"
    " vsplit",
    PAIR: "std_mean var_mean",
    "Chosen": "cummax cummin kthvalue mode sort topk",
    "MantissaExponent": "frexp",
    "HistogramEdges": "histogram",
    "Quantized": "quantize",
    "Extremes": "aminmax",
    "Geqrf": "geqrf",
    "QR": "linalg_qr qr",
    "SVD": "linalg_svd",
    "SVDTopLevel": "svd",
    "Eigh": "linalg_eigh",
    "SignLogDet": "linalg_slogdet slogdet",
    "LU": "linalg_lu lu_unpack",
    "LUFactor": "linalg_lu_factor",
    "LUFactorEx": "linalg_lu_factor_ex",
    "InverseEx": "linalg_inv_ex",
    "SolveEx": "linalg_solve_ex",
    "CholeskyEx": "linalg_cholesky_ex",
    "LeastSquares": "linalg_lstsq",
}
RESULTS = {name: result for result, names in BY_RESULT.items() for name in names.split()}


def pooled(arguments: str, last: str = "") -> list[str]:
    """The forms of a pool: the places of the values come with them where they are asked for by name."""
    return [
        f"(@, {arguments}, return_indices: Literal[False] = False{last}) -> Tensor",
        f"(@, {arguments}, *, return_indices: Literal[True]{last}) -> {PAIR}",
    ]


def listed(first: str = "") -> list[str]:
    """The forms of unique: a tensor, and one more for each of what is asked for by name."""
    forms = []
    for asked in ((), ("return_inverse",), ("return_counts",), ("return_inverse", "return_counts")):
        words = [
            f"{name}: Literal[{name in asked}]" + (" = False" if name not in asked else "")
            for name in ("return_inverse", "return_counts")
        ]
        result = f"tuple[{', '.join(['Tensor'] * (1 + len(asked)))}]" if asked else "Tensor"
        forms.append(
            f"(@, {first}{'*, ' if asked else ''}{', '.join(words)}, dim: int | None = None) -> {result}"
        )
    return forms


WINDOWS = (
    "kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,"
    " padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1"
)
BY_DIM = ["(@) -> Tensor", "(@, dim: int, keepdim: bool = False) -> Chosen"]
# the forms of an operation after its first argument, where its result depends on what is asked for
OVERLOADS = {
    **dict.fromkeys(("max", "min", "median", "nanmedian"), BY_DIM),
    **{f"max_pool{n}d": pooled(WINDOWS, ", ceil_mode: bool = False") for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": pooled("output_size: int | Sequence[int | None] | None") for n in (1, 2, 3)},
    **{
        f"atleast_{n}d": ["(tensors: Tensor, /) -> Tensor", f"(*tensors: Any) -> {TENSORS}"]
        for n in (1, 2, 3)
    },
    "nonzero": [
        "(@, as_tuple: Literal[False] = False, *, size: int | None = None, fill_value: int = 0) -> Tensor",
        f"(@, as_tuple: Literal[True], *, size: int | None = None, fill_value: int = 0) -> {TENSORS}",
    ],
    "size": ["(@) -> tuple[int, ...]", "(@, dim: int) -> int"],
    "unique": listed("sorted: bool = True, "),
    "unique_consecutive": listed(),
}
# --- a signature as text ---

# the module that a stub takes a name from
HOMES = {
    "DType": "core.dtype", "FloatInfo": "core.dtype", "IntInfo": "core.dtype", "Data": "core.host",
    "Gradients": "autodiff.backward", "RemovableHandle": "core.handle", "Generator": "ops.random",
    "Quantized": "ops.quantized",
    "Chosen": "ops.index.indices", "MantissaExponent": "ops.numeric", "HistogramEdges": "ops.sort.histogram",
    "Extremes": "ops.reduce", "LeastSquares": "ops.linalg.norms", "Module": "nn.module",
    "Reading": "functions", "Plans": "tensor", "HostScalar": "tensor", "Tensor": "tensor",
    **dict.fromkeys(("LU", "LUFactor", "LUFactorEx", "InverseEx", "SolveEx", "SignLogDet"), "ops.linalg.lu"),
    **dict.fromkeys(("QR", "CholeskyEx", "Eigh", "SVD", "SVDTopLevel", "Geqrf"), "ops.linalg.decompose"),
}  # fmt: skip
# names of Python's that are dtypes or methods in the package
HIDDEN = "bool float int"
# names of Python's libraries
OUTSIDE = {"collections.abc": "Awaitable Callable Iterator Sequence", "typing": "Any Literal overload"}


def words_of(text: str) -> str:
    """A type in the words of a stub, without modules, and with Python's own `int` as `_int`."""
    text = re.sub(r"\b(?:[a-z_]+\.)+([A-Za-z_]+)\b", r"\1", text)
    text = re.sub(r"\bNode\b", "Any", text)  # the graph is no user's to type
    return re.sub(rf"\b({'|'.join(HIDDEN.split())})\b(?!\()", r"_\1", text)


def as_text(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def type_of(name: str, p: inspect.Parameter) -> str:
    """The type of an argument of an operation."""
    told = EXACT.get((name, p.name))
    if told is None and p.annotation is not p.empty:
        return words_of(as_text(p.annotation))
    if told is None:
        told = BY_NAME.get(p.name) or ("Any" if p.default in (p.empty, None) else type(p.default).__name__)
    optional = p.default is None and told != "Any"
    return words_of(told) + (" | None" if optional else "")


def default_of(p: inspect.Parameter) -> str:
    if p.default is p.empty:
        return ""
    text = repr(p.default)
    is_plain = isinstance(p.default, bool | int | float | str | tuple | None)
    return f" = {text}" if is_plain and not re.search("inf|nan|<|[0-9]{6}", text) else " = ..."


STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def argument(name: str, p: inspect.Parameter) -> str:
    return f"{STARS.get(p.kind, '')}{p.name}: {type_of(name, p)}{default_of(p)}"


def arguments(given: list[inspect.Parameter], told: list[str]) -> str:
    """Arguments, told one by one, with the marks / and * between them."""
    out = []
    for before, p, text in zip([None, *given], given, told):
        kind = before.kind if before else None
        if kind is p.POSITIONAL_ONLY is not p.kind:
            out.append("/")
        if p.kind is p.KEYWORD_ONLY and kind not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            out.append("*")
        out.append(text)
    return ", ".join([*out, "/"] if given and given[-1].kind is inspect.Parameter.POSITIONAL_ONLY else out)


UNTOLD = {"__init__": "None", "__setitem__": "None"}  # results that nobody writes down


def is_operation(entry: Any) -> bool:
    return isinstance(entry, Op) or entry.__module__.startswith("flambeau.ops.")


def parameters(entry: Any) -> tuple[list[inspect.Parameter], str]:
    """(arguments, what it gives) of an op or a function."""
    if isinstance(entry, Op) and entry.prepare is None:
        plain, kind = len(entry.operand_names) == 1, inspect.Parameter.POSITIONAL_OR_KEYWORD
        operand = "Tensor" if plain else VALUE
        return [inspect.Parameter(n, kind, annotation=operand) for n in entry.operand_names], "Tensor"
    found = inspect.signature(entry.prepare if isinstance(entry, Op) else entry)
    given = list(found.parameters.values())
    if found.return_annotation is found.empty or isinstance(entry, Op):
        return given, UNTOLD.get(getattr(entry, "__name__", ""), "Tensor" if is_operation(entry) else "Any")
    told = found.return_annotation
    return given, as_text(told)


def table_name(entry: Any, name: str) -> str:
    """What the tables above call an entry; a method in place takes what its op takes."""
    if base := (METHODS | SHAPED).get(name):
        return table_name(getattr(fb.Tensor, base), base)
    own = entry.name if isinstance(entry, Op) else getattr(entry, "__name__", name)
    return own if own in OPS or own in COMPOSED else name


def told_of(own: str, given: list[inspect.Parameter], method: bool) -> list[str]:
    """Each argument as text; the first is `self` of a method, and a function calls it `input`."""
    told = [argument(own, p) for p in given]
    if given and given[0].name == "self":
        told[0] = "self" if method else f"input: {words_of(EXACT.get((own, 'self'), 'Tensor'))}"
    return ["self", *told[1:]] if method and given[0].kind not in STARS else told


def forms(entry: Any, name: str, method: bool) -> list[str]:
    """The texts `(arguments) -> result` of an entry's forms."""
    own = table_name(entry, name)
    given, result = parameters(entry)
    told = told_of(own, given, method)
    if own in OVERLOADS:
        return [words_of(form).replace("@", told[0]) for form in OVERLOADS[own]]
    return [f"({arguments(given, told)}) -> {words_of(RESULTS.get(own, result))}"]


# --- definitions ---


def documented(text: str | None) -> str:
    """A docstring as it stands in a stub."""
    told = inspect.cleandoc(text or "").replace("\\", "\\\\")
    return f'"""{told}{" " if told.endswith(chr(34)) else ""}"""' if told else ""


def doc_of(entry: Any) -> str | None:
    return entry.doc if isinstance(entry, Op) else entry.__doc__


def indented(text: str) -> str:
    return re.sub(r"\n(?!\n)", "\n    ", text)


def function(name: str, entry: Any, method: bool = False, mark: str = "") -> str:
    """A function's definition, or several marked @overload, of which the first has the docstring."""
    told, doc = forms(entry, name, method), documented(doc_of(entry))
    marks = mark + ("@overload\n" if len(told) > 1 else "")
    word = "async def" if inspect.iscoroutinefunction(entry) else "def"
    bodies = [f"\n    {indented(doc)}" if doc else " ...", *[" ..."] * (len(told) - 1)]
    return "\n".join(f"{marks}{word} {name}{form}:{body}" for form, body in zip(told, bodies, strict=True))


def getter(name: str, value: property) -> str:
    result = words_of(parameters(value.fget)[1])
    body = documented(value.fget.__doc__) or "..."
    out = f"@property\ndef {name}(self) -> {result}:\n    {indented(body)}"
    return out + (f"\n@{name}.setter\ndef {name}(self, value: {result}) -> None: ..." if value.fset else "")


def member(name: str, value: Any) -> str:
    if isinstance(value, property):
        return getter(name, value)
    if isinstance(value, staticmethod):
        return function(name, value.__func__, mark="@staticmethod\n")
    return function(name, value, method=True)


UNSEEN = ("__hash__", "__new__", "__init_subclass__")


def is_public(name: str) -> bool:
    return name[0] != "_" or name[:2] == "__"


def members(owners: list[type]) -> Iterator[tuple[str, Any]]:
    """(name, value) of what is called on an instance, the first owner's where several have it."""
    seen = set(UNSEEN)
    for owner in owners:
        for name, value in vars(owner).items():
            is_member = isinstance(value, property | staticmethod | Op) or inspect.isfunction(value)
            if is_member and name not in seen:
                seen.add(name)
                yield name, value


def class_of(cls: type, found: list[tuple[str, Any]], base: str = "", fields: tuple[str, ...] = ()) -> str:
    """A class's definition with these members."""
    body = [documented(cls.__doc__), *fields, *(member(name, value) for name, value in found)]
    lines = "\n".join(part for part in body if part)
    return f"class {cls.__name__}{f'({base})' if base else ''}:\n    {indented(lines)}"


# --- modules: the lines of each stub ---


def imports(stub: str, depth: int) -> list[str]:
    """Every import that a stub may need; ruff takes out those that it does not."""
    dots, own = "." * depth, stub.replace("/", ".").removesuffix(".__init__")
    return [
        *(f"from builtins import {name} as _{name}" for name in HIDDEN.split()),
        *(f"from {home} import {name}" for home, names in OUTSIDE.items() for name in names.split()),
        *(
            f"from {dots}{home} import {name}"
            for name, home in HOMES.items()
            if not f"{home}.".startswith(f"{own}.")
        ),
    ]


def functions_of(found: dict[str, Any]) -> list[str]:
    """Functions, and the list of their names."""
    return [f"__all__ = {sorted(found)!r}", *(function(name, f) for name, f in sorted(found.items()))]


def listed_in(module: Any) -> list[str]:
    return functions_of({name: getattr(module, name) for name in module.__all__})


def of_functions() -> list[str]:
    reading = functions.Reading
    return [*listed_in(functions), class_of(reading, list(members([reading])), "Sequence[Any]")]


def of_tensor() -> list[str]:
    """Tensor with the members of all its families; the few privates are those that the package calls."""
    own = [fb.Tensor, Protocols, Exchange]
    families = [*own, *ops.FAMILIES]
    mine = dict(members(own))
    found = [(name, v) for name, v in members(families) if is_public(name) or name in mine]
    found = [
        (n, v) for n, v in found if n != "__getattr__" and getattr(v, "fget", v)
    ]  # names that only raise
    host = fb.HostScalar
    return [
        class_of(host, list(members([host])), fields=("_value: Any",)),
        class_of(fb.Tensor, found, fields=("node: Any", "link: Any")),
        class_of(Plans, list(members([Plans])), "list[Any]", ("text: str",)),
        function("own", own_node),
        function("tensor", fb.tensor),
    ]


def of_signal() -> list[str]:
    """`windows` is a value with functions: a class that nobody makes an instance of says the same."""
    found = sorted(vars(fb.signal.windows).items())
    body = "\n".join(function(name, f, mark="@staticmethod\n") for name, f in found)
    return [f"__all__ = {fb.signal.__all__!r}", f"class windows:\n    {indented(body)}"]


def layer_of(name: str, cls: type) -> str:
    """A layer that is made of a function: its settings are attributes, and calling it is forward."""
    settings = [p for p in inspect.signature(cls).parameters.values() if p.name != "inplace"]
    fields = tuple(f"{p.name}: {type_of(name, p)}" for p in settings)
    found = {"__init__": cls.__init__, "forward": cls.forward, "__call__": cls.forward}
    return class_of(cls, list(found.items()), "Module", fields)


def layers_in(module: Any) -> Callable[[], list[str]]:
    """The layers that a module makes from its table."""
    made = {n: v for n, v in vars(module).items() if isinstance(v, type) and hasattr(v, "__signature__")}
    return lambda: [layer_of(name, cls) for name, cls in made.items()]


def of_array_api() -> list[str]:
    """The standard's functions and constants."""
    public = {name: v for name, v in vars(array_api).items() if name[0] != "_" and name != "tensor"}
    found = {name: v for name, v in public.items() if isinstance(v, Op) or inspect.isfunction(v)}
    kinds = {name: type(v) for name, v in public.items() if isinstance(v, float | fb.DType | None)}
    told = [f"{name}: {words_of(kind.__name__.replace('NoneType', 'None'))}" for name, kind in kinds.items()]
    spaces = ["from . import fft as fft", "from . import linalg as linalg"]
    spaces += ["from .searching import All, Counts, Inverse", "__array_api_version__: str"]
    return [*spaces, *told, *(function(name, f) for name, f in sorted(found.items()))]


def of_package() -> list[str]:
    """What the package's own __init__ imports, and its functions, each as a name that it hands on."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    out = []
    for statement in ast.walk(tree):
        if isinstance(statement, ast.ImportFrom) and statement.level:
            for alias in statement.names:
                name = alias.asname or alias.name
                if name in fb.__all__:
                    out.append(f"from .{statement.module or ''} import {alias.name} as {name}")
    out += [f"from .functions import {name} as {name}" for name in functions.__all__]
    return [*out, "__version__: str", f"__all__ = {fb.__all__!r}"]


def of_nn() -> list[str]:
    """The layers of its table, each handed on from its module."""
    layers = [
        f"from .{module} import {name} as {name}"
        for module, names in nn.LAYERS.items()
        for name in names.split()
    ]
    spaces = [f"from . import {name} as {name}" for name in ("functional", "init", "utils")]
    return [*spaces, *layers, "LAYERS: dict[str, str]", f"__all__ = {nn.__all__!r}"]


# stub: (where the package lies from it, what makes its lines)
STUBS: dict[str, tuple[int, Callable[[], list[str]]]] = {
    "__init__": (1, of_package),
    "array_api/__init__": (2, of_array_api),
    "fft": (1, lambda: listed_in(fb.fft)),
    "functions": (1, of_functions),
    "linalg": (1, lambda: listed_in(fb.linalg)),
    "nn/__init__": (2, of_nn),
    "nn/activation": (2, layers_in(activation)),
    "nn/functional": (2, lambda: listed_in(fb.nn.functional)),
    "nn/loss": (2, layers_in(loss)),
    "nn/pool": (2, layers_in(pool)),
    "nn/stateless": (2, layers_in(stateless)),
    "signal": (1, of_signal),
    "special": (1, lambda: listed_in(fb.special)),
    "tensor": (1, of_tensor),
}
RUFF = [sys.executable, "-m", "ruff"]
TIDY = ["check", "--fix", "--quiet", "--select", "I,F401,F811"], ["format", "--quiet"]


def stub(name: str) -> str:
    """The text of a stub, laid out by ruff."""
    depth, make = STUBS[name]
    module = import_module(".".join(["flambeau", *(part for part in name.split("/") if part != "__init__")]))
    text = "\n".join(
        [documented(f"{module.__doc__}\n\nMade by `{COMMAND}`."), *imports(name, depth), *make()]
    )
    for step in TIDY:
        call = [*RUFF, *step, "--stdin-filename", str(SOURCE / f"{name}.pyi"), "-"]
        done = subprocess.run(call, input=text, capture_output=True, text=True)
        assert not done.returncode, f"{name}.pyi: {done.stdout[-2000:]}{done.stderr}"
        text = done.stdout
    return text


def main(given: list[str]) -> int:
    stale = []
    for name in STUBS:
        path, text = SOURCE / f"{name}.pyi", stub(name)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.relative_to(ROOT).as_posix())
            if "--check" not in given:
                path.write_text(text, encoding="utf-8")
    print(f"{'stale' if '--check' in given else 'written'}: {', '.join(stale) or 'nothing'}")
    return int(bool(stale) and "--check" in given)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

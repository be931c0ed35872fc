"""Turns docstrings into what `help` has to say: each argument that is not plain, and what is raised."""

import ast
import builtins
import inspect
import pydoc
import re
import textwrap
from enum import Enum
from typing import Any

import pytest
from helpers import distributed_calls
from helpers.scripts import script

import flambeau as fb
from flambeau import distributed as dist
from flambeau import errors as own_errors
from flambeau.core.help import doc_of
from flambeau.core.op import Op
from flambeau.learner import Interpretation
from flambeau.nn.function_layer import FunctionLayer

pytestmark = pytest.mark.usefixtures("uncollected")

docs = script("write_docs")

# what everybody knows, or what the formula of the first sentence says
PLAIN = {
    *("self", "args", "kwargs", "_args", "_kw", "kw", "input", "other", "x", "y", "z", "n", "a", "b"),
    *("tensor", "tensors", "weight", "bias", "dim", "dims", "keepdim", "dtype", "device", "shape", "size"),
    *("requires_grad", "generator", "inplace"),
}
# Arguments that no docstring explains yet, by module: this may only become less.
MUTE = {
    "flambeau": "DType.format DType.kind DType.name DType.rank DType.short SavedProgram.source Tensor.node",
    "flambeau.export": "SavedProgram.source",
}
# Functions and classes that raise an error, or call what raises one, and do not say so: this may only become
# less. These call what raises none for what they give it.
SILENT = {
    "flambeau": "angle isreal logcumsumexp nonzero qr",
    "flambeau.nn.utils": "merge_lora",
    "flambeau.distributed": "current_group",
}


def called(module: str) -> dict[str, object]:
    found = docs.members(docs.MODULES[module]).items()
    return {name: e for name, e in found if callable(e) and not (isinstance(e, Op) and e.prepare is None)}


def unexplained(module: str) -> list[str]:
    """`function.argument` of each argument that is not plain and not named in its docstring."""
    out = []
    for name, entry in called(module).items():
        if isinstance(entry, type) and issubclass(entry, Enum):  # whose members are named, not called
            continue
        try:
            found = inspect.signature(docs.called(entry))
        except ValueError:  # exceptions
            continue
        names = [p for p in found.parameters if p not in PLAIN]
        out += [f"{name}.{p}" for p in names if not re.search(rf"\b{p}\b", doc_of(entry))]
    return sorted(out)


def body_of(entry):
    """The function, of an op or a class too, and its syntax tree; None where that is not to be had."""
    if isinstance(entry, type) and issubclass(entry, FunctionLayer):
        return None  # a function, which speaks for it
    f = entry.prepare if isinstance(entry, Op) else entry.__init__ if isinstance(entry, type) else entry
    try:
        return inspect.unwrap(f), ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(f))))
    except (OSError, TypeError):
        return None


def errors_in(tree: ast.AST) -> set[str]:
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc]
    names = [ast.unparse(e.func if isinstance(e, ast.Call) else e) for e in raised]
    return {name for name in names if name in ERRORS}


def errors_of(entry) -> set[str]:
    """The errors in the body of a function, or of a class's __init__, and of the functions that it calls."""
    found = body_of(entry)
    if found is None:
        return set()
    f, tree = found
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    inner = [f.__globals__.get(name) for name in sorted(called)]
    trees = [body_of(g) for g in inner if inspect.isfunction(g) and g.__module__.startswith("flambeau")]
    return errors_in(tree).union(*(errors_in(t) for _, t in filter(None, trees)))


OURS = ("FlambeauError", "DeviceError", "DistributedError")  # classes that Python does not have
ERRORS = {"ValueError", "TypeError", "IndexError", "KeyError", *OURS}


def error_of(clause: str) -> type[Exception]:
    """The class of "ValueError if ..."; of two classes with a name Python's, which ours is derived from."""
    name = clause.split()[0]
    return getattr(own_errors if name in OURS else builtins, name)


def silent(module: str) -> list[str]:
    return sorted(
        name for name, entry in called(module).items() if errors_of(entry) and "Error" not in doc_of(entry)
    )


# Public functions and classes that take arguments by any name, with the reason: all others name each option.
ANY_NAME = {
    "those of the function that is called": "check checkpoint drift inspect sanitize watch",
    "those of the model that is called": "split summary",
    "those of generate": "Chat chat",
    "those of the class that is made": "skip_init",
    "those of the op that is compared": "check_op",
    "PyTorch's has no other, and takes any": "Function Identity Module RNNBase",
    "datasets by any name, as PyTorch's": "StackDataset",
    "curves by any name": "plot",
}


# Methods with such arguments: the same reasons.
ANY_NAME_METHODS = {
    "those of generate": "Chat.reply Chat.stream Decoder.generate Decoder.stream",
    "those of a template": "Chat.prompt ChatTemplate.render",
    "those of the model, program or function": "AveragedModel.__call__ DataParallel.forward Module.__call__"
    " Module.compile Module.forward SavedProgram.__call__ OnnxModel.forward",
    "those of the user's forward and derivatives": "Function.__call__ Function.apply Function.backward"
    " Function.forward Function.vjp",
    "those of the metric's update, or of each metric's": "IterationSpeed.update_amount LearningRate.update"
    " Metric.__call__ Metric.forward Metric.update MetricCollection.__call__ MetricCollection.forward"
    " MetricCollection.update",
    "those of the optimizer's step": "GradScaler.step",
}


def takes_any_name(entry) -> bool:
    parameters = inspect.signature(docs.called(entry)).parameters.values()
    return any(p.kind is p.VAR_KEYWORD for p in parameters)


def methods_with_any_name(owner: type) -> list[str]:
    own = {n: getattr(f, "__func__", f) for n, f in vars(owner).items() if n[0] != "_" or n == "__call__"}
    return [f"{owner.__name__}.{n}" for n, f in own.items() if inspect.isfunction(f) and takes_any_name(f)]


def test_every_option_is_a_parameter():
    """In the signature, so that help() and an editor's hover show it with its type and default."""
    builtin = (list, BaseException)  # whose classes have no signature of their own
    entries = {
        f"{module}.{name}": entry
        for module in docs.MODULES
        if module != "flambeau.metrics.functional"  # each has the parameters of its class
        for name, entry in called(module).items()
        if inspect.isroutine(entry) or (isinstance(entry, type) and not issubclass(entry, builtin))
    }
    loose = {name.rpartition(".")[2] for name, entry in entries.items() if takes_any_name(entry)}
    methods = {m for e in entries.values() if isinstance(e, type) for m in methods_with_any_name(e)}
    for reasons in (ANY_NAME, ANY_NAME_METHODS):
        print(
            "arguments by any name:", *(f"{reason}: {names}" for reason, names in reasons.items()), sep="\n"
        )
    assert sorted(loose) == sorted(" ".join(ANY_NAME.values()).split())
    assert sorted(methods) == sorted(" ".join(ANY_NAME_METHODS.values()).split())


# Public parameters of type Any, with the reason: rows may only go.
ANY_TYPE = {
    "data of any library or form": """
        Columns columns; DataLoader dataset; as_tensor data; default_convert data; from_dlpack
        ext_tensor; from_numpy ndarray; Tensor.new_tensor data; tensor data; is_tensor obj; Mapped.apply
        value; TableEncoder.dataset rows; TableEncoder.fit rows; TableEncoder.forward rows; assert_close
        actual; assert_close expected; check_close got; check_close want; RemoteDevice.take payload;
        RemoteDevice.write data; load path_or_bytes; export example; save_program example_inputs;
        generate input_ids; Decoder.generate input_ids; Decoder.stream input_ids; BlockWeight rows""",
    "tensors in containers of any depth": """
        GradScaler.scale outputs; Tensor.backward inputs; backward gradient; backward inputs; backward
        loss; grad grad_outputs; hvp primals; hvp tangents; save obj; save_torch obj; all_gather_object
        obj; functional_call args; functional_call parameter_and_buffer_dicts; Gradients loss""",
    "images of PIL, of NumPy or tensors, and what a transform draws for them": """
        Compose.stages params; Compose.transform images; Compose.transform params;
        ImageTransform.make_params images; ImageTransform.transform images; ImageTransform.transform
        params""",
    "any value of the user's": """
        Tokenizer.protect value;
        Gradients.get default; ParameterDict.fromkeys default; ParameterDict.get default;
        ParameterDict.setdefault default; ParameterDict.update values; ParameterList.append value;
        Metric.add_state default; Categorify.change learned; DateParts.change learned;
        FillMissing.change learned; Normalize.change learned; TableEncoder.set_extra_state state;
        TabularModel.set_extra_state state; Function.backward ctx; Function.jvp ctx; Function.vjp ctx;
        Function.setup_context ctx; Function.setup_context output; Function.vmap info; Function.vmap
        in_dims; ModuleDict.forward input; ModuleList.forward input; Sequential.forward input;
        slice_assign key""",
    "accepted and ignored, as PyTorch's": """
        Distribution.expand _instance; Multinomial.expand _instance; Module.to memory_format;
        OnnxModel.to memory_format; SyncBatchNorm process_group; SyncBatchNorm.convert_sync_batchnorm
        process_group; init_process_group device_id; init_process_group pg_options; new_group device_id;
        new_group pg_options""",
    "any object with certain methods": """
        DataLoader multiprocessing_context; DiLoCo optimizer; DistributedOptimizer model;
        DistributedOptimizer optimizer; wrap model; wrap optimizer; Learner optimizer; LogCalls run;
        functional_call module; fuse_conv_bn_eval bn; fuse_conv_bn_eval conv; fuse_linear_bn_eval bn;
        fuse_linear_bn_eval linear; check_op op; device type; Tensor node; ResNet block; Chat model;
        generate tokenizer""",
    "several kinds that the docstring names": """
        Sampling eos_token_id; generate eos_token_id; generate pad_token_id; LinearCrossEntropyLoss
        options; linear_cross_entropy options; LpLoss dim; TransformerDecoderLayer activation;
        TransformerDecoderLayer dropout; TransformerEncoderLayer activation; TransformerEncoderLayer
        dropout; normal std; polygamma n; save_gguf quantize; Decoder.ends eos_token_id;
        BlockWeight.take_rows order""",
}


def untyped_parameters(name: str, entry) -> list[str]:
    try:
        parameters = inspect.signature(docs.called(entry)).parameters.values()
    except ValueError:  # exceptions
        return []
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [f"{name} {p.name}" for p in parameters if p.annotation in (Any, "Any") and p.kind not in several]


def test_public_parameters_have_types():
    loose: set[str] = set()
    for module in docs.MODULES:
        for name, entry in called(module).items():
            loose |= {*untyped_parameters(name, entry)}
            own = vars(entry) if isinstance(entry, type) else {}
            methods = {n: getattr(f, "__func__", f) for n, f in own.items() if n[0] != "_"}
            for n, f in methods.items():
                loose |= {*untyped_parameters(f"{name}.{n}", f)} if inspect.isfunction(f) else set()
    reasons = {reason: {" ".join(x.split()) for x in rows.split(";")} for reason, rows in ANY_TYPE.items()}
    print(*(f"{len(rows)} parameters: {reason}" for reason, rows in reasons.items()), sep="\n")
    assert sorted(loose) == sorted(set().union(*reasons.values())), "give each a type"


@pytest.mark.parametrize("module", docs.MODULES)
def test_every_argument_is_explained(module):
    told = "name each in its docstring"
    assert unexplained(module) == sorted(MUTE.get(module, "").split()), told


@pytest.mark.parametrize("module", docs.MODULES)
def test_what_is_raised_is_said(module):
    told = "say in the docstring what raises an error"
    assert silent(module) == sorted(SILENT.get(module, "").split()), told


def test_help_of_a_layer():
    told = inspect.getdoc(fb.nn.Conv2d)
    assert told and told.startswith(
        "Cross-correlation with learned kernels. [n, in, h, w] -> [n, out, oh, ow]"
    )
    assert "\nkernel_size: the window's size, one number or one for each dim\n" in told
    assert str(inspect.signature(fb.nn.ReLU)) == "(inplace: bool = False)"
    assert "\ngroups: the number of groups of channels;" in (inspect.getdoc(fb.nn.functional.conv2d) or "")
    assert "ceil_mode: " in (fb.nn.MaxPool2d.__doc__ or "")  # of a layer made of a function
    told = [(inspect.getdoc(f) or "").split() for f in (fb.nn.MaxPool2d, fb.nn.functional.max_pool2d)]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "get", [lambda: fb.exp, lambda: fb.Tensor.exp, lambda: fb.tensor(1.0, device="cpu").exp]
)
def test_help_of_an_op_without_a_signature_form(get):
    assert inspect.getdoc(get()) == "e to the power input. [...] -> [...]"
    assert "exp(" in pydoc.plain(pydoc.render_doc(get()))


def test_every_op_speaks_for_itself():
    """Not its class: what an op is, and the shapes that an elementwise one takes and gives."""
    entries = [
        e for module in docs.MODULES for e in docs.members(docs.MODULES[module]).values() if isinstance(e, Op)
    ]
    assert len(entries) > 100
    assert [e.name for e in entries if e.__doc__ != e.doc or inspect.signature(e) is None] == []
    assert [
        e.name for e in entries if e.kind == "elementwise" and e.prepare is None and "->" not in e.doc
    ] == []


def raised_lines() -> list[tuple[str, object, str]]:
    """(module and name, entry, sentence) of each "Raises ..." that a docstring ends with."""
    return [
        (f"{module}.{name}", entry, " ".join(sentence.split()))
        for module in docs.MODULES
        for name, entry in called(module).items()
        for sentence in re.findall(r"^Raises (?:.*\n?)(?:    .*\n?)*", doc_of(entry), re.M)
    ]


def clauses_of(line: str) -> list[str]:
    """ "ValueError if a; if b; TypeError for c" as three, each with its error."""
    error, out = "", []
    for part in line.removeprefix("Raises ").removesuffix(".").split("; "):
        error = part.split()[0] if part.split()[0] in ERRORS else error
        clause = part if part.startswith(error) else f"{error} {part}"
        out.append(clause.replace("Error where ", "Error if "))
    return out


def checks_of(entry) -> set[str]:
    """The functions that the body calls, by its syntax tree."""
    found = body_of(entry)
    if found is None:
        return set()
    f, tree = found
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions = [f.__globals__.get(c.id) for c in called if isinstance(c, ast.Name)]
    functions += [
        getattr(f.__globals__.get(c.value.id), c.attr, None)
        for c in called
        if isinstance(c, ast.Attribute) and isinstance(c.value, ast.Name)
    ]
    return {f"{g.__module__.rpartition('.')[2]}.{g.__name__}" for g in functions if inspect.isfunction(g)}


def test_no_line_of_what_is_raised_is_cut_short():
    assert [(name, line) for name, _, line in raised_lines() if line[-1] != "."] == []
    lines = [(name, c) for name, _, line in raised_lines() for c in clauses_of(line)]
    assert len(lines) > 500
    assert [x for x in lines if not re.fullmatch(r"\w+Error (if|for) \S.*\w[\"')]?", x[1])] == []


CPU = {"device": "cpu"}
X, V = fb.ones(3, 4, **CPU), fb.ones(3, **CPU)
WHOLE, SQUARE = fb.ones(3, 4, dtype=fb.int32, **CPU), fb.eye(3, **CPU)
F, linalg = fb.nn.functional, fb.linalg
RATES = fb.optim.lr_scheduler
NO_MATRICES = (
    "A is not a batch of square matrices",
    "LU is not a batch of square matrices",
    "A is not a batch of square matrices, or B not one of matrices",
    "L is not a batch of square matrices, or B not one of matrices",
    "A is not a batch of matrices, square ones unless p is None, 2 or -2",
    "A is not a batch of matrices, square ones if hermitian",
    "the input is not a batch of matrices",
    "A is not a batch of matrices",
)
# a function that checks arguments: what its callers' docstrings say of it, and calls that provoke each clause
CHECKS = {
    "contract._exact": (
        "ValueError if operands have other numbers of dims, or inner sizes differ",
        [lambda: fb.mm(X, X), lambda: fb.mm(X, V)],
    ),
    "contract._plus": (
        "ValueError if the input does not broadcast to the product",
        [lambda: fb.addmm(fb.ones(5, **CPU), X, X.T)],
    ),
    "conv._check_weight": (
        "ValueError if the weight does not fit the input or the groups",
        [
            lambda: F.conv1d(X, fb.ones(2, 2, 1, **CPU)),
            lambda: F.conv1d(X, fb.ones(1, 1, 1, **CPU), groups=2),
        ],
    ),
    "conv.add_batch_dim": (
        "ValueError if the input has too few or too many dims",
        [
            lambda: F.conv1d(V, fb.ones(1, 1, 1, **CPU)),
            lambda: F.conv2d(X, fb.ones(1, 1, 1, 1, **CPU)),
        ],
    ),
    "conv.pair": (
        "ValueError if a size is neither one number nor one for each dim",
        [lambda: F.conv2d(X[None], fb.ones(1, 1, 1, 1, **CPU), stride=(1, 2, 3))],
    ),
    "conv.transposed_size": (
        "ValueError if nothing is left, or output_padding is not below stride or dilation",
        [
            lambda: F.conv_transpose1d(X, fb.ones(3, 1, 1, **CPU), padding=9),
            lambda: F.conv_transpose1d(X, fb.ones(3, 1, 1, **CPU), output_padding=1),
        ],
    ),
    "creation._lower_places": (
        "ValueError if row or col is below 0",
        [lambda: fb.tril_indices(-1, 2), lambda: fb.triu_indices(2, -1)],
    ),
    "creation._two_dims": (
        "ValueError if both dims are the same",
        [lambda: fb.diag_embed(X, dim1=1, dim2=1)],
    ),
    "decompose._lower_triangle": (
        'ValueError if UPLO is neither "L" nor "U"',
        [lambda: linalg.eigh(SQUARE, "M")],
    ),
    "decompose._not_larger": (
        "ValueError if the matrices are larger than the algorithm supports",
        [lambda: linalg.eigh(fb.ones(2000, 2000, **CPU))],
    ),
    "distributed._group": (
        "ValueError if there is no process group; TypeError if group is not a process group",
        [dist.get_rank, distributed_calls.alone(lambda: dist.barrier(3))],
    ),
    "dtype.as_dtype": ("TypeError if the dtype is unknown", [lambda: fb.full((2,), 1, "float31")]),
    "elementwise.fit_to_dtype": (
        "ValueError if the dtype has no such value",
        [lambda: fb.masked_fill(WHOLE, WHOLE > 0, float("inf"))],
    ),
    "elementwise.scale_by": (
        "TypeError if alpha is not an integer and the tensors hold integers;"
        " TypeError if value is not an integer and the tensors hold integers",
        [lambda: fb.add(WHOLE, WHOLE, alpha=0.5), lambda: fb.addcmul(WHOLE, WHOLE, WHOLE, value=0.5)],
    ),
    "embedding._row_of": (
        "ValueError if padding_idx is not a row of weight",
        [lambda: F.embedding(WHOLE[0], X, padding_idx=7)],
    ),
    "factor.broadcast_batches": (
        "ValueError if leading dims do not broadcast",
        [lambda: linalg.lu_solve(SQUARE.expand(2, 3, 3), V.int().expand(2, 3), fb.ones(3, 3, 1, **CPU))],
    ),
    "indices.as_index": (
        "IndexError if an index is out of range; TypeError if it is not of integers",
        [lambda: fb.gather(X, 0, [[9]]), lambda: fb.gather(X, 0, X)],
    ),
    "join._cuts": ("IndexError if the input is 0-d", [lambda: fb.tensor_split(X[0, 0], 2)]),
    "join._even_split": (
        "ValueError if dims are missing, or the sections do not divide the dim",
        [lambda: fb.dsplit(X, 2), lambda: fb.hsplit(X, 3)],
    ),
    "join.cat": (
        "ValueError if no tensor is given, or shapes differ outside the dim",
        [lambda: fb.hstack([]), lambda: fb.hstack([X, fb.ones(2, 4, **CPU)])],
    ),
    "linear.not_negative": (
        "ValueError if a size is negative; ValueError if a size is negative, or in1_features is 0",
        [lambda: fb.nn.Linear(-1, 3), lambda: fb.nn.Bilinear(0, 3, 2)],
    ),
    "linear.positive": ("ValueError if a size is not a positive integer", [lambda: fb.nn.ALiBi(0)]),
    "loss._class_hits": (
        "ValueError if the target's shape does not fit; TypeError if it is not of integers",
        [lambda: F.nll_loss(X, WHOLE), lambda: F.nll_loss(X, V)],
    ),
    "loss._reduce": ("ValueError if reduction is unknown", [lambda: F.huber_loss(X, X, reduction="most")]),
    "loss._same_shape": (
        "ValueError if the target has another shape",
        [lambda: F.binary_cross_entropy_with_logits(X, V)],
    ),
    "lu._check_pivot": ("ValueError if pivot is False", [lambda: linalg.lu(SQUARE, pivot=False)]),
    "lu.fits": (
        "ValueError if the right-hand sides do not fit the matrices",
        [lambda: linalg.solve_triangular(SQUARE, X.T, upper=True)],
    ),
    "lu.matrices": (
        "; ".join(f"ValueError if {x}" for x in NO_MATRICES) + "; TypeError for integers",
        [
            lambda: linalg.det(X),
            lambda: linalg.svd(V),
            lambda: linalg.solve_triangular(X, X, upper=True),
            lambda: linalg.cond(X, 1),
            lambda: linalg.pinv(X, hermitian=True),
            lambda: linalg.det(SQUARE.int()),
        ],
    ),
    "lu.refuse_check": (
        "ValueError if check_errors is True",
        [lambda: linalg.solve_ex(SQUARE, X, check_errors=True)],
    ),
    "containers._check_slot": ("TypeError if one is not a module", [lambda: fb.nn.Sequential(3)]),
    "norms.linalg_matrix_norm": (
        "ValueError if ord is not a norm of matrices",
        [lambda: linalg.cond(SQUARE, "nothing")],
    ),
    "norms.matrix_dims": (
        "ValueError if dim does not name two different dims",
        [lambda: linalg.matrix_norm(X, dim=(1, 1))],
    ),
    "pool._avg_pool": (
        "ValueError if dims are missing, windows do not fit, or divisor_override is 0;"
        " ValueError if dims are missing, or windows do not fit",
        [
            lambda: F.avg_pool1d(V, 2),
            lambda: F.avg_pool1d(X, 9),
            lambda: F.avg_pool2d(X[None], 2, divisor_override=0),
        ],
    ),
    "pool._pool_spec": (
        "ValueError if dims are missing, or padding is more than half of the kernel",
        [lambda: F.max_pool1d(V, 2), lambda: F.max_pool1d(X, 2, padding=2)],
    ),
    "quantile._quantile": (
        "ValueError if q is not in 0 to 1 or interpolation is unknown; TypeError for integers",
        [
            lambda: fb.quantile(X, 1.5),
            lambda: fb.quantile(X, 0.5, interpolation="most"),
            lambda: fb.quantile(WHOLE, 0.5),
        ],
    ),
    "random._by_channel": (
        "ValueError if the input has neither a batch nor channels",
        [lambda: F.dropout1d(V)],
    ),
    "random._drop": ("ValueError if p is not in 0 to 1", [lambda: fb.dropout(X, 2)]),
    "reduce._not_empty": ("ValueError if the input is empty", [lambda: fb.amax(X[:0], 0)]),
    "resize.interpolate": (
        "ValueError if the input does not have 3 to 5 dims, or size and scale_factor do not fit",
        [
            lambda: F.upsample_nearest(X, 2),
            lambda: F.upsample_nearest(X[None], size=2, scale_factor=2),
        ],
    ),
    "scan._areas": (
        "ValueError if both x and dx are given, or y is 0-d",
        [lambda: fb.cumulative_trapezoid(X, x=X, dx=1), lambda: fb.cumulative_trapezoid(X[0, 0])],
    ),
    "scatter._by_slices": (
        "ValueError if source does not have one slice for each index; TypeError if dtypes differ",
        [
            lambda: fb.index_add(X, 0, WHOLE[0] * 0, X),
            lambda: fb.index_copy(X, 0, [0], WHOLE[:1]),
        ],
    ),
    "shape.broadcast": ("ValueError if shapes do not broadcast", [lambda: fb.broadcast_tensors(X, V)]),
    "shape.new_sizes": (
        "ValueError if a size is below 0; TypeError if one is not an integer",
        [lambda: fb.gumbel((-1,)), lambda: fb.gumbel((2.5,))],
    ),
    "shape.normal_dim": ("IndexError if there is no such dim", [lambda: fb.sort(X, 2)]),
    "shape.normal_dims": (
        "IndexError if there is no such dim; ValueError if one is named twice",
        [lambda: fb.all(X, (0, 5)), lambda: fb.all(X, (0, 0))],
    ),
    "shape.sizes_of": ("TypeError if a size is not an integer", [lambda: fb.ones(2.5)]),
}


SAME = {  # a function that raises what a check does without it: the clause, and a call
    "flambeau.distributed.get_default_group": (
        "ValueError if there is no process group",
        dist.get_default_group,
    ),
    "flambeau.eye": ("ValueError if a size is below 0", lambda: fb.eye(-1)),
    "flambeau.linalg.eigvals": (
        "ValueError if A is not a batch of square matrices",
        lambda: linalg.eigvals(X),
    ),
    "flambeau.linalg.matrix_norm": (
        "ValueError if ord is not a norm of matrices",
        lambda: linalg.matrix_norm(X, "nothing"),
    ),
}
ROWS = {check: clauses.split("; ") for check, (clauses, _) in CHECKS.items()}


@pytest.mark.parametrize("check", CHECKS)
def test_what_a_check_raises_is_true(check):
    errors = {error_of(clause) for clause in ROWS[check]}
    raised = set()
    for call in CHECKS[check][1]:
        with pytest.raises(tuple(errors)) as e:
            call()
        raised |= {error for error in errors if isinstance(e.value, error)}
    assert raised == errors


@pytest.mark.parametrize("name", SAME)
def test_what_is_raised_without_a_check_is_true(name):
    clause, call = SAME[name]
    with pytest.raises(error_of(clause)):
        call()


def test_every_clause_of_a_check_is_in_a_docstring():
    said = {clause for _, _, line in raised_lines() for clause in clauses_of(line)}
    assert [row for rows in ROWS.values() for row in rows if row not in said] == []


def test_what_is_raised_comes_from_a_check_that_is_called():
    """A docstring has the clause of a check only where its function calls that check, or raises the same."""
    of_checks = {row for rows in ROWS.values() for row in rows}
    wrong = []
    for name, entry, line in raised_lines():
        if body_of(entry) is None:
            continue
        base = getattr(F, entry.__name__.removesuffix("_").removesuffix("_with_indices"), entry)
        theirs = {row for c in checks_of(entry) | checks_of(base) for row in ROWS.get(c, ())}
        same = {SAME[name][0]} if name in SAME else set()
        wrong += [(name, c) for c in clauses_of(line) if c in of_checks - theirs - same]
    assert wrong == []


def test_what_is_raised_names_arguments_of_its_function():
    """An argument's name in a clause is one of the function: a text that was copied may name another's."""
    wrong = []
    for name, entry, line in raised_lines():
        own = inspect.signature(docs.called(entry)).parameters
        wrong += [(name, word) for word in re.findall(r"\b[a-z]+_\w+", line) if word not in own]
    assert wrong == []


MOVED = fb.optim.SGD([fb.ones(2, requires_grad=True, **CPU)], lr=0.1)
S, B = fb.tensor(1.0, **CPU), fb.ones(2, 3, 4, **CPU)
C, PICTURE = fb.ones(4, dtype=fb.complex64, **CPU), fb.ones(1, 3, 4, 4, **CPU)
signal, func = fb.signal.windows, fb.func
CELL = [{"hidden_size": 0}, {"hidden_size": 2, "clip": -1.0}]
GATES = [*CELL, {"hidden_size": 2, "gate_activation": "none"}]
DROPPED = {"hidden_size": 2, "num_layers": 2, "dropout": 2.0}
RECURRENT = {  # arguments that recurrent layers refuse
    "RNNCell": [*CELL, {"hidden_size": 2, "nonlinearity": "none"}],
    "RNN": [*CELL, {"hidden_size": 2, "nonlinearity": "none"}, DROPPED],
    **dict.fromkeys(("GRUCell", "LSTMCell"), GATES),
    "GRU": [*GATES, DROPPED],
    "LSTM": [*GATES, DROPPED],
}
D = fb.distributions
DRAWS = D.Normal(S, S)
OWN = {  # a function that raises by itself: a call for each case that its docstring names
    "LinearCrossEntropyLoss": [
        lambda: fb.nn.LinearCrossEntropyLoss(3, 2, weight=fb.ones(3, device="cpu")),
        lambda: fb.nn.LinearCrossEntropyLoss(3, 2, label_smoothing=2.0),
    ],
    "adaptive_avg_pool1d": [lambda: F.adaptive_avg_pool1d(V, 2), lambda: F.adaptive_avg_pool1d(X, (1, 2))],
    "adaptive_avg_pool2d": [lambda: F.adaptive_avg_pool2d(X, 2), lambda: F.adaptive_avg_pool2d(B, (1, 2, 3))],
    "adaptive_max_pool1d": [lambda: F.adaptive_max_pool1d(V, 2), lambda: F.adaptive_max_pool1d(X, (1, 2))],
    "addbmm": [lambda: fb.addbmm(X, X, B), lambda: fb.addbmm(X, B, B)],
    "affine_grid": [lambda: F.affine_grid(fb.ones(1, 2, 3, **CPU), (2, 1, 4, 4))],
    "bartlett_window": [lambda: fb.bartlett_window(-1)],
    "box_area": [lambda: fb.vision.box_area(V[:3])],
    "build_pyramid": [
        lambda: fb.vision.build_pyramid(fb.ones(1, 1, 8, 8, **CPU), 0),
        lambda: fb.vision.build_pyramid(fb.ones(1, 1, 4, 4, **CPU), 3),
    ],
    "canny": [
        lambda: fb.vision.canny(fb.ones(1, 1, 8, 8, **CPU), 0.5, 0.2),
        lambda: fb.vision.canny(fb.ones(1, 2, 8, 8, **CPU)),
    ],
    "get_rotation_matrix2d": [lambda: fb.vision.get_rotation_matrix2d(V, V, V)],
    "nms": [
        lambda: fb.vision.nms(V, V, 0.5),
        lambda: fb.vision.nms(fb.ones(32769, 4, **CPU), fb.ones(32769, **CPU), 0.5),
        lambda: fb.vision.nms(fb.ones(2, 4, **CPU), fb.ones(2, **CPU), 0.5, size=-1),
    ],
    "pyrdown": [lambda: fb.vision.pyrdown(fb.ones(1, 1, 2, 2, **CPU))],
    "remap": [lambda: fb.vision.remap(fb.ones(1, 1, 4, 4, **CPU), V, V)],
    "warp_perspective": [lambda: fb.vision.warp_perspective(fb.ones(1, 1, 4, 4, **CPU), V, (4, 4))],
    "batch_norm": [
        lambda: F.batch_norm(fb.ones(1, 3, **CPU), None, None, training=True),
        lambda: F.batch_norm(X, None, None),
    ],
    "bincount": [
        lambda: fb.bincount(WHOLE),
        lambda: fb.bincount(WHOLE[0], weights=V),
        lambda: fb.bincount(V),
    ],
    "block_diag": [lambda: fb.block_diag(B)],
    "bmm": [lambda: fb.bmm(B, B[:1].mT), lambda: fb.bmm(B, B)],
    "bucketize": [lambda: fb.bucketize(X, X)],
    "cartesian_prod": [lambda: fb.cartesian_prod(X)],
    "cat": [lambda: fb.cat([]), lambda: fb.cat([S, S]), lambda: fb.cat([X, X.T])],
    "cdist": [
        lambda: fb.cdist(X, X, compute_mode="most"),
        lambda: fb.cdist(X, X.T),
        lambda: fb.cdist(X, X, p=-1),
    ],
    "chain_matmul": [lambda: fb.chain_matmul(), lambda: fb.chain_matmul(X, V, X)],
    "channel_shuffle": [lambda: F.channel_shuffle(PICTURE, 2)],
    "checkpointing": [lambda: fb.checkpointing("most")],
    "chunk": [lambda: fb.chunk(X, 0)],
    "clamp": [lambda: fb.clamp(X)],
    "fold": [lambda: F.fold(B, 4, 2)],
    "combinations": [lambda: fb.combinations(X), lambda: fb.combinations(V, -1)],
    "corrcoef": [lambda: fb.corrcoef(B)],
    "cross": [lambda: fb.cross(SQUARE[:2, :2], SQUARE[:2, :2])],
    "ctc_loss": [
        lambda: F.ctc_loss(B, WHOLE, [2], [2]),
        lambda: F.ctc_loss(B, WHOLE[:, :1], [2] * 3, [1] * 3, blank=9),
        lambda: F.ctc_loss(B, WHOLE[:, :1], [2] * 3, [1] * 3, reduction="most"),
    ],
    "deform_conv2d": [
        lambda: fb.deform_conv2d(PICTURE, fb.ones(1, 2, 4, 4, **CPU), fb.ones(2, 2, 1, 1, **CPU))
    ],
    "diag": [lambda: fb.diag(B)],
    "diagonal": [lambda: fb.diagonal(V)],
    "diagonal_scatter": [lambda: fb.diagonal_scatter(X, X)],
    "diff": [lambda: fb.diff(X, -1), lambda: fb.diff(S)],
    "div": [lambda: fb.div(X, X, rounding_mode="most")],
    "dot": [lambda: fb.dot(X, V)],
    "einsum": [lambda: fb.einsum("ij,jk", X)],
    "embedding_bag": [
        lambda: F.embedding_bag(WHOLE, X, mode="most"),
        lambda: F.embedding_bag(WHOLE[0], X),
        lambda: F.embedding_bag(WHOLE, X, mode="sum", per_sample_weights=V),
    ],
    "expand": [lambda: X.expand(5, 4)],
    "fftn": [lambda: fb.fft.fftn(X, s=(1, 2), dim=(0,))],
    "hfft": [lambda: fb.fft.hfft(V, 0)],
    "ifftn": [lambda: fb.fft.ifftn(X, s=(1, 2), dim=(0,))],
    "ihfft": [lambda: fb.fft.ihfft(C)],
    "irfft": [lambda: fb.fft.irfft(V, 0)],
    "irfftn": [lambda: fb.fft.irfftn(X, s=(1, 2), dim=(0,)), lambda: fb.fft.irfftn(X, s=(0,), dim=(0,))],
    "rfft": [lambda: fb.fft.rfft(C)],
    "rfftn": [lambda: fb.fft.rfftn(X, s=(1, 2), dim=(0,)), lambda: fb.fft.rfftn(C)],
    "fliplr": [lambda: fb.fliplr(V)],
    "flipud": [lambda: fb.flipud(S)],
    "gather_nd": [lambda: fb.gather_nd(X, WHOLE[:, :3])],
    "gelu": [lambda: F.gelu(X, "most")],
    "glu": [lambda: F.glu(V)],
    "grad": [lambda: func.grad(lambda x: x)(V)],
    "grad_and_value": [lambda: func.grad_and_value(lambda x: x)(V)],
    "gradient": [lambda: fb.gradient(X, spacing=[1.0, 1.0, 1.0]), lambda: fb.gradient(X, edge_order=3)],
    "grid_sample": [
        lambda: F.grid_sample(PICTURE, PICTURE[..., :2], mode="most"),
        lambda: F.grid_sample(PICTURE, PICTURE[:, :1, :, :2].permute(0, 2, 1, 3), padding_mode="most"),
        lambda: F.grid_sample(PICTURE, X),
        lambda: F.grid_sample(PICTURE[..., :0], fb.ones(1, 4, 4, 2, **CPU)),
    ],
    "group_norm": [lambda: F.group_norm(PICTURE, 2)],
    "hardtanh": [lambda: F.hardtanh(X, 1, -1)],
    "heaviside": [lambda: fb.heaviside(X, WHOLE)],
    "hvp": [lambda: fb.autograd.functional.hvp(lambda x: x, V, V)],
    "index_select": [lambda: fb.index_select(X, 0, WHOLE)],
    "inner": [lambda: fb.inner(X, V)],
    "instance_norm": [lambda: F.instance_norm(fb.ones(1, 3, 1, **CPU))],
    "interpolate": [
        lambda: F.interpolate(X, 2),
        lambda: F.interpolate(PICTURE, 2, mode="nearest", antialias=True),
        lambda: F.interpolate(PICTURE),
        lambda: F.interpolate(PICTURE, 2, recompute_scale_factor=True),
        lambda: F.interpolate(PICTURE, scale_factor=(2, 2, 2)),
        lambda: F.interpolate(PICTURE, 0),
        lambda: F.interpolate(PICTURE, 2, mode="trilinear"),
        lambda: F.interpolate(PICTURE, 2, align_corners=True),
    ],
    "isclose": [lambda: fb.isclose(X, X, rtol=-1)],
    "isin": [lambda: fb.isin(1, 2)],
    "istft": [lambda: fb.istft(fb.ones(3, 4, dtype=fb.complex64, **CPU), 4, return_complex=True)],
    "jacfwd": [lambda: func.jacfwd(lambda x: x, argnums=3)(V)],
    "jacrev": [lambda: func.jacrev(lambda x: x, argnums=3)(V)],
    "jit": [lambda: fb.jit(lambda x: x, check="most")],
    "jvp": [lambda: func.jvp(lambda x: x, (V,), (V, V))],
    "kaiser_window": [lambda: fb.kaiser_window(-1)],
    "kthvalue": [lambda: fb.kthvalue(V, 4)],
    "layer_norm": [lambda: F.layer_norm(X, (3,))],
    "householder_product": [
        lambda: linalg.householder_product(X, V),
        lambda: linalg.householder_product(SQUARE[:, :2], V),
    ],
    "lstsq": [lambda: linalg.lstsq(SQUARE, X, driver="most")],
    "lu_factor_ex": [
        lambda: linalg.lu_factor_ex(SQUARE, pivot=False),
        lambda: linalg.lu_factor_ex(SQUARE, check_errors=True),
    ],
    "multi_dot": [lambda: linalg.multi_dot([X]), lambda: linalg.multi_dot([X, V, X])],
    "norm": [lambda: linalg.norm(B, 2)],
    "qr": [lambda: linalg.qr(X, "most")],
    "tensorinv": [lambda: linalg.tensorinv(X, 1)],
    "tensorsolve": [lambda: linalg.tensorsolve(X, V)],
    "linearize": [lambda: func.linearize(lambda x: x, V)[1](X)],
    "linspace": [lambda: fb.linspace(0, 1, -1)],
    "logspace": [lambda: fb.logspace(0, 1, -1)],
    "local_response_norm": [lambda: F.local_response_norm(X, 2)],
    "masked_select": [lambda: fb.masked_select(X, X)],
    "matmul": [lambda: fb.matmul(S, X), lambda: fb.matmul(X, X)],
    "max_unpool1d": [lambda: F.max_unpool1d(V, V, 2), lambda: F.max_unpool1d(X, WHOLE[:, :1], 2)],
    "max_unpool2d": [lambda: F.max_unpool2d(X, WHOLE, 2), lambda: F.max_unpool2d(B, WHOLE, 2)],
    "max_unpool3d": [lambda: F.max_unpool3d(B, WHOLE, 2), lambda: F.max_unpool3d(PICTURE, WHOLE, 2)],
    "meshgrid": [lambda: fb.meshgrid(V, indexing="most"), lambda: fb.meshgrid(X, indexing="ij")],
    "mode": [lambda: fb.mode(X[:0], 0)],
    "movedim": [lambda: fb.movedim(X, (0, 1), (0,)), lambda: fb.movedim(X, (0, 0), (0, 1))],
    "multi_margin_loss": [lambda: F.multi_margin_loss(X, WHOLE[:, 0], p=3)],
    "multilabel_margin_loss": [
        lambda: F.multilabel_margin_loss(X, WHOLE[0]),
        lambda: F.multilabel_margin_loss(X, X),
    ],
    "mvlgamma": [lambda: fb.mvlgamma(X, 0)],
    "narrow": [lambda: fb.narrow(X, 0, 2, 5)],
    "pad": [
        lambda: F.pad(V, (1,) * 4),
        lambda: F.pad(V, (-9, 0)),
        lambda: F.pad(X, (1, 1), mode="reflect", value=1.0),
    ],
    "pdist": [lambda: F.pdist(V)],
    "permute": [lambda: fb.permute(X, (0, 0))],
    "pixel_shuffle": [lambda: F.pixel_shuffle(PICTURE, 2)],
    "pixel_unshuffle": [lambda: F.pixel_unshuffle(PICTURE, 3)],
    "polygamma": [lambda: fb.polygamma(-1, X)],
    "positive": [lambda: fb.positive(X > 0)],
    "pow": [lambda: fb.pow(WHOLE, -1)],
    "prelu": [lambda: F.prelu(X, V)],
    "put_rows": [lambda: F.put_rows(X, V, 0), lambda: F.put_rows(X, X[:, :2], 0)],
    "quantize": [
        lambda: fb.quantize(V),
        lambda: fb.quantize(fb.ones(2, 32, **CPU), block=64),
        lambda: fb.quantize(X, 3),
        lambda: fb.quantize(X, block=3),
    ],
    "quantize_": [lambda: fb.nn.quantize_(fb.nn.Linear(4, 4, **CPU), 5)],
    "quantized_linear": [lambda: fb.quantized_linear(X, X)],
    "randperm": [lambda: fb.randperm(-1)],
    "repeat": [lambda: X.repeat(2)],
    "repeat_interleave": [
        lambda: fb.repeat_interleave(X, [1, 2], 0),
        lambda: fb.repeat_interleave(X, [1, 2, -1], 0),
    ],
    "reshape": [lambda: fb.reshape(X, (5,))],
    "rms_norm": [lambda: F.rms_norm(X, (3,))],
    "rnnt_loss": [
        lambda: F.rnnt_loss(B, WHOLE, V, V),
        lambda: F.rnnt_loss(fb.ones(1, 2, 2, 3, **CPU), WHOLE[:1, :1], [2], [1], blank=7),
        lambda: F.rnnt_loss(fb.ones(1, 2, 2, 3, **CPU), WHOLE[:1, :1], [2], [1], reduction="most"),
    ],
    "roll": [lambda: fb.roll(X, (1, 2), (0,))],
    "rot90": [lambda: fb.rot90(X, 1, (0, 0))],
    "scatter_add": [lambda: fb.scatter_add(X, 0, fb.zeros(3, 5, dtype=fb.int64, **CPU), X)],
    "scatter_nd": [lambda: fb.scatter_nd(X, WHOLE[:1, :2] * 0, V[:1], reduce="most")],
    "scatter_reduce": [lambda: fb.scatter_reduce(X, 0, WHOLE.long() * 0, X, "most")],
    "searchsorted": [
        lambda: fb.searchsorted(V, V, side="most"),
        lambda: fb.searchsorted(V, V, side="left", right=True),
        lambda: fb.searchsorted(X, V),
    ],
    "select": [lambda: fb.select(X, 0, 3)],
    "set_matmul_precision": [lambda: fb.set_matmul_precision("most")],
    "shrink": [lambda: F.shrink(X, lambd=-1)],
    "cosine": [lambda: signal.cosine(-1)],
    "general_cosine": [lambda: signal.general_cosine(3, a=[])],
    "exponential": [
        lambda: signal.exponential(-1),
        lambda: signal.exponential(3, tau=0, sym=False),
        lambda: signal.exponential(3, center=1),
    ],
    "gaussian": [lambda: signal.gaussian(-1), lambda: signal.gaussian(3, std=0)],
    "hann": [lambda: signal.hann(3, dtype=fb.int64)],
    "kaiser": [lambda: signal.kaiser(3, beta=-1), lambda: signal.kaiser(3, dtype=fb.int64)],
    "masked_fill": [lambda: fb.masked_fill(X, X > 1, X)],
    "smooth_l1_loss": [lambda: F.smooth_l1_loss(X, X, beta=-1)],
    "softshrink": [lambda: F.softshrink(X, -1)],
    "split": [
        lambda: fb.split(X, [1, 1]),
        lambda: fb.split(X, 0),
        lambda: dist.split(fb.nn.Linear(2, 2, **CPU), devices=[]),
        lambda: dist.split(fb.nn.ReLU(), devices=["cpu"]),
    ],
    "stack": [lambda: fb.stack([]), lambda: fb.stack([X, V])],
    "stft": [
        lambda: fb.stft(V, 9, center=False, return_complex=True),
        lambda: fb.stft(V, 2, hop_length=0, return_complex=True),
    ],
    "sum_to_size": [lambda: X.sum_to_size(2)],
    "swiglu": [lambda: F.swiglu(V)],
    "take_along_dim": [lambda: fb.take_along_dim(X, WHOLE[0].long(), 0)],
    "tensor_split": [lambda: fb.tensor_split(X, 0)],
    "Upsample": [
        lambda: fb.nn.Upsample(2)(X),
        lambda: fb.nn.Upsample()(PICTURE),
        lambda: fb.nn.Upsample(2, recompute_scale_factor=True)(PICTURE),
        lambda: fb.nn.Upsample(scale_factor=(2, 2, 2))(PICTURE),
        lambda: fb.nn.Upsample(0)(PICTURE),
        lambda: fb.nn.Upsample(2, mode="trilinear")(PICTURE),
        lambda: fb.nn.Upsample(2, align_corners=True)(PICTURE),
    ],
    "UpsamplingBilinear2d": [
        lambda: fb.nn.UpsamplingBilinear2d(2)(X[None]),
        lambda: fb.nn.UpsamplingBilinear2d()(PICTURE),
    ],
    "unfold": [lambda: X.unfold(0, 9, 1)],
    "tensordot": [lambda: fb.tensordot(X, X, ([0], [0, 1]))],
    "topk": [lambda: fb.topk(V, 4)],
    "trace": [lambda: fb.trace(V)],
    "unflatten": [lambda: fb.unflatten(X, 0, (2, 2))],
    "value_and_grad": [lambda: fb.value_and_grad(lambda x: x)(V)],
    "vjp": [lambda: func.vjp(lambda x: x, V)[1](X)],
    "Embedding": [lambda: fb.nn.Embedding(2, 2, max_norm=0)],
    "EmbeddingBag": [
        lambda: fb.nn.EmbeddingBag(2, 2, max_norm=0),
        lambda: fb.nn.EmbeddingBag(2, 2, scale_grad_by_freq=True, mode="max"),
    ],
    **{
        name: [lambda make=make, kw=kw: make(2, **kw) for kw in calls]
        for name, calls in RECURRENT.items()
        if (make := getattr(fb.nn, name))
    },
    "Independent": [lambda: D.Independent(DRAWS, 1)],
    "LKJCholesky": [lambda: D.LKJCholesky(1)],
    "MixtureSameFamily": [
        lambda: D.MixtureSameFamily(DRAWS, DRAWS),
        lambda: D.MixtureSameFamily(D.Categorical(V), D.Normal(S, fb.ones(2, **CPU))),
    ],
    "MultivariateNormal": [
        lambda: D.MultivariateNormal(V),
        lambda: D.MultivariateNormal(S, fb.eye(3, **CPU)),
        lambda: D.MultivariateNormal(V, V),
    ],
    "ReshapeTransform": [lambda: D.ReshapeTransform((2, 3), (4,))],
    "TransformedDistribution": [lambda: D.TransformedDistribution(DRAWS, D.SoftmaxTransform())],
    "Wishart": [lambda: D.Wishart(S), lambda: D.Wishart(S, fb.eye(3, **CPU))],
    "Interpretation": [lambda: Interpretation([], {}, 2, ["cat"])],
    "ConstantLR": [lambda: RATES.ConstantLR(MOVED, 9.0)],
    "LambdaLR": [lambda: RATES.LambdaLR(MOVED, [])],
    "MultiplicativeLR": [lambda: RATES.MultiplicativeLR(MOVED, [])],
    **distributed_calls.CALLS,
}


def own_clauses() -> dict[str, list[tuple[str, ...]]]:
    """Name without its module: the clauses that are of no check, once for each text."""
    of_checks = {row for rows in ROWS.values() for row in rows}
    out: dict[str, list[tuple[str, ...]]] = {}
    for name, _, line in raised_lines():
        own = tuple(c for c in clauses_of(line) if c not in of_checks)
        if own and not name.startswith("flambeau.metrics."):
            out.setdefault(name.rpartition(".")[2], []).append(own)
    return out


@pytest.fixture(scope="module")
def clauses():
    return own_clauses()


@pytest.mark.parametrize("name", OWN)
def test_what_a_function_raises_itself_is_true(name, clauses):
    errors = {error_of(clause) for own in clauses[name] for clause in own}
    raised = set()
    for call in OWN[name]:
        with pytest.raises(tuple(errors)) as e:
            call()
        raised |= {error for error in errors if isinstance(e.value, error)}
    assert raised == errors


def test_every_line_of_what_is_raised_is_provoked(clauses):
    """Layers have the text of their function, and functions in place that of the other."""
    provoked = {own for name in OWN for own in clauses[name]}
    assert {name: texts for name, texts in clauses.items() if not provoked.issuperset(texts)} == {}


def test_a_metric_that_says_so_refuses_an_argument():
    text, sizes = "Raises ValueError if an argument is not valid.", {"num_classes": 3, "num_labels": 3}
    entries = [e for e in called("flambeau.metrics").values() if text in doc_of(e)]
    assert len(entries) > 50

    def refuses(entry, argument: str, value) -> bool:
        takes = inspect.signature(docs.called(entry)).parameters
        try:
            entry(**{n: size for n, size in sizes.items() if n in takes} | {argument: value})
        except ValueError:
            return True
        except (TypeError, AttributeError, ImportError):  # what it needs besides is missing
            return False
        return False

    wrong = ["most", -1, [3, 1], None]
    tried = {e: inspect.signature(docs.called(e)).parameters for e in entries}
    assert [e.__name__ for e in entries if not any(refuses(e, a, v) for a in tried[e] for v in wrong)] == []

"""Turns docstrings into what `help` has to say: each argument that is not plain, and what is raised."""

import ast
import inspect
import re
import textwrap

import pytest
from helpers.scripts import script

import flambeau as fb
from flambeau.core import docstrings
from flambeau.core.op import Op

docs = script("write_docs")

# what everybody knows, or what the formula of the first sentence says
PLAIN = {
    *("self", "args", "kwargs", "_args", "_kw", "kw", "input", "other", "x", "y", "z", "n", "a", "b"),
    *("tensor", "tensors", "weight", "bias", "dim", "dims", "keepdim", "dtype", "device", "shape", "size"),
    *("requires_grad", "generator", "inplace"),
}
# Arguments that no docstring explains yet, by module: this may only become less.
MUTE = {
    "flambeau": "Gradients.found Launch.workgroup DType.format DType.kind DType.name DType.rank DType.short"
    " SavedProgram.source Tensor.node allclose.atol allclose.equal_nan allclose.rtol can_cast.from_"
    " can_cast.to custom_op.doc open_device.spec promote_types.type1 promote_types.type2"
    " save_program.fn set_grad_enabled.mode tensor.data",
    "flambeau.autograd": "Gradients.found set_grad_enabled.mode",
    "flambeau.export": "SavedProgram.source save_program.fn",
    "flambeau.io": "load_bytes.data load_file.path save_bytes.metadata save_file.metadata save_file.path",
    "flambeau.testing": "assert_close.equal_nan check_close.got check_close.want check_close.what"
    " check_op.attrs check_op.grad",
}
# Functions and classes that raise an error of their own and do not say so: this may only become less.
SILENT: dict[str, str] = {}


def called(module: str) -> dict[str, object]:
    found = docs.members(docs.MODULES[module]).items()
    return {name: e for name, e in found if callable(e) and not (isinstance(e, Op) and e.prepare is None)}


def doc_of(entry) -> str:
    return (entry.doc if isinstance(entry, Op) else inspect.getdoc(entry)) or ""


def unexplained(module: str) -> list[str]:
    """`function.argument` of each argument that is not plain and not named in its docstring."""
    out = []
    for name, entry in called(module).items():
        try:
            found = inspect.signature(entry.prepare if isinstance(entry, Op) else docs.called(entry))
        except ValueError:  # exceptions
            continue
        names = [p for p in found.parameters if p not in PLAIN]
        out += [f"{name}.{p}" for p in names if not re.search(rf"\b{p}\b", doc_of(entry))]
    return sorted(out)


def own_errors(entry) -> set[str]:
    """The errors that stand in the body of a function, or of a class's __init__."""
    if isinstance(entry, type) and "__signature__" in vars(entry):
        return set()  # made of a function, which speaks for it
    f = entry.prepare if isinstance(entry, Op) else entry.__init__ if isinstance(entry, type) else entry
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(f))))
    except (OSError, TypeError):
        return set()
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc]
    names = [ast.unparse(e.func if isinstance(e, ast.Call) else e) for e in raised]
    return {name for name in names if name in ERRORS}


ERRORS = {"ValueError", "TypeError", "IndexError", "KeyError", "FlambeauError"}


def silent(module: str) -> list[str]:
    return sorted(
        name for name, entry in called(module).items() if own_errors(entry) and "Error" not in doc_of(entry)
    )


@pytest.mark.parametrize("module", docs.MODULES)
def test_every_argument_is_explained(module):
    assert unexplained(module) == sorted(MUTE.get(module, "").split())


@pytest.mark.parametrize("module", docs.MODULES)
def test_what_is_raised_is_said(module):
    assert silent(module) == sorted(SILENT.get(module, "").split())


def test_help_of_a_layer():
    told = inspect.getdoc(fb.nn.Conv2d)
    assert told and told.startswith(
        "Cross-correlation with learned kernels. [n, in, h, w] -> [n, out, oh, ow]"
    )
    assert "\nkernel_size: the window's size, one number or one for each dim\n" in told
    assert "ceil_mode: " in (fb.nn.MaxPool2d.__doc__ or "")  # of a layer made of a function
    assert fb.nn.MaxPool2d.__doc__ == fb.nn.functional.max_pool2d.__doc__


def test_tables_are_of_arguments():
    """A row that no docstring takes any more fails."""
    used = {
        line.partition(":")[0]
        for module in docs.MODULES
        for entry in called(module).values()
        for line in doc_of(entry).splitlines()
        if re.match(r"\w+: ", line)
    }
    assert not set(docstrings.MEANINGS) - used
    assert not {argument for _, argument in docstrings.OWN} - used


def test_what_is_written_is_kept():
    told = docstrings.told("Cut at stride. [n]\n\n    More.", "f", ("stride", "padding", "unknown"))
    assert told == (
        "Cut at stride. [n]\n\nMore.\n\npadding: elements added at both ends, one number or one for each dim"
    )
    assert docstrings.told("Plain.", "f", ("x",)) == "Plain."
    assert docstrings.told(None, "f", ("padding",)) == ""

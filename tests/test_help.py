"""Turns docstrings into what `help` has to say: each argument that is not plain, and what is raised."""

import ast
import inspect
import pydoc
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
    "flambeau": "DType.format DType.kind DType.name DType.rank DType.short Gradients.found"
    " SavedProgram.source Tensor.node",
    "flambeau.autograd": "Gradients.found",
    "flambeau.export": "SavedProgram.source",
}
# Functions and classes that raise an error, or call what raises one, and do not say so: this may only become
# less. These call what raises none for what they give it.
SILENT = {"flambeau": "angle isreal nonzero qr", "flambeau.nn.utils": "merge_lora"}


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


def body_of(entry):
    """The function, of an op or a class too, and its syntax tree; None where that is not to be had."""
    if isinstance(entry, type) and "__signature__" in vars(entry):
        return None  # made of a function, which speaks for it
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


ERRORS = {"ValueError", "TypeError", "IndexError", "KeyError", "FlambeauError"}


def silent(module: str) -> list[str]:
    return sorted(
        name for name, entry in called(module).items() if errors_of(entry) and "Error" not in doc_of(entry)
    )


@pytest.mark.parametrize("module", docs.MODULES)
def test_every_argument_is_explained(module):
    told = "name each in its docstring, or in core/docstrings.py"
    assert unexplained(module) == sorted(MUTE.get(module, "").split()), told


@pytest.mark.parametrize("module", docs.MODULES)
def test_what_is_raised_is_said(module):
    told = "say in the docstring what raises an error, or in RAISES of core/docstrings.py"
    assert silent(module) == sorted(SILENT.get(module, "").split()), told


def test_help_of_a_layer():
    told = inspect.getdoc(fb.nn.Conv2d)
    assert told and told.startswith(
        "Cross-correlation with learned kernels. [n, in, h, w] -> [n, out, oh, ow]"
    )
    assert "\nkernel_size: the window's size, one number or one for each dim\n" in told
    assert str(inspect.signature(fb.nn.ReLU)) == "(inplace: bool = False)"
    assert "\ngroups: parts that channels are divided into;" in (fb.nn.functional.conv2d.__doc__ or "")
    assert "ceil_mode: " in (fb.nn.MaxPool2d.__doc__ or "")  # of a layer made of a function
    assert fb.nn.MaxPool2d.__doc__ == fb.nn.functional.max_pool2d.__doc__


@pytest.mark.parametrize(
    "get", [lambda: fb.exp, lambda: fb.Tensor.exp, lambda: fb.tensor(1.0, device="cpu").exp]
)
def test_help_of_an_op_without_a_signature_form(get):
    assert inspect.getdoc(get()) == "e to the power x. [...] -> [...]"
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
    raised = " ".join(
        line
        for module in docs.MODULES
        for entry in called(module).values()
        for line in re.findall(r"^Raises .*\.$", doc_of(entry), re.M)
    )
    assert not {name for name in docstrings.RAISES if docstrings.raises(name, "")[0] not in raised}
    assert not {
        name
        for name, told in docstrings.CHECKS.items()
        if told.partition(" where ")[2].split("; ")[0] not in raised
    }


def test_what_checks_raise_is_told_once():
    assert docstrings.raises("f", "", ("batched", "pair", "normal_dim", "print")) == [
        "ValueError where leading dims do not fit; where there is neither one number nor one for each dim;"
        " IndexError where there is no such dim"
    ]
    assert docstrings.raises("f", "TypeError for ints.", ("pair",)) == []
    assert docstrings.raises("cat", "", ("pair",)) == [f"ValueError where {docstrings.RAISES['cat']}"]


def test_what_is_written_is_kept():
    told = docstrings.told("Cut at stride. [n]\n\n    More.", "f", ("stride", "padding", "unknown"))
    assert told == (
        "Cut at stride. [n]\n\nMore.\n\npadding: elements added at both ends, one number or one for each dim"
    )
    assert docstrings.told("Plain.", "f", ("x",)) == "Plain."
    assert docstrings.told(None, "f", ("padding",)) == ""

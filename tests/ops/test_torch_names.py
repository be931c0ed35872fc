"""Expressions written for torch, run with the module's name changed; arguments beside torch's names."""

import inspect
import re

import numpy as np
import pytest
from helpers.expressions import EXPRESSIONS, arrays

import flambeau as fb
from flambeau.core.op import Op
from flambeau.core.spelling import SPELLINGS


def evaluated(text: str, module, made: dict) -> list:
    """The tensors that an expression gives with a module in torch's place."""
    found = eval(text.format(m="m"), {"m": module, **made})
    return list(found) if isinstance(found, tuple | list) else [found]


def by_flambeau(text: str) -> list:
    return evaluated(text, fb, {name: fb.tensor(a) for name, a in arrays().items()})


@pytest.mark.parametrize("text, given", EXPRESSIONS, ids=[e[0] for e in EXPRESSIONS])
def test_expression(text, given):
    found = by_flambeau(text)
    assert ", ".join(f"{y.dtype.short}{list(y.shape)}" for y in found) == given


@pytest.mark.parametrize("text", [e[0] for e in EXPRESSIONS])
def test_expression_beside_torch(torch, text):
    """The same values in the same shapes; where torch has 64 bits, here are 32."""

    def taken(name, a):  # torch takes places in 64 bits alone
        return torch.tensor(a, dtype=torch.int64) if name in "ik" else torch.tensor(a)

    ours = by_flambeau(text)
    theirs = evaluated(text, torch, {name: taken(name, a) for name, a in arrays().items()})
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert mine.shape == tuple(other.shape)
        got, want = mine.numpy(), other.numpy()
        assert got.dtype.kind == want.dtype.kind
        np.testing.assert_allclose(got, want, rtol=2e-4 if got.dtype == "f2" else 2e-5, atol=2e-5)


def test_there_are_enough_expressions():
    assert len(EXPRESSIONS) >= 150
    texts = [e[0] for e in EXPRESSIONS]
    assert len(set(texts)) == len(texts)


# --- names and defaults of arguments ---

SPACES = {"": fb, "nn.functional.": fb.nn.functional, "linalg.": fb.linalg, "fft.": fb.fft,
          "special.": fb.special}  # fmt: skip
# arguments that torch has and nothing here: why
NOWHERE = {
    "out": "taken where functions are declared (core/out.py)", "inplace": "as out",
    "layout": "all are dense", "memory_format": "all are dense", "pin_memory": ("copies always use"
        " staging buffers"),
    "sparse_grad": "all are dense", "sparse": "all are dense", "names": "dims have no names",
    "size_average": "taken in core/old_reduction.py", "reduce": "as size_average",
    "_stacklevel": "of warnings",
    "cudnn_enabled": "of one vendor", "args": ("dispatch is"
        " internal to torch"), "kwargs": "dispatch is internal to torch",
    "out_dtype": "products have the dtype of their operands", "copy": "decided by the device",
    "scale_grad_by_freq": "a reweighing of gradients: multiply them", "max_norm": "writes into the weight: "
    "renorm it", "norm_type": "of max_norm",
}  # fmt: skip
# function: (its arguments that differ, why)
DIFFERS = {
    "lobpcg": (
        "iK niter tol largest method tracker ortho_iparams ortho_fparams ortho_bparams",
        "**how takes the first five by name; what watches and tunes torch's own steps is not here",
    ),
    "istft": ("onesided", "True is what None means for real signals"),
    "stft": ("onesided return_complex align_to_window", "True is what None means for real signals"),
    "kthvalue": ("dim", "-1 is what None means"),
    "topk": ("dim", "-1 is what None means"),
    "matrix_exp": ("A", "torch's parser says input"),
    "meshgrid": ("indexing", "'ij' is what None means"),
    "polygamma": ("n input", "polygamma(n, x) and x.polygamma(n) are one function"),
    "result_type": ("tensor1 tensor2", "takes any number"),
    "searchsorted": ("values", "torch's parser says input"),
    "tril_indices": ("device", "the default device"),
    "triu_indices": ("device", "the default device"),
    "true_divide": ("dividend divisor", "torch's parser says input and other"),
    "vander": ("N", "given by name in linalg"),
}


def public(module) -> list[str]:
    from flambeau import functions

    return functions.__all__ if module is fb else module.__all__


def of(signature: inspect.Signature) -> list[tuple]:
    """(name, default, whether its place counts) of each argument, the first as torch calls it."""
    return [
        ("input" if p.name == "self" else p.name, p.default, p.kind is not p.KEYWORD_ONLY)
        for p in signature.parameters.values()
    ]


def ours(entry) -> list[tuple]:
    if isinstance(entry, Op) and entry.prepare is None:
        return [(name, inspect.Parameter.empty, True) for name in entry.operand_names]
    return of(inspect.signature(entry.prepare if isinstance(entry, Op) else entry))


def theirs(f, name: str) -> list[list[tuple]]:
    """The arguments of each form that torch documents."""
    try:
        return [of(inspect.signature(f))]
    except (TypeError, ValueError):  # a builtin: its forms are lines of its documentation
        pass
    found = []
    for line in (f.__doc__ or "").replace("\\*", "*").splitlines():
        form = re.match(rf"\s*(?:\w+\.)*{re.escape(name)}\((.*?)\)\s*(->.*)?$", line)
        if form:
            text = re.sub(r"=torch\.\w+|=<[^>]*>", "=None", form[1])
            try:
                space: dict = {}
                exec(f"from __future__ import annotations\ndef f({text}): pass", {}, space)
            except (SyntaxError, NameError):  # arange(start=0, end, ...), and examples
                continue
            found.append(of(inspect.signature(space["f"])))
    return found


def deviations(name: str, mine: list, form: list, allowed: list[str]) -> list[str]:
    """What of a form of torch's would be taken otherwise here."""
    wanted = [a for a in form if a[0] not in NOWHERE and a[0] not in allowed]
    known, bad = {argument: default for argument, default, _ in mine}, []
    for argument, default, _ in wanted:
        if argument not in known:
            is_first = argument == "input" == form[0][0]  # the first tensor may always be called that
            bad += [] if is_first or SPELLINGS.get(argument) in known else [f"{name} lacks {argument}"]
        elif default is not inspect.Parameter.empty and known[argument] != default:
            bad.append(f"{name}({argument}={known[argument]!r}): torch has {default!r}")
    order = [argument for argument, _, has_place in wanted if has_place and argument in known]
    here = [argument for argument, _, has_place in mine if has_place and argument in order]
    return bad if here == order else [*bad, f"{name} takes {here}, torch {order}"]


def forms(torch):
    """(name with its namespace, our arguments, a form of torch's) of every function that both have."""
    for space, module in SPACES.items():
        there = torch
        for part in filter(None, space.split(".")):
            there = getattr(there, part)
        for name in public(module):
            f = getattr(there, name, None)
            for form in theirs(f, name) if callable(f) else []:
                yield space + name, ours(getattr(module, name)), form


def allowed_of(name: str) -> list[str]:
    return DIFFERS.get(name.rpartition(".")[2], ("", ""))[0].split()


def test_arguments_are_torchs(torch):
    found = list(forms(torch))
    assert len(found) > 400
    bad = [line for name, mine, form in found for line in deviations(name, mine, form, allowed_of(name))]
    assert not bad, "\n".join(bad)


def test_every_listed_difference_is_one(torch):
    differ = {name for name, mine, form in forms(torch) if deviations(name, mine, form, [])}
    assert not set(DIFFERS) - {name.rpartition(".")[2] for name in differ}


def test_by_name():
    x, y = fb.tensor([1.0, 4.0]), fb.tensor([2.0, 3.0])
    assert fb.sub(other=y, input=x).tolist() == [-1, 1]
    assert x.pow(exponent=y).tolist() == [1, 64]
    assert fb.sum(input=x, axis=0, keepdims=True).tolist() == [5]
    assert fb.linalg.det(A=fb.eye(2)).item() == fb.det(input=fb.eye(2)).item() == 1
    assert fb.nn.functional.softmax(input=x - x, dim=0).tolist() == [0.5, 0.5]
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'axis'"):
        fb.tril(fb.eye(2), axis=0)

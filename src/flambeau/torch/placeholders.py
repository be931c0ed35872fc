"""Placeholders: stand for torch's names that Flambeau lacks, so that an import never fails.

A placeholder can be imported, subclassed, subscripted (`Dataset[int]`), used as a decorator, as an annotation
and in isinstance. A call raises an error with the full name and a remedy. A call while a
module is imported (a decorator with arguments, a registration) gives another placeholder.
"""

import inspect
import re
from typing import Any

from ..core.torch_hints import WORDS
from ..errors import FlambeauError


class MissingInTorch(FlambeauError, NotImplementedError):
    """A name of torch that Flambeau lacks was called."""


ADVICE = "use the functions that flambeau.torch has, or run this part with the real torch"
HINTS: dict[str, str] = {
    "torch.sparse": WORDS["flambeau"]["sparse"],
    "torch.multiprocessing": WORDS["flambeau"]["multiprocessing"],
    "torch.distributed": "flambeau.distributed trains on several devices",
    "torch.onnx": "fb.onnx.export writes ONNX files",
    "torch.export": "fb.save_program saves a model that runs without Python code",
    "torch.jit": "torch.compile records calls",
    "torch.fx": "programs are not traced: torch.compile records calls, model.named_modules() has the layers",
    "torch._dynamo": "torch.compile records calls without a compiler",
    "torch._inductor": "torch.compile records calls without a compiler",
    "torch.ao": "nn.quantize_(model) makes layers of 4 or 8 bits",
    "torch.quantization": "nn.quantize_(model) makes layers of 4 or 8 bits",
    "torch.cuda": "the GPU is WebGPU's, of any vendor: fb.accelerator has its memory and synchronize",
    "torch.utils.cpp_extension": "fb.custom_op defines an op in WGSL",
    "torch.ops": "fb.custom_op defines an op in WGSL",
    "torch._C": "there is no compiled extension: the package is Python and WGSL",
}


def refuse(name: str) -> MissingInTorch:
    """The error of a call of torch's name that Flambeau lacks."""
    owner = name
    while owner not in HINTS and "." in owner:
        owner = owner.rpartition(".")[0]
    advice = WORDS["flambeau"].get(name.removeprefix("torch.")) or HINTS.get(owner, ADVICE)
    return MissingInTorch(f"{name}(...): flambeau.torch does not have it: {advice}")


def _is_importing() -> bool:
    """Whether a module is being imported by the code that calls."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _result(name: str) -> Any:
    """The result of a call: while a module is imported (a decorator, for example) a placeholder, else an
    error."""
    if _is_importing():
        return placeholder_class(f"{name}(...)")
    raise refuse(name)


class _PlaceholderType(type):
    """The class of placeholder classes: calling one, or a subclass, raises."""

    def __call__(cls, *args: Any, **kw: Any) -> Any:
        if len(args) == 1 and not kw and _is_decorated(args[0]) and "torch_name" in vars(cls):
            return args[0]
        return _result(next(vars(k)["torch_name"] for k in cls.__mro__ if "torch_name" in vars(k)))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return placeholder_class(f"{cls.torch_name}.{name}")

    def __or__(cls, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __repr__(cls) -> str:
        return f"<class '{cls.torch_name}' (flambeau.torch lacks it)>"


def _is_decorated(value: Any) -> bool:
    """Whether a lone argument is a function or class that a decorator gets."""
    return isinstance(value, type) or (callable(value) and hasattr(value, "__code__"))


def _itself(cls: Any, _item: Any) -> Any:
    return cls


def placeholder_class(name: str) -> Any:
    """The placeholder of a class, or of any other object."""
    owner, _, last = name.rpartition(".")
    itself: Any = classmethod(_itself)
    space: dict[str, Any] = {"torch_name": name, "__module__": owner, "__qualname__": last}
    space |= {"__doc__": f"{name}, which Flambeau lacks.", "__class_getitem__": itself}
    return _PlaceholderType(last, (), space)


def _is_question(name: str) -> bool:
    """Whether a function reports if a feature is available: it returns False for a feature that Flambeau
    lacks."""
    form = r"_?(is|has|are|can)_\w+|_jit_can_\w+|\w+_(available|enabled)"
    return re.fullmatch(form, name.rpartition(".")[2]) is not None


# modules that trace, compile and dispatch: settings of missing features have no effect
OF_COMPILERS = (
    "torch._C",
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch._logging",
    "torch.fx",
)


def _is_setting(name: str) -> bool:
    """Whether a function sets something of a compiler."""
    owner, _, last = name.rpartition(".")
    is_of_compiler = any(owner == m or owner.startswith(f"{m}.") for m in OF_COMPILERS)
    return (
        is_of_compiler
        and re.fullmatch(r"_?(jit_)?(set|override|mark|maybe_mark|reset)_?\w*", last) is not None
    )


def placeholder_function(name: str) -> Any:
    """The placeholder of a function: returns a function or class that it decorates, else raises. A function
    without arguments that says if something is available returns False; one that sets something of a compiler
    does nothing."""
    asks, sets = _is_question(name), _is_setting(name)

    def missing(*args: Any, **kw: Any) -> Any:
        if len(args) == 1 and not kw and _is_decorated(args[0]):
            return args[0]
        if asks and not args and not kw:
            return False
        if sets:
            return None
        return _result(name)

    owner, _, last = name.rpartition(".")
    missing.__name__ = missing.__qualname__ = last
    missing.__module__, missing.__doc__ = owner, f"{name}, which Flambeau lacks."
    vars(missing)["torch_name"] = name
    return missing

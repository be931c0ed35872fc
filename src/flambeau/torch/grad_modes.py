"""no_grad, enable_grad and inference_mode, which may decorate a function without brackets, as in torch."""

from typing import Any

from ..core import modes


class NoGrad(modes.no_grad):
    """Inside this context (or decorated function), results do not require gradients."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else modes.no_grad()(orig_func)

    def __init__(self, orig_func: None = None):
        super().__init__()


class EnableGrad(modes.enable_grad):
    """Inside this context (or decorated function), gradients flow, even within no_grad."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return super().__new__(cls) if orig_func is None else modes.enable_grad()(orig_func)

    def __init__(self, orig_func: None = None):
        super().__init__()


class InferenceMode(modes.inference_mode):
    """The same as no_grad (or enable_grad, with mode=False).

    mode: whether it is on; or the function that it decorates.
    """

    def __new__(cls, mode: Any = True) -> Any:
        return modes.inference_mode()(mode) if callable(mode) else super().__new__(cls)


for _class, _name in {NoGrad: "no_grad", EnableGrad: "enable_grad", InferenceMode: "inference_mode"}.items():
    _class.__name__ = _class.__qualname__ = _name


def is_inference_mode_enabled() -> bool:
    """Whether results do not require gradients: inference mode is no_grad here."""
    return not modes.is_grad_enabled()

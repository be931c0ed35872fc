"""What is worth saying once: a warning a process."""

import warnings

NO_GRAD_KEPT = "no gradients are kept on tensors: there is nothing to set to zero before backward()"
_said: set[str] = set()


def note(text: str, depth: int = 2) -> None:
    """Warn of something, the first time; `depth` calls up is the line that is shown."""
    if text not in _said:
        _said.add(text)
        warnings.warn(text, UserWarning, stacklevel=depth + 1)

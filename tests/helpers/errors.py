"""What a bad call says."""

import pytest


def call(f):
    """The error a call raises, as `Type: text`."""
    with pytest.raises((ValueError, TypeError, IndexError, KeyError, RuntimeError)) as e:
        f()
    return f"{type(e.value).__name__}: {e.value.args[0]}"

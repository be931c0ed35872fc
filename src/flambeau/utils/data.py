"""flambeau.data under the name of torch.utils.data."""

from ..data import *  # noqa: F403 - all of it
from ..data import __all__ as __all__

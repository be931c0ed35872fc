"""Placeholders for packages that are not installed."""

import sys

import pytest

from flambeau.torch.absent_packages import AbsentFinder
from flambeau.torch.placeholders import MissingInTorch


@pytest.fixture(autouse=True)
def gone_again():
    yield
    AbsentFinder.packages = set()
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, AbsentFinder)]
    for name in [n for n in sys.modules if n.partition(".")[0] == "no_such_vision"]:
        del sys.modules[name]


def test_names_of_absent_packages_raise_when_they_are_called(mode):
    with pytest.raises(ImportError):
        import no_such_vision  # noqa: F401
    mode.stand_in("no_such_vision", "json")
    import json

    from no_such_vision.transforms import Resize
    from no_such_vision.transforms import functional as F

    class Own(Resize):
        pass

    assert json.dumps([1]) == "[1]" and not isinstance(3, Resize)  # an installed package is itself
    for call in (Resize, Own, F.resize):
        with pytest.raises(MissingInTorch, match=r"no_such_vision\.transforms"):
            call(3)
    with pytest.raises(TypeError, match="takes names of packages"):
        mode.stand_in("torchvision.transforms")

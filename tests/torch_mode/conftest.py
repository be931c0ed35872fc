import pytest


@pytest.fixture
def mode():
    """flambeau.torch, with torch mode on for this test alone."""
    import flambeau.torch as ours

    ours.disable()  # its first import has turned it on
    with ours.enabled():
        yield ours

"""torchmetrics, for comparisons."""

import pytest


@pytest.fixture(scope="session")
def torchmetrics(torch):
    """torchmetrics without torchvision, which it imports where it finds one, of whatever build."""
    from lightning_utilities.core.imports import RequirementCache

    found = RequirementCache.__bool__
    RequirementCache.__bool__ = lambda self: "torchvision" not in str(self.requirement) and found(self)
    import torchmetrics

    return torchmetrics

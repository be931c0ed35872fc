"""torch.nn.utils.stateless: the older place of `func.functional_call`."""

from ...func.modules import functional_call

__all__ = ["functional_call"]

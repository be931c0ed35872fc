"""Special functions under the names of torch.special: entries of the op table, nothing of its own."""

from typing import TYPE_CHECKING, Any

from . import functions, ops
from .core.op import COMPOSED

# the name here: the name in the package
NAMES = {
    "expit": "sigmoid",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "multigammaln": "mvlgamma",
    "psi": "digamma",
    "modified_bessel_i0": "i0",
    "modified_bessel_i1": "i1",
    **{
        name: name
        for name in (
            "digamma",
            "entr",
            "erf",
            "erfc",
            "erfcx",
            "erfinv",
            "exp2",
            "expm1",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "log1p",
            "log_ndtr",
            "log_softmax",
            "logit",
            "logsumexp",
            "ndtr",
            "ndtri",
            "polygamma",
            "round",
            "sinc",
            "softmax",
            "xlog1py",
            "xlogy",
            "zeta",
        )
    },
}

if TYPE_CHECKING:  # the names below are in the table, which type checkers do not read

    def __getattr__(name: str) -> Any: ...


OWN = ops.names("SPECIAL")  # in no other namespace
globals().update({name: getattr(functions, entry) for name, entry in NAMES.items()})
globals().update({name: COMPOSED[name] for name in OWN})
__all__ = sorted([*NAMES, *OWN])

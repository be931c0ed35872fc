"""Parametrizations: weight norm, spectral norm, orthogonal matrices."""

from ...core.modes import no_grad
from ...errors import ValueError
from ...ops.creation import eye
from ...ops.distribution import randn
from ...ops.join import cat
from ...ops.linalg.decompose import linalg_qr
from ...ops.linalg.lu import linalg_solve
from ...ops.norm import normalize
from ...tensor import Tensor
from ..module import Module
from .parametrize import register_parametrization


def norm_except(v: Tensor, dim: int | None) -> Tensor:
    """The Euclidean norm over all dims except one, which remain with size 1; over all dims for None or -1,
    []"""
    if dim is None or dim == -1:
        return v.square().sum().sqrt()
    own = dim % v.ndim
    return v.square().sum(tuple(d for d in range(v.ndim) if d != own), keepdim=True).sqrt()


class WeightNorm(Module):
    """v * g / |v|, with the norm over all dims except one. -> the shape of v"""

    def __init__(self, dim: int | None):
        self.dim = dim

    def forward(self, g: Tensor, v: Tensor) -> Tensor:
        return v * (g / norm_except(v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a weight as a learned norm times a learned direction (Salimans and Kingma, 2016); returns
    the module.

    name: of the parameter. dim: each slice along it has its own norm; None: one norm for all.
    """
    return register_parametrization(module, name, WeightNorm(dim), unsafe=True)


class SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration tracks in training."""

    _u: Tensor
    _v: Tensor
    v_first = False  # whether an iteration updates v before u, as the older spectral_norm does

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float, first: int = 15):
        self.dim, self.n_power_iterations, self.eps = dim, n_power_iterations, eps
        if weight.ndim > 1:
            rows, columns = self._matrix(weight.detach()).shape
            self.register_buffer("_u", normalize(randn(rows, device=weight.device), dim=0, eps=eps))
            self.register_buffer("_v", normalize(randn(columns, device=weight.device), dim=0, eps=eps))
            self._iterate(weight.detach(), first)  # PyTorch's 15; the older spectral_norm has none

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)  # [rows, all others]

    @no_grad()
    def _iterate(self, weight: Tensor, times: int) -> None:
        w, u, v = self._matrix(weight), self._u, self._v
        for _ in range(times):
            # Power iteration: u and v tend to the singular vectors of the largest singular value.
            u = u if self.v_first else normalize(w @ v, dim=0, eps=self.eps)
            v = normalize(w.transpose(0, 1) @ u, dim=0, eps=self.eps)
            u = normalize(w @ v, dim=0, eps=self.eps) if self.v_first else u
        self._u.assign_(u)
        self._v.assign_(v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        if self.training:
            self._iterate(weight.detach(), self.n_power_iterations)
        # Copies: the next iteration overwrites u and v, and backward reads these values.
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * (self._matrix(weight) @ v)).sum()  # sigma = u^T W v

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def usual_dim(module: Module) -> int:
    """The dim of a weight with the output channels: 1 for transposed convolutions, else 0."""
    return int(type(module).__name__.removeprefix("Parametrized").startswith("ConvTranspose"))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Scale a weight to the largest singular value 1 (Miyato et al., 2018); returns the module.

    name: of the parameter. n_power_iterations: iterations at each use in training. dim: the dim of the output
    channels. ValueError for a missing parameter, or fewer than 1 iteration.
    eps: a small number that keeps divisions from 0
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) or n_power_iterations < 1:
        rule = "the parameter must exist, and there must be at least one iteration: change the arguments"
        raise ValueError(f"spectral_norm({name!r}, {n_power_iterations}): {rule}")
    norm = SpectralNorm(weight, n_power_iterations, usual_dim(module) if dim is None else dim, eps)
    return register_parametrization(module, name, norm)


MAPS = ("matrix_exp", "cayley", "householder")


class OrthogonalMap(Module):
    """Maps a matrix to one with orthonormal columns (or rows, if there are fewer)."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool):
        self.map = orthogonal_map
        self.base = None
        if use_trivialization:
            self.register_buffer("base", None)
            self.register_buffer("base", self._nearest(weight.detach()))

    @staticmethod
    @no_grad()
    def _nearest(q: Tensor) -> Tensor:
        """An orthogonal matrix whose first columns are the orthonormalised columns of q."""
        q = q.mT if q.shape[-2] < q.shape[-1] else q
        n, k = q.shape[-2:]
        q = q if n == k else cat([q, randn(*q.shape[:-1], n - k, device=q.device)], -1)
        # QR fixes the signs of R arbitrarily; the columns of Q get the signs of q back.
        nearest, r = linalg_qr(q)
        return nearest * r.diagonal(0, -2, -1).sign().unsqueeze(-2)

    def forward(self, x: Tensor) -> Tensor:
        turned = x.shape[-2] < x.shape[-1]  # at least as many rows as columns
        x = x.mT if turned else x
        q = (
            self._orthogonal_from_reflections(x)
            if self.map == "householder"
            else self._orthogonal_from_angles(x)
        )
        q = q if self.base is None else self.base @ q
        return q.mT if turned else q

    def _orthogonal_from_angles(self, x: Tensor) -> Tensor:
        """The orthogonal matrix of a skew-symmetric one: its exponential, or its Cayley transform."""
        n, k = x.shape[-2:]
        # the lower triangle parametrizes the skew-symmetric matrix A - A^T
        x = x.tril()
        x = x if n == k else x.pad((0, n - k))  # a square matrix, whose first k columns are used
        a = x - x.mT
        if self.map == "matrix_exp":
            return a.matrix_exp()[..., :k]
        one = eye(n, device=x.device)
        # Cayley transform: (1 - A / 2)^-1 (1 + A / 2)
        return linalg_solve(one - a * 0.5, one + a * 0.5)[..., :k]

    @staticmethod
    def _orthogonal_from_reflections(x: Tensor) -> Tensor:
        """The product of one Householder reflection for each column, with the signs of the diagonal."""
        n, k = x.shape[-2:]
        a = x.tril(-1)
        # 1 - tau v v^T is a reflection for tau = 2 / |v|^2; v has a 1 on the diagonal
        tau = 2.0 / (1.0 + a.square().sum(-2))
        unit = a + eye(n, k, device=x.device)
        q = eye(n, k, device=x.device).expand(*x.shape)
        for i in reversed(range(k)):
            v = unit[..., i : i + 1]
            q = q - tau[..., i : i + 1].unsqueeze(-1) * (v @ (v.mT @ q))
        # 1 and -1: rounding must not change an orthogonal matrix
        return q * x.diagonal(0, -2, -1).detach().trunc().unsqueeze(-2)

    @no_grad()
    def right_inverse(self, q: Tensor) -> Tensor:
        if self.base is None:
            rule = "without trivialization a value can't be assigned: leave it out, or move the original"
            raise NotImplementedError(f"orthogonal({self.map!r}, use_trivialization=False): {rule}")
        self.register_buffer("base", self._nearest(q))
        # -1 is the identity: each reflection and each sign negates a column. So the value is `base` itself.
        return -eye(*q.shape[-2:], device=q.device).expand(*q.shape)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Parametrize a weight as an orthogonal matrix (Lezcano, 2019); returns the module.

    name: of the parameter. orthogonal_map: "matrix_exp", "cayley" or "householder"; None: matrix_exp for
    square weights, else householder. use_trivialization: parametrize relative to the value that was assigned
    last. ValueError for another map, or a tensor of fewer than 2 dims.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) or weight.ndim < 2:
        raise ValueError(f"orthogonal({name!r}): the parameter must have at least 2 dims: name one that has")
    square = weight.shape[-2] == weight.shape[-1]
    chosen = orthogonal_map or ("matrix_exp" if square else "householder")
    if chosen not in MAPS:
        raise ValueError(f"orthogonal({name!r}, {chosen!r}): is unknown: use one of {', '.join(MAPS)}")
    map_ = OrthogonalMap(weight, chosen, use_trivialization)
    return register_parametrization(module, name, map_, unsafe=True)

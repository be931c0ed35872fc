"""Mixtures of experts (Shazeer et al., 2017): perceptrons of which each token takes a few."""

from typing import Any, NamedTuple

from .. import nn
from ..core import dtype as dt
from ..ops.join import cat, stack
from ..tensor import Tensor, tensor
from .settings import activation

F = nn.functional


class ExpertSizes(NamedTuple):
    """Features of a token and hidden ones of an expert; the number of experts, and of those that a token
    takes; whether their shares are scaled to a sum of 1; hidden features of an expert that all tokens take,
    or 0."""

    features: int
    inner: int
    number: int
    taken: int
    scales: bool = True
    shared: int = 0


class Router(nn.Module):
    """The scores of experts. [t, d] -> [t, experts]"""

    def __init__(self, sizes: ExpertSizes):
        self.weight = nn.init.normal_(nn.Parameter(Tensor.zeros(sizes.number, sizes.features)), std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight)


class Experts(nn.Module):
    """Gated perceptrons, weighted by shares. [t, d], [t, experts] -> [t, d]"""

    def __init__(self, sizes: ExpertSizes, act: str):
        e, d, inner = sizes.number, sizes.features, sizes.inner
        self.gate_up_proj = nn.init.normal_(nn.Parameter(Tensor.zeros(e, 2 * inner, d)), std=0.02)
        self.down_proj = nn.init.normal_(nn.Parameter(Tensor.zeros(e, d, inner)), std=0.02)
        self.act = activation(act)

    def forward(self, x: Tensor, shares: Tensor, taken: Tensor) -> Tensor:
        """shares: of the experts that a token takes, [t, k]; taken: their numbers, [t, k]."""
        t, k = shares.shape
        gate_up, down = self.gate_up_proj, self.down_proj
        if t * k < gate_up.shape[0]:  # few tokens: their experts' weights alone are read
            both = (gate_up[taken] @ x.reshape(t, 1, -1, 1)).squeeze(-1)  # [t, k, 2 inner]
            gate, up = both.chunk(2, -1)
            y = (down[taken] @ (self.act(gate) * up).unsqueeze(-1)).squeeze(-1)
            return (y * shares.unsqueeze(-1)).sum(1)
        gate, up = (x.unsqueeze(0) @ gate_up.transpose(1, 2)).chunk(2, -1)  # [experts, t, inner] twice
        y = (self.act(gate) * up) @ down.transpose(1, 2)
        whole = Tensor.zeros(t, gate_up.shape[0], dtype=x.dtype, device=x.device).scatter(1, taken, shares)
        return (y * whole.transpose(0, 1).unsqueeze(-1)).sum(0)


class SharedExpert(nn.Module):
    """A gated perceptron that all tokens take. [t, d] -> [t, d]"""

    def __init__(self, d: int, inner: int, act: str):
        self.gate_proj, self.up_proj = nn.Linear(d, inner, False), nn.Linear(d, inner, False)
        self.down_proj, self.act = nn.Linear(inner, d, False), activation(act)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.act(self.gate_proj(x)) * self.up_proj(x))


class ExpertMLP(nn.Module):
    """Experts in place of a layer's perceptron: each token takes those with the best scores. [b, n, d] -> [b,
    n, d]"""

    def __init__(self, sizes: ExpertSizes, act: str):
        self.sizes = sizes
        self.gate, self.experts = Router(sizes), Experts(sizes, act)
        if sizes.shared:
            self.shared_expert = SharedExpert(sizes.features, sizes.shared, act)
            self.shared_expert_gate = nn.Linear(sizes.features, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, x.shape[-1])
        # float32: shares in 16 bits would choose other experts
        shares, taken = self.gate(flat).float().softmax(-1).topk(self.sizes.taken, -1)
        if self.sizes.scales:
            shares = shares / shares.sum(-1, keepdim=True)
        y = self.experts(flat, shares.to(x.dtype), taken.to(dt.int32))
        if self.sizes.shared:
            y = y + self.shared_expert_gate(flat).sigmoid() * self.shared_expert(flat)
        return y.reshape(*x.shape)


def stacked(state: dict[str, Any], layers: int) -> dict[str, Any]:
    """Join the experts of files that have a tensor for each, or gates and other weights apart, as ours are.

    state: under ours, or Mixtral's, Qwen's or llama.cpp's names of experts.
    """
    out = dict(state)
    for i in range(layers):
        layer_prefix = f"model.layers.{i}."
        for prefix, names in (("mlp.", OWN), ("block_sparse_moe.", MIXTRAL)):
            if f"{layer_prefix}{prefix}experts.0.{names[0]}.weight" in out:
                gate, up, down = (_join(out, f"{layer_prefix}{prefix}experts.", name) for name in names)
                _put(out, f"{layer_prefix}mlp.experts.", gate, up, down)
        if (router := out.pop(f"{layer_prefix}block_sparse_moe.gate.weight", None)) is not None:
            out[f"{layer_prefix}mlp.gate.weight"] = router
        if f"{layer_prefix}mlp.experts.gate" in out:  # llama.cpp's
            gate, up, down = (out.pop(f"{layer_prefix}mlp.experts.{name}") for name in ("gate", "up", "down"))
            _put(out, f"{layer_prefix}mlp.experts.", gate, up, down)
    return out


OWN, MIXTRAL = ("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2")


def _join(out: dict[str, Any], prefix: str, name: str) -> Tensor:
    """Return the weights of all experts as one tensor."""
    parts: list[Tensor] = []
    while (weight := out.pop(f"{prefix}{len(parts)}.{name}.weight", None)) is not None:
        parts.append(tensor(weight, device="cpu"))
    return stack(parts)


def _put(out: dict[str, Any], prefix: str, gate: Tensor, up: Tensor, down: Tensor) -> None:
    out[f"{prefix}gate_up_proj"] = cat([gate, up], 1)
    out[f"{prefix}down_proj"] = down

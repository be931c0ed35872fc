"""einops: rearrange, reduce, repeat, einsum, pack, and its layers in a model that is trained."""

import torch
from einops import asnumpy, einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8)
print("patches", rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4).shape)
print("pooled", [round(v, 4) for v in reduce(x, "b c h w -> b c", "max").flatten().tolist()])
print("repeated", repeat(x[:, 0], "b h w -> (b r) h w", r=2).shape, parse_shape(x, "b c _ _"))
print("einsum", f"{einsum(x, x, 'b c h w, b d h w -> b c d').sum().item():.3f}")
packed, shapes = pack([x, x[:, :, 0]], "b c *")
print("packed", packed.shape, shapes, [u.shape for u in unpack(packed, shapes, "b c *")])
print("numpy", asnumpy(rearrange(x, "b c h w -> (b c) (h w)")).shape, rearrange([x, x], "k b c h w -> b k c h w").shape)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)

    def forward(self, t):
        q, k, v = rearrange(self.qkv(self.norm(t)), "b n (k h d) -> k b h n d", k=3, h=2).unbind(0)
        weights = einsum(q, k, "b h i d, b h j d -> b h i j").softmax(-1)
        return t + rearrange(einsum(weights, v, "b h i j, b h j d -> b h i d"), "b h n d -> b n (h d)")


model = nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=4, q=4),
    nn.Linear(48, 16),
    Block(16),
    EinMix("b n c -> b n2 c", weight_shape="n n2", bias_shape="n2 c", n=4, n2=3, c=16),
    Reduce("b n c -> b c", "mean"),
    nn.Linear(16, 5),
)
print(model)
optimizer = torch.optim.Adam(model.parameters(), 0.01)
for step in range(3):
    loss = nn.functional.cross_entropy(model(x), torch.tensor([1, 3]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, f"{loss.item():.4f}")

"""Attention: each position of a sequence looks at earlier ones. The picture shows how much at which."""

import math

import flambeau as fb
from flambeau import nn
from flambeau.pictures import image

fb.manual_seed(0)
LENGTH, WIDTH = 48, 32
place = fb.arange(LENGTH).float().unsqueeze(1) / 4 ** (fb.arange(WIDTH // 2).float() / 3)
x = fb.cat([place.sin(), place.cos()], 1)  # positions as waves
later = fb.ones(LENGTH, LENGTH).triu(1).bool()

weights = (x @ x.T / math.sqrt(WIDTH)).masked_fill(later, float("-inf")).softmax(1)
print("row sums:", weights.sum(1)[:4].tolist())
image(weights.sqrt()).show()

fused = nn.functional.scaled_dot_product_attention(
    x[None, None], x[None, None], x[None, None], is_causal=True
)
print("the fused kernel differs by", f"{(fused[0, 0] - weights @ x).abs().max().item():.1e}")

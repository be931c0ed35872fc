"""Two custom ops: a fused activation, and an attention that never stores its scores.

python examples/custom_op.py

Values and gradients of both agree with their references; the activation and 3 ops around it are 1 kernel.
"""

import argparse

import numpy as np

import flambeau as fb
from flambeau.testing import check_op

# --- an activation: one WGSL expression, the gradient in tensor ops, a reference for the tests ---

snake = fb.custom_op(
    "snake",
    inputs=["x", "a"],
    expression="{{ x }} + sin({{ a }} * {{ x }}) * sin({{ a }} * {{ x }}) / {{ a }}",
    reference=lambda xp, x, a: x + xp.sin(a * x) ** 2 / a,
    grad=lambda g, y, x, a: [
        g * (1 + (x * a * 2).sin()),
        g * ((x * a * 2).sin() * x / a - (a * x).sin().square() / (a * a)),
    ],
    doc="x + sin(a x)^2 / a (Ziyin et al., 2020)",
)

# --- attention: a thread a query, keys one by one, the maximum and the sum carried along ---

KERNEL = """
//% extends "launch.wgsl"
//% block work
  let row = group * 64u + lid.x;
  if (row < p.queries) {
//% for c in range(d)
    let q{{ c }} = in0[row * {{ d }}u + {{ c }}u] * p.scale;
    var y{{ c }} = 0.0;
//% endfor
    var top = -3.4028234e38;
    var total = 0.0;
    for (var k = 0u; k < p.keys; k++) {
      var score = 0.0;
//% for c in range(d)
      score += q{{ c }} * in1[k * {{ d }}u + {{ c }}u];
//% endfor
      let peak = max(top, score);
      let fade = exp(top - peak);
      let weight = exp(score - peak);
      total = total * fade + weight;
//% for c in range(d)
      y{{ c }} = y{{ c }} * fade + weight * in2[k * {{ d }}u + {{ c }}u];
//% endfor
      top = peak;
    }
//% for c in range(d)
    out[row * {{ d }}u + {{ c }}u] = y{{ c }} / total;
//% endfor
  }
//% endblock
"""


def launch(limits, q, k, v):
    queries, d = q.shape
    sizes = {"queries": queries, "keys": k.shape[0], "scale": d**-0.5}
    return [fb.Launch("", reads=(0, 1, 2), groups=-(-queries // 64), sizes=sizes, options={"d": d})]


def reference(xp, q, k, v):
    scores = q @ k.T / q.shape[1] ** 0.5
    weights = xp.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ v


def gradient(g, y, q, k, v):
    """Written in tensor ops, so that it can be differentiated again."""
    scale = q.shape[1] ** -0.5
    weights = ((q @ k.T) * scale).softmax(1)
    slopes = weights * (g @ v.T - (g * y).sum(1, keepdim=True)) * scale
    return [slopes @ k, slopes.T @ q, weights.T @ g]


attention = fb.custom_op(
    "tiny_attention",
    inputs=["q", "k", "v"],
    kernel=KERNEL,
    launch=launch,
    reference=reference,
    grad=gradient,
    shape=lambda q, k, v: q,
    doc="softmax(q @ k.T / sqrt(d)) @ v. [n, d], [m, d], [m, d] -> [n, d]",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1, help="how many drawn inputs each op is checked with")
    for seed in range(parser.parse_args().steps):
        check(seed)


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, a = rng.normal(size=(4, 5)).astype("f4"), rng.uniform(0.5, 2, (5,)).astype("f4")
    check_op(snake, x, a)
    q, k, v = (rng.normal(size=(n, 8)).astype("f4") for n in (70, 30, 30))
    check_op(attention, q, k, v)
    y = snake(fb.tensor(x) * 2 + 1, fb.tensor(a)).relu()
    print(y.plan())  # one kernel: mul+add+snake+relu
    print(attention(fb.tensor(q), fb.tensor(k), fb.tensor(v)).shape)


if __name__ == "__main__":
    main()

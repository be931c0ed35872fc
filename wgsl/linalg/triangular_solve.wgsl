//# X with A X = B, A [n, n] triangular, B [n, cols]: a thread solves a column, with no barrier.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.count) {
    return;
  }
  let n = p.size;
  let a = (i / p.cols) * n * n;
  let b = (i / p.cols) * n * p.cols + i % p.cols;
  for (var step = 0u; step < n; step++) {
    let r = {{ "n - 1u - step" if upper else "step" }};
    var x = value_at(b + r * p.cols);
    for (var done = 0u; done < step; done++) {
      let c = {{ "n - 1u - done" if upper else "done" }};
      x -= in0[a + r * n + c] * out[b + c * p.cols];
    }
    out[b + r * p.cols] = x{{ " / in0[a + r * n + r]" if not unit }};
  }
//% endblock

//# [n, n] -> its lower factor, from the lower triangle; NaN from the first row that shows it not positive definite.
//% extends "launch.wgsl"
//% block work
  if (group >= p.count) {
    return;
  }
  let n = p.size;
  let nan = {{ wgsl("f32", 1).nan }};
  let base = group * n * n;
  for (var i = lid.x; i < n * n; i += {{ workgroup[0] }}u) {
    var x = 0.0;
    if (i % n <= i / n) {
      x = value_at(base + i);
    }
    out[base + i] = x;
  }
  // the diagonal holds squares until the end: others read it while its root is taken
  for (var k = 0u; k < n; k++) {
    storageBarrier();
    for (var r = k + lid.x; r < n; r += {{ workgroup[0] }}u) {
      var rest = out[base + r * n + k];
      for (var c = 0u; c < k; c++) {
        rest -= out[base + r * n + c] * out[base + k * n + c];
      }
      out[base + r * n + k] = rest;
    }
    storageBarrier();
    let square = out[base + k * n + k];
    let root = select(nan, sqrt(max(square, 0.0)), square > 0.0);
    for (var r = k + 1u + lid.x; r < n; r += {{ workgroup[0] }}u) {
      out[base + r * n + k] /= root;
    }
  }
  storageBarrier();
  for (var k = lid.x; k < n; k += {{ workgroup[0] }}u) {
    let square = out[base + k * n + k];
    out[base + k * n + k] = select(nan, sqrt(max(square, 0.0)), square > 0.0);
  }
//% endblock

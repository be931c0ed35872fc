//# [n, n] -> its lower factor, from the lower triangle; NaN from the first row that shows it not positive definite. n is
//# at most `block`: the matrix lies in workgroup memory, column by column, so that neighbouring threads, which have
//# neighbouring rows, read neighbouring words. Column k is subtracted from the columns behind it before it is divided by
//# the root of its diagonal element, so a column takes one barrier.
//% extends "launch.wgsl"
//% block shared
var<workgroup> columns: array<f32, {{ block * block }}>;
//% endblock
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
    columns[i % n * n + i / n] = x;
  }
  let down = lid.x % {{ down }}u;
  let across = lid.x / {{ down }}u;
  for (var k = 0u; k < n; k++) {
    workgroupBarrier();
    let square = columns[k * n + k];
    let divisor = select(nan, square, square > 0.0);
    for (var r = k + 1u + down; r < n; r += {{ down }}u) {
      let part = columns[k * n + r] / divisor;
      for (var c = k + 1u + across; c <= r; c += {{ workgroup[0] // down }}u) {
        columns[c * n + r] -= part * columns[k * n + c];
      }
    }
  }
  workgroupBarrier();
  for (var i = lid.x; i < n * n; i += {{ workgroup[0] }}u) {
    let square = columns[i % n * n + i % n];
    let root = select(nan, sqrt(max(square, 0.0)), square > 0.0);
    let below = select(0.0, columns[i % n * n + i / n] / root, i % n < i / n);
    out[base + i] = select(below, root, i % n == i / n);
  }
//% endblock

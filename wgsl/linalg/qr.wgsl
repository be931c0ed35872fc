//# [rows, cols] -> [rows + 1, cols]: R on and above the diagonal, Householder vectors (1 first) below, taus last.
//# At most 32 columns: thread t has column t % 32 and a share of its rows.
//% extends "launch.wgsl"
//% block shared
var<workgroup> parts: array<f32, {{ workgroup[0] }}>;
//% endblock
//% block work
  if (group >= p.count) {
    return;
  }
  let n = p.cols;
  let base = group * (p.rows + 1u) * n;
  let column = lid.x % 32u;
  let share = lid.x / 32u;
  for (var i = lid.x; i < (p.rows + 1u) * n; i += {{ workgroup[0] }}u) {
    var x = 0.0;
    if (i < p.rows * n) {
      x = value_at(group * p.rows * n + i);
    }
    out[base + i] = x;
  }
  storageBarrier();
  workgroupBarrier();
  for (var k = 0u; k < min(p.rows, n); k++) {
    var part = 0.0;
    for (var r = k + 1u + lid.x; r < p.rows; r += {{ workgroup[0] }}u) {
      let x = out[base + r * n + k];
      part += x * x;
    }
    parts[lid.x] = part;
    let alpha = out[base + k * n + k];
    storageBarrier();
    workgroupBarrier();
    var below = 0.0;
    for (var s = 0u; s < min({{ workgroup[0] }}u, p.rows - k - 1u); s++) {
      below += parts[s];
    }
    let none = below == 0.0;
    let size = sqrt(alpha * alpha + below);
    let beta = select(select(size, -size, alpha >= 0.0), alpha, none);
    let tau = select((beta - alpha) / beta, 0.0, none);
    let away = select(alpha - beta, 1.0, none);
    for (var r = k + 1u + lid.x; r < p.rows; r += {{ workgroup[0] }}u) {
      out[base + r * n + k] /= away;
    }
    if (lid.x == 0u) {
      out[base + k * n + k] = beta;
      out[base + p.rows * n + k] = tau;
    }
    storageBarrier();
    workgroupBarrier();
    let mine = (column > k) & (column < n);
    var along = 0.0;
    if (mine) {
      for (var r = k + 1u + share; r < p.rows; r += {{ workgroup[0] // 32 }}u) {
        along += out[base + r * n + k] * out[base + r * n + column];
      }
      along += select(0.0, out[base + k * n + column], share == 0u);
    }
    parts[lid.x] = along;
    workgroupBarrier();
    if (mine) {
      along = 0.0;
      for (var s = column; s < {{ workgroup[0] }}u; s += 32u) {
        along += parts[s];
      }
      along *= tau;
      for (var r = k + 1u + share; r < p.rows; r += {{ workgroup[0] // 32 }}u) {
        out[base + r * n + column] -= along * out[base + r * n + k];
      }
      if (share == 0u) {
        out[base + k * n + column] -= along;
      }
    }
    storageBarrier();
    workgroupBarrier();
  }
//% endblock

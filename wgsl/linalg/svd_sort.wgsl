//# The state of linalg/jacobi_svd.wgsl -> [2 * n + 1, n]: singular values descending, then A V and V, a column each.
//% extends "launch.wgsl"
//% block shared
var<workgroup> norms: array<f32, {{ most }}>;
//% endblock
//% block work
  if (group >= p.count) {
    return;
  }
  let n = p.n;
  let wide = n + p.size;
  let base = group * (p.size * wide + 2u);
  let to = group * (2u * n + 1u) * n;
  for (var i = lid.x; i < n; i += {{ workgroup[0] }}u) {
    var squares = 0.0;
    for (var r = 0u; r < n; r++) {
      let x = in0[base + i * wide + r];
      squares += x * x;
    }
    norms[i] = sqrt(squares);
  }
  workgroupBarrier();
  for (var i = lid.x; i < n; i += {{ workgroup[0] }}u) {
    let mine = bitcast<u32>(norms[i]);
    var rank = 0u;
    for (var j = 0u; j < n; j++) {
      let other = bitcast<u32>(norms[j]);
      rank += select(0u, 1u, (other > mine) | ((other == mine) & (j < i)));
    }
    out[to + rank] = norms[i];
    for (var r = 0u; r < 2u * n; r++) {
      out[to + (r + 1u) * n + rank] = in0[base + i * wide + r];
    }
  }
//% endblock

//# The state of linalg/jacobi_eigh.wgsl -> [n + 1, n]: eigenvalues ascending, then eigenvectors as columns. NaN in any order.
//% extends "launch.wgsl"
//% block shared
fn key(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}
//% endblock
//% block work
  if (group >= p.count) {
    return;
  }
  let n = p.n;
  let base = group * (2u * p.size * p.size + 2u);
  for (var i = lid.x; i < n; i += {{ workgroup[0] }}u) {
    let value = in0[base + i * p.size + i];
    let mine = key(value);
    var rank = 0u;
    for (var j = 0u; j < n; j++) {
      let other = key(in0[base + j * p.size + j]);
      rank += select(0u, 1u, (other < mine) | ((other == mine) & (j < i)));
    }
    out[group * (n + 1u) * n + rank] = value;
    for (var r = 0u; r < n; r++) {
      out[group * (n + 1u) * n + (r + 1u) * n + rank] = in0[base + (p.size + i) * p.size + r];
    }
  }
//% endblock

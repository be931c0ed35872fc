// max
struct Params {
  n0: u32,
  n1: u32,
  s2: u32,
  g3: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(c0: u32, r0: u32) -> f32 {
  let t0 = in0[c0 + r0 * p.s2];
  return t0;
}
fn finish(acc: f32, e0: u32) -> f32 {
  let t0 = acc;
  return t0;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let i = (wid.x + wid.y * (p.g3 / 64u)) * 64u + lid.x;
  if (i >= p.n0) {
    return;
  }
  let row = i;
  let part = 0u;
  let c0 = row;
  var total = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  for (var r0 = 0u; r0 < p.n1; r0 += 1u) {
    let x = value(c0, r0);
    total = nanmax_f32(total, x);
  }
  let result = total;
  let e = row;
  let e0 = e;
  out[i] = finish(result, e0);
}
fn nanmax_f32(a: f32, b: f32) -> f32 {
  let kept = select(max(a, b), a, (bitcast<u32>(a) & u32(0x7fffffffu)) > u32(0x7f800000u));
  return select(kept, b, (bitcast<u32>(b) & u32(0x7fffffffu)) > u32(0x7f800000u));
}

// max+where
struct Params {
  n0: u32,
  n1: u32,
  n2: u32,
  n3: u32,
  n4: u32,
  v5: u32,
  s6: u32,
  o7: u32,
  n8: u32,
  s9: u32,
  o10: u32,
  n11: u32,
  s12: u32,
  s13: u32,
  s14: u32,
  s15: u32,
  o16: u32,
  s17: u32,
  o18: u32,
  n19: u32,
  s20: u32,
  o21: u32,
  n22: u32,
  v23: f32,
  g24: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(c0: u32, c1: u32, c2: u32, r0: u32, r1: u32) -> f32 {
  let t0 = bool(p.v5 != 0u);
  let t1 = select(bool(false), t0, ((p.o7 + c1 * p.s6 + r0) < p.n8) & ((p.o10 + c2 * p.s9 + r1) < p.n11));
  let t2_ok = ((p.o18 + c1 * p.s17 + r0) < p.n19) & ((p.o21 + c2 * p.s20 + r1) < p.n22);
  let t2_at = select(0u, p.o16 + c0 * p.s12 + c1 * p.s13 + c2 * p.s14 + r0 * p.s15 + r1, t2_ok);
  let t2 = select(f32(0), in0[t2_at], t2_ok);
  let t3 = f32(p.v23);
  let t4 = select(t3, t2, t1);
  return t4;
}
fn finish(acc: f32, e0: u32) -> f32 {
  let t0 = acc;
  return t0;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let i = (wid.x + wid.y * (p.g24 / 64u)) * 64u + lid.x;
  if (i >= p.n0) {
    return;
  }
  let row = i;
  let part = 0u;
  var row_rest = row;
  let c2 = row_rest % p.n2;
  row_rest /= p.n2;
  let c1 = row_rest % p.n1;
  row_rest /= p.n1;
  let c0 = row_rest;
  var total = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  for (var r0 = 0u; r0 < p.n3; r0 += 1u) {
    for (var r1 = 0u; r1 < p.n4; r1 += 1u) {
      let x = value(c0, c1, c2, r0, r1);
      total = nanmax_f32(total, x);
    }
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

// max+where
struct Params {
  n0: u32,
  n1: u32,
  n2: u32,
  n3: u32,
  v4: u32,
  s5: u32,
  o6: u32,
  n7: u32,
  s8: u32,
  o9: u32,
  n10: u32,
  s11: u32,
  s12: u32,
  s13: u32,
  s14: u32,
  o15: u32,
  s16: u32,
  o17: u32,
  n18: u32,
  s19: u32,
  o20: u32,
  n21: u32,
  v22: f32,
  n23: u32,
  n24: u32,
  n25: u32,
  n26: u32,
  g27: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(c0: u32, c1: u32, c2: u32, r0: u32, r1: u32) -> f32 {
  let t0 = bool(p.v4 != 0u);
  let t1 = select(bool(false), t0, ((p.o6 + c1 * p.s5 + r0) < p.n7) & ((p.o9 + c2 * p.s8 + r1) < p.n10));
  let t2_ok = ((p.o17 + c1 * p.s16 + r0) < p.n18) & ((p.o20 + c2 * p.s19 + r1) < p.n21);
  let t2_at = select(0u, p.o15 + c0 * p.s11 + c1 * p.s12 + c2 * p.s13 + r0 * p.s14 + r1, t2_ok);
  let t2 = select(f32(0), in0[t2_at], t2_ok);
  let t3 = f32(p.v22);
  let t4 = select(t3, t2, t1);
  return t4;
}
fn finish(acc: f32, e0: u32) -> f32 {
  let t0 = acc;
  return t0;
}
var<workgroup> box: array<f32, 256>;
fn element(k: u32, c0: u32, c1: u32, c2: u32) -> f32 {
  var k_rest = k;
  let r1 = k_rest % p.n3;
  k_rest /= p.n3;
  let r0 = k_rest;
  return value(c0, c1, c2, r0, r1);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let lane = lid.x % 8u;
  let group = wid.x + wid.y * p.g27;
  let row = (group % p.n26) * 32u + lid.x / 8u;
  let part = group / p.n26;
  let is_row = (row < p.n23) & (part < 1u);
  var row_rest = row;
  let c2 = row_rest % p.n1;
  row_rest /= p.n1;
  let c1 = row_rest % p.n0;
  row_rest /= p.n0;
  let c0 = row_rest;
  let first = part * p.n25;
  let last = select(0u, min(first + p.n25, p.n24), is_row);
  var t0 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var t1 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var t2 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var t3 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var k = first + lane * 1u;
  for (; k + 24u < last; k += 32u) {
    let x0 = element(k + 0u, c0, c1, c2);
    let x1 = element(k + 8u, c0, c1, c2);
    let x2 = element(k + 16u, c0, c1, c2);
    let x3 = element(k + 24u, c0, c1, c2);
    t0 = nanmax_f32(t0, x0);
    t1 = nanmax_f32(t1, x1);
    t2 = nanmax_f32(t2, x2);
    t3 = nanmax_f32(t3, x3);
  }
  for (; k < last; k += 8u) {
    let x = element(k, c0, c1, c2);
    t0 = nanmax_f32(t0, x);
  }
  let t4 = nanmax_f32(t0, t1);
  let t5 = nanmax_f32(t2, t3);
  let t = nanmax_f32(t4, t5);
  var joined = t;
  box[lid.x] = joined;
  workgroupBarrier();
  if (lane < 4u) {
    let other = box[lid.x + 4u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  box[lid.x] = joined;
  workgroupBarrier();
  if (lane < 2u) {
    let other = box[lid.x + 2u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  box[lid.x] = joined;
  workgroupBarrier();
  if (lane < 1u) {
    let other = box[lid.x + 1u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  if (is_row & (lane == 0u)) {
    let result = joined;
    let e = row;
    let e0 = e;
    out[row] = finish(result, e0);
  }
}
fn nanmax_f32(a: f32, b: f32) -> f32 {
  let kept = select(max(a, b), a, (bitcast<u32>(a) & u32(0x7fffffffu)) > u32(0x7f800000u));
  return select(kept, b, (bitcast<u32>(b) & u32(0x7fffffffu)) > u32(0x7f800000u));
}

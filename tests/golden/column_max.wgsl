// max
struct Params {
  stride: u32,
  rows: u32,
  length: u32,
  chunk: u32,
  blocks: u32,
  line: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(c0: u32, r0: u32) -> f32 {
  let t0 = in0[c0 + r0 * p.stride];
  return t0;
}
fn end0(acc: f32, e0: u32) -> f32 {
  let t0 = acc;
  return t0;
}
var<workgroup> partials: array<f32, 256>;
fn element(k: u32, c0: u32) -> f32 {
  let r0 = k;
  return value(c0, r0);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let lane = lid.x / 8u;
  let group = wid.x + wid.y * p.line;
  let row = (group % p.blocks) * 8u + lid.x % 8u;
  let part = group / p.blocks;
  let is_row = (row < p.rows) & (part < 1u);
  let c0 = row;
  let first = part * p.chunk;
  let last = select(0u, min(first + p.chunk, p.length), is_row);
  var t0 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var t1 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var t2 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var t3 = f32(bitcast<f32>(0xff800000u | min(lid.x, 0u)));
  var k = first + lane * 1u;
  for (; k + 96u < last; k += 128u) {
    let x0 = element(k + 0u, c0);
    let x1 = element(k + 32u, c0);
    let x2 = element(k + 64u, c0);
    let x3 = element(k + 96u, c0);
    t0 = nanmax_f32(t0, x0);
    t1 = nanmax_f32(t1, x1);
    t2 = nanmax_f32(t2, x2);
    t3 = nanmax_f32(t3, x3);
  }
  for (; k < last; k += 32u) {
    let x = element(k, c0);
    let y = x;
    t0 = nanmax_f32(t0, y);
  }
  let t4 = nanmax_f32(t0, t1);
  let t5 = nanmax_f32(t2, t3);
  let t = nanmax_f32(t4, t5);
  var joined = t;
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 16u) {
    let other = partials[lid.x + 128u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 8u) {
    let other = partials[lid.x + 64u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 4u) {
    let other = partials[lid.x + 32u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 2u) {
    let other = partials[lid.x + 16u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 1u) {
    let other = partials[lid.x + 8u];
    joined = nanmax_f32(joined, other);
  }
  workgroupBarrier();
  if (is_row & (lane == 0u)) {
    let result = joined;
    let e = row;
    let e0 = e;
    out[row] = end0(result, e0);
  }
}
fn nanmax_f32(a: f32, b: f32) -> f32 {
  let kept = select(max(a, b), a, (bitcast<u32>(a) & u32(0x7fffffffu)) > u32(0x7f800000u));
  return select(kept, b, (bitcast<u32>(b) & u32(0x7fffffffu)) > u32(0x7f800000u));
}

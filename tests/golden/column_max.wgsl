// max
// reduce/tree.wgsl, 256 threads
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
fn value(row: u32, k: u32) -> f32 {
  let t0 = in0[row + k * p.stride];
  return t0;
}
fn end0(acc: f32, row: u32) -> f32 {
  return acc;
}
var<workgroup> partials: array<f32, 256>;
fn element(k: u32, row: u32) -> f32 {
  return value(row, k);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  // the row of this thread, and its part of it
  let lane = lid.x / 8u;
  let group = wid.x + wid.y * p.line;
  let row = (group % p.blocks) * 8u + lid.x % 8u;
  let part = group / p.blocks;
  let is_row = (row < p.rows) & (part < 1u);
  let first = part * p.chunk;
  let last = select(0u, min(first + p.chunk, p.length), is_row);
  // max of its part, four at a time
  var t0 = f32(minus_infinity_f32());
  var t1 = f32(minus_infinity_f32());
  var t2 = f32(minus_infinity_f32());
  var t3 = f32(minus_infinity_f32());
  var k = first + lane;
  for (; k + 96u < last; k += 128u) {
    let x0 = element(k, row);
    let x1 = element(k + 32u, row);
    let x2 = element(k + 64u, row);
    let x3 = element(k + 96u, row);
    t0 = nanmax_f32(t0, x0);
    t1 = nanmax_f32(t1, x1);
    t2 = nanmax_f32(t2, x2);
    t3 = nanmax_f32(t3, x3);
  }
  for (; k < last; k += 32u) {
    let x = element(k, row);
    let y = x;
    t0 = nanmax_f32(t0, y);
  }
  let t4 = nanmax_f32(t0, t1);
  let t5 = nanmax_f32(t2, t3);
  let t = nanmax_f32(t4, t5);
  var joined = t;
  // join the threads of the row
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
  // write one value a row
  if (is_row & (lane == 0u)) {
    let result = joined;
    out[row] = end0(result, row);
  }
}
// minus infinity: its bits go through a variable, since WGSL rejects a constant expression that is not finite
fn minus_infinity_f32() -> f32 {
  var bits = 0xff800000u;
  return bitcast<f32>(bits);
}
fn nanmax_f32(a: f32, b: f32) -> f32 {
  let kept = select(max(a, b), a, (bitcast<u32>(a) & u32(0x7fffffffu)) > u32(0x7f800000u));
  return select(kept, b, (bitcast<u32>(b) & u32(0x7fffffffu)) > u32(0x7f800000u));
}

// sum+mul
// reduce/tree.wgsl, 256 threads: mul
struct Params {
  row_dim: u32,
  reduced: u32,
  stride: u32,
  stride1: u32,
  scalar: f32,
  rows: u32,
  length: u32,
  chunk: u32,
  blocks: u32,
  line: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(c0: u32, c1: u32, r0: u32, r1: u32) -> f32 {
  let t0 = in0[c0 * p.stride + c1 + r0 * p.stride1 + r1];
  return t0;
}
fn end0(acc: f32, row: u32) -> f32 {
  let t1 = f32(p.scalar);
  let t2 = (acc * t1);
  return t2;
}
var<workgroup> partials: array<f32, 256>;
fn element(k: u32, c0: u32, c1: u32) -> f32 {
  var k_rest = k;
  let r1 = k_rest % p.reduced;
  k_rest /= p.reduced;
  let r0 = k_rest;
  return value(c0, c1, r0, r1);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  // the row of this thread, and its part of it
  let lane = lid.x % 8u;
  let group = wid.x + wid.y * p.line;
  let row = (group % p.blocks) * 32u + lid.x / 8u;
  let part = group / p.blocks;
  let is_row = (row < p.rows) & (part < 1u);
  var row_rest = row;
  let c1 = row_rest % p.row_dim;
  row_rest /= p.row_dim;
  let c0 = row_rest;
  let first = part * p.chunk;
  let last = select(0u, min(first + p.chunk, p.length), is_row);
  // sum of its part, four at a time
  var t0 = f32(0);
  var t1 = f32(0);
  var t2 = f32(0);
  var t3 = f32(0);
  var k = first + lane;
  for (; k + 24u < last; k += 32u) {
    let x0 = element(k, c0, c1);
    let x1 = element(k + 8u, c0, c1);
    let x2 = element(k + 16u, c0, c1);
    let x3 = element(k + 24u, c0, c1);
    t0 = t0 + x0;
    t1 = t1 + x1;
    t2 = t2 + x2;
    t3 = t3 + x3;
  }
  for (; k < last; k += 8u) {
    let x = element(k, c0, c1);
    let y = x;
    t0 = t0 + y;
  }
  let t4 = t0 + t1;
  let t5 = t2 + t3;
  let t = t4 + t5;
  var joined = t;
  // join the threads of the row
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 4u) {
    let other = partials[lid.x + 4u];
    joined = joined + other;
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 2u) {
    let other = partials[lid.x + 2u];
    joined = joined + other;
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 1u) {
    let other = partials[lid.x + 1u];
    joined = joined + other;
  }
  workgroupBarrier();
  // write one value a row
  if (is_row & (lane == 0u)) {
    let result = joined;
    out[row] = end0(result, row);
  }
}

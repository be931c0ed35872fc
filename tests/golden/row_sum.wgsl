// sum+mul+sqrt
// reduce/tree.wgsl, 256 threads: mul, sqrt
struct Params {
  stride: u32,
  scalar: f32,
  rows: u32,
  length: u32,
  chunk: u32,
  blocks: u32,
  line: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(row: u32, k: u32) -> vec4<f32> {
  let t0 = in0[(row * p.stride + k) / 4u];
  let t1 = vec4<f32>(p.scalar);
  let t2 = (t0 * t1);
  return t2;
}
fn end0(acc: f32, row: u32) -> f32 {
  let t1 = sqrt(acc);
  return t1;
}
var<workgroup> partials: array<f32, 256>;
fn element(k: u32, row: u32) -> vec4<f32> {
  return value(row, k);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  // the row of this thread, and its part of it
  let lane = 0u;
  let group = wid.x + wid.y * p.line;
  let row = (group % p.blocks) * 256u + lid.x;
  let part = group / p.blocks;
  let is_row = (row < p.rows) & (part < 1u);
  let first = part * p.chunk;
  let last = select(0u, min(first + p.chunk, p.length), is_row);
  // sum of its part, four at a time
  var t0 = vec4<f32>(0);
  var t1 = vec4<f32>(0);
  var t2 = vec4<f32>(0);
  var t3 = vec4<f32>(0);
  var k = first + lane * 4u;
  for (; k + 15u < last; k += 16u) {
    let x0 = element(k, row);
    let x1 = element(k + 4u, row);
    let x2 = element(k + 8u, row);
    let x3 = element(k + 12u, row);
    t0 = t0 + x0;
    t1 = t1 + x1;
    t2 = t2 + x2;
    t3 = t3 + x3;
  }
  for (; k < last; k += 4u) {
    let x = element(k, row);
    let inside = vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(last);
    let y = select(vec4<f32>(0), x, inside);
    t0 = t0 + y;
  }
  let t4 = t0 + t1;
  let t5 = t2 + t3;
  let t = t4 + t5;
  let low = t.x + t.y;
  let high = t.z + t.w;
  var joined = low + high;
  // join the threads of the row
  // write one value a row
  if (is_row & (lane == 0u)) {
    let result = joined;
    out[row] = end0(result, row);
  }
}

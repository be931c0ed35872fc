// sum+mul+sqrt
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
fn value(c0: u32, r0: u32) -> vec4<f32> {
  let t0 = in0[(c0 * p.stride + r0) / 4u];
  let t1 = vec4<f32>(p.scalar);
  let t2 = (t0 * t1);
  return t2;
}
fn end0(acc: f32, e0: u32) -> f32 {
  let t0 = acc;
  let t1 = sqrt(t0);
  return t1;
}
var<workgroup> partials: array<f32, 256>;
fn element(k: u32, c0: u32) -> vec4<f32> {
  let r0 = k;
  return value(c0, r0);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let lane = lid.x % 1u;
  let group = wid.x + wid.y * p.line;
  let row = (group % p.blocks) * 256u + lid.x / 1u;
  let part = group / p.blocks;
  let is_row = (row < p.rows) & (part < 1u);
  let c0 = row;
  let first = part * p.chunk;
  let last = select(0u, min(first + p.chunk, p.length), is_row);
  var t0 = vec4<f32>(0);
  var t1 = vec4<f32>(0);
  var t2 = vec4<f32>(0);
  var t3 = vec4<f32>(0);
  var k = first + lane * 4u;
  for (; k + 15u < last; k += 16u) {
    let x0 = element(k + 0u, c0);
    let x1 = element(k + 4u, c0);
    let x2 = element(k + 8u, c0);
    let x3 = element(k + 12u, c0);
    t0 = t0 + x0;
    t1 = t1 + x1;
    t2 = t2 + x2;
    t3 = t3 + x3;
  }
  for (; k < last; k += 4u) {
    let x = element(k, c0);
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
  if (is_row & (lane == 0u)) {
    let result = joined;
    let e = row;
    let e0 = e;
    out[row] = end0(result, e0);
  }
}

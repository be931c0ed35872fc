// sum
// reduce/tree.wgsl, 256 threads
struct Params {
  rows: u32,
  length: u32,
  chunk: u32,
  blocks: u32,
  line: u32,
  parts: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(k: u32) -> vec4<f32> {
  let t0 = in0[k / 4u];
  return t0;
}
var<workgroup> partials: array<f32, 256>;
fn element(k: u32) -> vec4<f32> {
  return value(k);
}
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  // the row of this thread, and its part of it
  let lane = lid.x % 256u;
  let group = wid.x + wid.y * p.line;
  let row = group % p.blocks;
  let part = group / p.blocks;
  let is_row = (row < p.rows) & (part < p.parts);
  let first = part * p.chunk;
  let last = select(0u, min(first + p.chunk, p.length), is_row);
  // sum of its part, four at a time
  var t0 = vec4<f32>(0);
  var t1 = vec4<f32>(0);
  var t2 = vec4<f32>(0);
  var t3 = vec4<f32>(0);
  var k = first + lane * 4u;
  for (; k + 3075u < last; k += 4096u) {
    let x0 = element(k);
    let x1 = element(k + 1024u);
    let x2 = element(k + 2048u);
    let x3 = element(k + 3072u);
    t0 = t0 + x0;
    t1 = t1 + x1;
    t2 = t2 + x2;
    t3 = t3 + x3;
  }
  for (; k < last; k += 1024u) {
    let x = element(k);
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
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 128u) {
    let other = partials[lid.x + 128u];
    joined = joined + other;
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 64u) {
    let other = partials[lid.x + 64u];
    joined = joined + other;
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 32u) {
    let other = partials[lid.x + 32u];
    joined = joined + other;
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 16u) {
    let other = partials[lid.x + 16u];
    joined = joined + other;
  }
  workgroupBarrier();
  partials[lid.x] = joined;
  workgroupBarrier();
  if (lane < 8u) {
    let other = partials[lid.x + 8u];
    joined = joined + other;
  }
  workgroupBarrier();
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
    out[part * p.rows + row] = result;
  }
}

// sum
// contract/split_k_sum.wgsl, 128 threads
struct Params {
  size: u32,
  total: u32,
  groups: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn finish(acc: f32) -> f32 {
  return acc;
}
@compute @workgroup_size(128, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let first = ((wid.x + wid.y * p.groups) * 128u + lid.x);
  if (first >= p.size) {
    return;
  }
  let begin = first;
  var total = f32(0);
  for (var at = begin; at < p.total; at += p.size) {
    total += in0[at];
  }
  let result = finish(total);
  out[first] = result;
}

// sum
struct Params {
  n0: u32,
  n1: u32,
  n2: u32,
  g3: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(r0: u32) -> vec4<f32> {
  let t0 = in0[(r0) / 4u];
  return t0;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let i = (wid.x + wid.y * (p.g3 / 64u)) * 64u + lid.x;
  if (i >= p.n0) {
    return;
  }
  let row = i / p.n2;
  let part = i % p.n2;
  var total = vec4<f32>(0);
  for (var r0 = part * 4u; r0 < p.n1; r0 += p.n2 * 4u) {
    let lanes = vec4<u32>(r0) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(p.n1);
    let x = select(vec4<f32>(0), value(r0), lanes);
    total = total + x;
  }
  let low = total.x + total.y;
  let high = total.z + total.w;
  let result = low + high;
  out[i] = result;
}

// sum
struct Params {
  n0: u32,
  n1: u32,
  g2: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(r0: u32) -> vec4<f32> {
  let t0 = in0[(r0) / 4u];
  return t0;
}
fn finish(acc: f32) -> f32 {
  let t0 = acc;
  return t0;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let i = (wid.x + wid.y * (p.g2 / 64u)) * 64u + lid.x;
  if (i >= p.n0) {
    return;
  }
  let row = i;
  let part = 0u;
  var total = vec4<f32>(0);
  for (var r0 = 0u; r0 < p.n1; r0 += 4u) {
    let lanes = vec4<u32>(r0) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(p.n1);
    let x = select(vec4<f32>(0), value(r0), lanes);
    total = total + x;
  }
  let low = total.x + total.y;
  let high = total.z + total.w;
  let result = low + high;
  let e = row;
  out[i] = finish(result);
}

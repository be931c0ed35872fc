// sum+mul+sqrt
struct Params {
  n0: u32,
  n1: u32,
  s2: u32,
  v3: f32,
  g4: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(c0: u32, r0: u32) -> vec4<f32> {
  let t0 = in0[(c0 * p.s2 + r0) / 4u];
  let t1 = vec4<f32>(p.v3);
  let t2 = (t0 * t1);
  return t2;
}
fn finish(acc: f32, e0: u32) -> f32 {
  let t0 = acc;
  let t1 = sqrt(t0);
  return t1;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let i = (wid.x + wid.y * (p.g4 / 64u)) * 64u + lid.x;
  if (i >= p.n0) {
    return;
  }
  let row = i;
  let part = 0u;
  let c0 = row;
  var total = vec4<f32>(0);
  for (var r0 = 0u; r0 < p.n1; r0 += 4u) {
    let lanes = vec4<u32>(r0) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(p.n1);
    let x = select(vec4<f32>(0), value(c0, r0), lanes);
    total = total + x;
  }
  let low = total.x + total.y;
  let high = total.z + total.w;
  let result = low + high;
  let e = row;
  let e0 = e;
  out[i] = finish(result, e0);
}

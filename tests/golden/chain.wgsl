// exp+mul+add+sigmoid
// map/map.wgsl, 128 threads: exp, mul, add, sigmoid
struct Params {
  size: u32,
  scalar: f32,
  scalar1: f32,
  span: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
fn value(i: u32) -> vec4<f32> {
  let t0 = in0[i / 4u];
  let t1 = safe_exp_f32x4(t0);
  let t2 = vec4<f32>(p.scalar);
  let t3 = (t1 * t2);
  let t4 = vec4<f32>(p.scalar1);
  let t5 = (t3 + t4);
  let t6 = (vec4<f32>(1) / (vec4<f32>(1) + safe_exp_f32x4(-t5)));
  return t6;
}
@compute @workgroup_size(128, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * (p.span / 128u);
  let i = (group * 128u + lid.x) * 4u;
  if (i >= p.size) {
    return;
  }
  let y = value(i);
  out[i / 4u] = y;
}
fn safe_exp_f32x4(x: vec4<f32>) -> vec4<f32> {
  return select(exp(x), x, (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
}

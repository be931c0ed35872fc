// add
// map/map.wgsl, 128 threads: add
struct Params {
  size: u32,
  dim: u32,
  stride: u32,
  span: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> in1: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
fn value(c0: u32, c1: u32) -> vec4<f32> {
  let t0 = in0[(c0 * p.stride + c1) / 4u];
  let t1 = in1[c1 / 4u];
  let t2 = (t0 + t1);
  return t2;
}
@compute @workgroup_size(128, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * (p.span / 128u);
  let i = (group * 128u + lid.x) * 4u;
  if (i >= p.size) {
    return;
  }
  var i_rest = i;
  let c1 = i_rest % p.dim;
  i_rest /= p.dim;
  let c0 = i_rest;
  let y = value(c0, c1);
  out[i / 4u] = y;
}

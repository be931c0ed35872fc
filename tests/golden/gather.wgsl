// add
// map/map.wgsl, 128 threads: add
struct Params {
  size: u32,
  dim: u32,
  stride: u32,
  check: u32,
  check1: u32,
  dim1: u32,
  stride1: u32,
  scalar: f32,
  span: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<i32>>;
@group(0) @binding(2) var<storage, read> in1: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> faults: array<vec4<u32>>;
fn value(c0: u32, c1: u32) -> vec4<f32> {
  let t0 = in0[(c0 * p.stride + c1) / 4u];
  let t1 = inside_i32x4(t0, p.check, p.check1);
  let t2_w = min(vec4<u32>(t1), vec4<u32>(p.dim1 - 1u));
  let t2_a = c1 + t2_w * p.stride1 + vec4<u32>(0u, 1u, 2u, 3u);
  let t2 = vec4<f32>(in1[(t2_a).x], in1[(t2_a).y], in1[(t2_a).z], in1[(t2_a).w]);
  let t3 = vec4<f32>(p.scalar);
  let t4 = (t2 + t3);
  return t4;
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
fn inside_i32x4(i: vec4<i32>, n: u32, site: u32) -> vec4<i32> {
  let w = vec4<i32>(i);
  let outside = vec4<u32>(w) >= vec4<u32>(n);
  let bad = outside;
  if (any(bad)) {
    let i_bad = select(select(select(i.w, i.z, bad.z), i.y, bad.y), i.x, bad.x);
    noted_i32(i_bad, n, site);
  }
  return clamp(w, vec4<i32>(0), vec4<i32>(i32(n) - 1));
}
fn noted_i32(i: i32, n: u32, site: u32) {
  faults[0] = vec4<u32>(0x10000u | site, u32(i), u32(i >> 31u), n);
}

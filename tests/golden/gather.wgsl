// add
struct Params {
  n0: u32,
  n1: u32,
  n2: u32,
  s3: u32,
  n4: u32,
  s5: u32,
  v6: f32,
  g7: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<i32>>;
@group(0) @binding(2) var<storage, read> in1: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
fn value(c0: u32, c1: u32) -> vec4<f32> {
  let t0 = in0[(c0 * p.s3 + c1) / 4u];
  let t1_i = vec4<i32>(t0);
  let t1_n = i32(p.n4);
  let t1_w = clamp(select(t1_i, t1_i + t1_n, t1_i < vec4<i32>(0)), vec4<i32>(0), vec4<i32>(t1_n - 1));
  let t1_a = c1 + vec4<u32>(t1_w) * p.s5 + vec4<u32>(0u, 1u, 2u, 3u);
  let t1 = vec4<f32>(in1[(t1_a).x], in1[(t1_a).y], in1[(t1_a).z], in1[(t1_a).w]);
  let t2 = vec4<f32>(p.v6);
  let t3 = (t1 + t2);
  return t3;
}
@compute @workgroup_size(128, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * (p.g7 / 128u);
  let i = (group * 128u + lid.x) * 4u;
  if (i >= p.n0) {
    return;
  }
  var i_rest = i;
  let c1 = i_rest % p.n2;
  i_rest /= p.n2;
  let c0 = i_rest;
  let y = value(c0, c1);
  out[i / 4u] = y;
}

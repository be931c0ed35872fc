// mul
// map/map.wgsl, 128 threads: mul
struct Params {
  size: u32,
  dim: u32,
  dim1: u32,
  stride: u32,
  offset: u32,
  scalar: f32,
  span: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
fn value(c0: u32, c1: u32) -> f32 {
  let t0 = in0[p.offset + c0 + c1 * p.stride];
  let t1 = f32(p.scalar);
  let t2 = (t0 * t1);
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
  let c1_0 = i_rest % p.dim1;
  i_rest /= p.dim1;
  let c0_0 = i_rest;
  let c1_1n = c1_0 + 1u;
  let c1_1c = c1_1n >= p.dim1;
  let c1_1 = select(c1_1n, 0u, c1_1c);
  let c0_1 = min(c0_0 + u32(c1_1c), p.dim - 1u);
  let c1_2n = c1_1 + 1u;
  let c1_2c = c1_2n >= p.dim1;
  let c1_2 = select(c1_2n, 0u, c1_2c);
  let c0_2 = min(c0_1 + u32(c1_2c), p.dim - 1u);
  let c1_3n = c1_2 + 1u;
  let c1_3c = c1_3n >= p.dim1;
  let c1_3 = select(c1_3n, 0u, c1_3c);
  let c0_3 = min(c0_2 + u32(c1_3c), p.dim - 1u);
  let y0 = value(c0_0, c1_0);
  let y1 = value(c0_1, c1_1);
  let y2 = value(c0_2, c1_2);
  let y3 = value(c0_3, c1_3);
  let y = vec4<f32>(y0, y1, y2, y3);
  out[i / 4u] = y;
}

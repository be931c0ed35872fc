// bitwise_right_shift+cast+mul
// map/map.wgsl, 128 threads: bitwise_right_shift, cast, mul
struct Params {
  size: u32,
  seed: u32,
  seed1: u32,
  seed2: u32,
  seed3: u32,
  scalar: u32,
  scalar1: f32,
  span: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>>;
fn value(i: u32) -> vec4<f32> {
  let t0 = philox_u32(vec4<u32>(p.seed, p.seed1, p.seed2, p.seed3), i / 4u);
  let t1 = vec4<u32>(p.scalar);
  let t2 = select(vec4<u32>(0), t0 >> (bitcast<vec4<u32>>(t1) & vec4<u32>(31u)), bitcast<vec4<u32>>(t1) < vec4<u32>(32u));
  let t3 = vec4<f32>(t2);
  let t4 = vec4<f32>(p.scalar1);
  let t5 = (t3 * t4);
  return t5;
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
fn mul_high_u32(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let mid = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let more = (a & 0xffffu) * (b >> 16u) + (mid & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (mid >> 16u) + (more >> 16u);
}
fn philox_u32(key: vec4<u32>, block: u32) -> vec4<u32> {
  let low = key.z + block;
  var c = vec4<u32>(low, key.w + select(0u, 1u, low < block), 0u, 0u);
  var k = key.xy;
  for (var i = 0; i < 10; i++) {
    c = vec4<u32>(mul_high_u32(0xCD9E8D57u, c.z) ^ c.y ^ k.x, 0xCD9E8D57u * c.z, mul_high_u32(0xD2511F53u, c.x) ^ c.w ^ k.y, 0xD2511F53u * c.x);
    k = k + vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}

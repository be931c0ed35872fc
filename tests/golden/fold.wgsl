// copy
struct Params {
  n0: u32,
  n1: u32,
  g2: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
fn value(c0: u32) -> vec4<f32> {
  let t0 = in0[(c0) / 4u];
  return t0;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * (p.g2 / 64u);
  let i = (group * 64u + lid.x) * 4u;
  if (i >= p.n0) {
    return;
  }
  let c0 = i;
  let y = value(c0);
  out[i / 4u] = y;
}

// sum+mul
struct Params {
  n0: u32,
  n1: u32,
  n2: u32,
  n3: u32,
  s4: u32,
  s5: u32,
  v6: f32,
  g7: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
fn value(c0: u32, c1: u32, r0: u32, r1: u32) -> f32 {
  let t0 = in0[c0 * p.s4 + c1 + r0 * p.s5 + r1];
  return t0;
}
fn finish(acc: f32, e0: u32) -> f32 {
  let t0 = acc;
  let t1 = f32(p.v6);
  let t2 = (t0 * t1);
  return t2;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let i = (wid.x + wid.y * (p.g7 / 64u)) * 64u + lid.x;
  if (i >= p.n0) {
    return;
  }
  let row = i;
  let part = 0u;
  var row_rest = row;
  let c1 = row_rest % p.n1;
  row_rest /= p.n1;
  let c0 = row_rest;
  var total = f32(0);
  for (var r0 = 0u; r0 < p.n2; r0 += 1u) {
    for (var r1 = 0u; r1 < p.n3; r1 += 1u) {
      let x = value(c0, c1, r0, r1);
      total = total + x;
    }
  }
  let result = total;
  let e = row;
  let e0 = e;
  out[i] = finish(result, e0);
}

// copy
struct Params {
  n0: u32,
  n1: u32,
  n2: u32,
  s3: u32,
  g4: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
fn value(c0: u32, c1: u32) -> f32 {
  let t0 = in0[c0 + c1 * p.s3];
  return t0;
}
@compute @workgroup_size(128, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * (p.g4 / 128u);
  let i = (group * 128u + lid.x) * 4u;
  if (i >= p.n0) {
    return;
  }
  var i_rest = i;
  let c1_0 = i_rest % p.n2;
  i_rest /= p.n2;
  let c0_0 = i_rest;
  let c1_1n = c1_0 + 1u;
  let c1_1c = c1_1n >= p.n2;
  let c1_1 = select(c1_1n, 0u, c1_1c);
  let c0_1 = min(c0_0 + u32(c1_1c), p.n1 - 1u);
  let c1_2n = c1_1 + 1u;
  let c1_2c = c1_2n >= p.n2;
  let c1_2 = select(c1_2n, 0u, c1_2c);
  let c0_2 = min(c0_1 + u32(c1_2c), p.n1 - 1u);
  let c1_3n = c1_2 + 1u;
  let c1_3c = c1_3n >= p.n2;
  let c1_3 = select(c1_3n, 0u, c1_3c);
  let c0_3 = min(c0_2 + u32(c1_3c), p.n1 - 1u);
  let y0 = value(c0_0, c1_0);
  let y1 = value(c0_1, c1_1);
  let y2 = value(c0_2, c1_2);
  let y3 = value(c0_3, c1_3);
  let y = vec4<f32>(y0, y1, y2, y3);
  out[i / 4u] = y;
}

// conv2d+add+relu
struct Params {
  s0: u32,
  s1: u32,
  s2: u32,
  o3: u32,
  n4: u32,
  o5: u32,
  n6: u32,
  o7: u32,
  s8: u32,
  s9: u32,
  s10: u32,
  s11: u32,
  n12: u32,
  n13: u32,
  n14: u32,
  n15: u32,
  n16: u32,
  n17: u32,
  n18: u32,
  n19: u32,
  n20: u32,
  n21: u32,
  n22: u32,
  s23: u32,
  s24: u32,
  s25: u32,
  g26: u32,
  g27: u32,
  g28: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> in1: array<f32>;
@group(0) @binding(3) var<storage, read> in2: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
fn finish(acc: f32, x0: u32, x1: u32, x2: u32, x3: u32) -> f32 {
  let t0 = acc;
  let t1 = in2[x0];
  let t2 = (t0 + t1);
  let t3 = nanmax_f32(t2, f32(0));
  return t3;
}
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * p.g28;
  let column0 = ((group % p.g26) * 64u + lid.x) * 8u;
  let line = group / p.g26;
  let row0 = ((line % p.g27) * 1u + lid.y) * 4u;
  let b = line / p.g27;
  if (row0 >= p.n13 || column0 >= p.n17 || b >= p.n22) {
    return;
  }
  let x0_0 = row0;
  let x0_1 = min(x0_0 + 1u, p.n12 - 1u);
  let x0_2 = min(x0_1 + 1u, p.n12 - 1u);
  let x0_3 = min(x0_2 + 1u, p.n12 - 1u);
  var column0_rest = column0;
  let x3_0 = column0_rest % p.n16;
  column0_rest /= p.n16;
  let x2_0 = column0_rest % p.n15;
  column0_rest /= p.n15;
  let x1_0 = column0_rest;
  let x3_1n = x3_0 + 1u;
  let x3_1c = x3_1n >= p.n16;
  let x3_1 = select(x3_1n, 0u, x3_1c);
  let x2_1n = x2_0 + u32(x3_1c);
  let x2_1c = x2_1n >= p.n15;
  let x2_1 = select(x2_1n, 0u, x2_1c);
  let x1_1 = min(x1_0 + u32(x2_1c), p.n14 - 1u);
  let x3_2n = x3_1 + 1u;
  let x3_2c = x3_2n >= p.n16;
  let x3_2 = select(x3_2n, 0u, x3_2c);
  let x2_2n = x2_1 + u32(x3_2c);
  let x2_2c = x2_2n >= p.n15;
  let x2_2 = select(x2_2n, 0u, x2_2c);
  let x1_2 = min(x1_1 + u32(x2_2c), p.n14 - 1u);
  let x3_3n = x3_2 + 1u;
  let x3_3c = x3_3n >= p.n16;
  let x3_3 = select(x3_3n, 0u, x3_3c);
  let x2_3n = x2_2 + u32(x3_3c);
  let x2_3c = x2_3n >= p.n15;
  let x2_3 = select(x2_3n, 0u, x2_3c);
  let x1_3 = min(x1_2 + u32(x2_3c), p.n14 - 1u);
  let x3_4n = x3_3 + 1u;
  let x3_4c = x3_4n >= p.n16;
  let x3_4 = select(x3_4n, 0u, x3_4c);
  let x2_4n = x2_3 + u32(x3_4c);
  let x2_4c = x2_4n >= p.n15;
  let x2_4 = select(x2_4n, 0u, x2_4c);
  let x1_4 = min(x1_3 + u32(x2_4c), p.n14 - 1u);
  let x3_5n = x3_4 + 1u;
  let x3_5c = x3_5n >= p.n16;
  let x3_5 = select(x3_5n, 0u, x3_5c);
  let x2_5n = x2_4 + u32(x3_5c);
  let x2_5c = x2_5n >= p.n15;
  let x2_5 = select(x2_5n, 0u, x2_5c);
  let x1_5 = min(x1_4 + u32(x2_5c), p.n14 - 1u);
  let x3_6n = x3_5 + 1u;
  let x3_6c = x3_6n >= p.n16;
  let x3_6 = select(x3_6n, 0u, x3_6c);
  let x2_6n = x2_5 + u32(x3_6c);
  let x2_6c = x2_6n >= p.n15;
  let x2_6 = select(x2_6n, 0u, x2_6c);
  let x1_6 = min(x1_5 + u32(x2_6c), p.n14 - 1u);
  let x3_7n = x3_6 + 1u;
  let x3_7c = x3_7n >= p.n16;
  let x3_7 = select(x3_7n, 0u, x3_7c);
  let x2_7n = x2_6 + u32(x3_7c);
  let x2_7c = x2_7n >= p.n15;
  let x2_7 = select(x2_7n, 0u, x2_7c);
  let x1_7 = min(x1_6 + u32(x2_7c), p.n14 - 1u);
  let u0 = x0_0;
  let v0 = p.o7 + x1_0 * p.s8 + x2_0 * p.s9 + x3_0;
  let v0_t0 = p.o3 + x2_0;
  let v0_t1 = p.o5 + x3_0;
  let v1 = p.o7 + x1_1 * p.s8 + x2_1 * p.s9 + x3_1;
  let v1_t0 = p.o3 + x2_1;
  let v1_t1 = p.o5 + x3_1;
  let v2 = p.o7 + x1_2 * p.s8 + x2_2 * p.s9 + x3_2;
  let v2_t0 = p.o3 + x2_2;
  let v2_t1 = p.o5 + x3_2;
  let v3 = p.o7 + x1_3 * p.s8 + x2_3 * p.s9 + x3_3;
  let v3_t0 = p.o3 + x2_3;
  let v3_t1 = p.o5 + x3_3;
  let v4 = p.o7 + x1_4 * p.s8 + x2_4 * p.s9 + x3_4;
  let v4_t0 = p.o3 + x2_4;
  let v4_t1 = p.o5 + x3_4;
  let v5 = p.o7 + x1_5 * p.s8 + x2_5 * p.s9 + x3_5;
  let v5_t0 = p.o3 + x2_5;
  let v5_t1 = p.o5 + x3_5;
  let v6 = p.o7 + x1_6 * p.s8 + x2_6 * p.s9 + x3_6;
  let v6_t0 = p.o3 + x2_6;
  let v6_t1 = p.o5 + x3_6;
  let v7 = p.o7 + x1_7 * p.s8 + x2_7 * p.s9 + x3_7;
  let v7_t0 = p.o3 + x2_7;
  let v7_t1 = p.o5 + x3_7;
  var acc0_0 = vec4<f32>(0);
  var acc0_1 = vec4<f32>(0);
  var acc1_0 = vec4<f32>(0);
  var acc1_1 = vec4<f32>(0);
  var acc2_0 = vec4<f32>(0);
  var acc2_1 = vec4<f32>(0);
  var acc3_0 = vec4<f32>(0);
  var acc3_1 = vec4<f32>(0);
  for (var x4 = 0u; x4 < p.n18; x4 += 1u) {
    for (var x5 = 0u; x5 < p.n19; x5 += 1u) {
      for (var x6 = 0u; x6 < p.n20; x6 += 1u) {
        let uk = x4 * p.s0 + x5 * p.s1 + x6 * p.s2;
        let ux0_0 = in0[(u0 + uk) / 4u];
        let vk = x4 * p.s10 + x5 * p.s11 + x6;
        let vk_t0_0 = x5;
        let vk_t1_0 = x6;
        let vx0_0_ok = (v0_t0 + vk_t0_0 < p.n4) & (v0_t1 + vk_t1_0 < p.n6);
        let vx0_0 = select(f32(0), in1[select(0u, v0 + vk, vx0_0_ok)], vx0_0_ok);
        let vx1_0_ok = (v1_t0 + vk_t0_0 < p.n4) & (v1_t1 + vk_t1_0 < p.n6);
        let vx1_0 = select(f32(0), in1[select(0u, v1 + vk, vx1_0_ok)], vx1_0_ok);
        let vx2_0_ok = (v2_t0 + vk_t0_0 < p.n4) & (v2_t1 + vk_t1_0 < p.n6);
        let vx2_0 = select(f32(0), in1[select(0u, v2 + vk, vx2_0_ok)], vx2_0_ok);
        let vx3_0_ok = (v3_t0 + vk_t0_0 < p.n4) & (v3_t1 + vk_t1_0 < p.n6);
        let vx3_0 = select(f32(0), in1[select(0u, v3 + vk, vx3_0_ok)], vx3_0_ok);
        let vx4_0_ok = (v4_t0 + vk_t0_0 < p.n4) & (v4_t1 + vk_t1_0 < p.n6);
        let vx4_0 = select(f32(0), in1[select(0u, v4 + vk, vx4_0_ok)], vx4_0_ok);
        let vx5_0_ok = (v5_t0 + vk_t0_0 < p.n4) & (v5_t1 + vk_t1_0 < p.n6);
        let vx5_0 = select(f32(0), in1[select(0u, v5 + vk, vx5_0_ok)], vx5_0_ok);
        let vx6_0_ok = (v6_t0 + vk_t0_0 < p.n4) & (v6_t1 + vk_t1_0 < p.n6);
        let vx6_0 = select(f32(0), in1[select(0u, v6 + vk, vx6_0_ok)], vx6_0_ok);
        let vx7_0_ok = (v7_t0 + vk_t0_0 < p.n4) & (v7_t1 + vk_t1_0 < p.n6);
        let vx7_0 = select(f32(0), in1[select(0u, v7 + vk, vx7_0_ok)], vx7_0_ok);
        let w0_0 = vec4<f32>(vx0_0, vx1_0, vx2_0, vx3_0);
        let w0_1 = vec4<f32>(vx4_0, vx5_0, vx6_0, vx7_0);
        acc0_0 = fma(vec4<f32>(ux0_0.x), w0_0, acc0_0);
        acc0_1 = fma(vec4<f32>(ux0_0.x), w0_1, acc0_1);
        acc1_0 = fma(vec4<f32>(ux0_0.y), w0_0, acc1_0);
        acc1_1 = fma(vec4<f32>(ux0_0.y), w0_1, acc1_1);
        acc2_0 = fma(vec4<f32>(ux0_0.z), w0_0, acc2_0);
        acc2_1 = fma(vec4<f32>(ux0_0.z), w0_1, acc2_1);
        acc3_0 = fma(vec4<f32>(ux0_0.w), w0_0, acc3_0);
        acc3_1 = fma(vec4<f32>(ux0_0.w), w0_1, acc3_1);
      }
    }
  }
  let last = min(row0 + 4u, p.n13);
  for (var row = row0; row < last; row += 1u) {
    let x0_r = row;
    let start = x0_r * p.s23;
    var y0 = acc0_0;
    var y1 = acc0_1;
    let is1 = row == row0 + 1u;
    y0 = select(y0, acc1_0, is1);
    y1 = select(y1, acc1_1, is1);
    let is2 = row == row0 + 2u;
    y0 = select(y0, acc2_0, is2);
    y1 = select(y1, acc2_1, is2);
    let is3 = row == row0 + 3u;
    y0 = select(y0, acc3_0, is3);
    y1 = select(y1, acc3_1, is3);
    if (column0 + 0u < p.n17) {
      out[start + x1_0 * p.s24 + x2_0 * p.s25 + x3_0] = finish(y0.x, x0_r, x1_0, x2_0, x3_0);
    }
    if (column0 + 1u < p.n17) {
      out[start + x1_1 * p.s24 + x2_1 * p.s25 + x3_1] = finish(y0.y, x0_r, x1_1, x2_1, x3_1);
    }
    if (column0 + 2u < p.n17) {
      out[start + x1_2 * p.s24 + x2_2 * p.s25 + x3_2] = finish(y0.z, x0_r, x1_2, x2_2, x3_2);
    }
    if (column0 + 3u < p.n17) {
      out[start + x1_3 * p.s24 + x2_3 * p.s25 + x3_3] = finish(y0.w, x0_r, x1_3, x2_3, x3_3);
    }
    if (column0 + 4u < p.n17) {
      out[start + x1_4 * p.s24 + x2_4 * p.s25 + x3_4] = finish(y1.x, x0_r, x1_4, x2_4, x3_4);
    }
    if (column0 + 5u < p.n17) {
      out[start + x1_5 * p.s24 + x2_5 * p.s25 + x3_5] = finish(y1.y, x0_r, x1_5, x2_5, x3_5);
    }
    if (column0 + 6u < p.n17) {
      out[start + x1_6 * p.s24 + x2_6 * p.s25 + x3_6] = finish(y1.z, x0_r, x1_6, x2_6, x3_6);
    }
    if (column0 + 7u < p.n17) {
      out[start + x1_7 * p.s24 + x2_7 * p.s25 + x3_7] = finish(y1.w, x0_r, x1_7, x2_7, x3_7);
    }
  }
}
fn nanmax_f32(a: f32, b: f32) -> f32 {
  let kept = select(max(a, b), a, (bitcast<u32>(a) & u32(0x7fffffffu)) > u32(0x7f800000u));
  return select(kept, b, (bitcast<u32>(b) & u32(0x7fffffffu)) > u32(0x7f800000u));
}

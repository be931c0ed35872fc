// matmul+add+relu
struct Params {
  s0: u32,
  s1: u32,
  n2: u32,
  n3: u32,
  n4: u32,
  n5: u32,
  n6: u32,
  n7: u32,
  n8: u32,
  s9: u32,
  g10: u32,
  g11: u32,
  g12: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> in1: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> in2: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
fn finish(acc: f32, x0: u32, x1: u32) -> f32 {
  let t0 = acc;
  let t1 = in2[x1];
  let t2 = (t0 + t1);
  let t3 = nanmax_f32(t2, f32(0));
  return t3;
}
@compute @workgroup_size(4, 16, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * p.g12;
  let column0 = ((group % p.g10) * 4u + lid.x) * 8u;
  let line = group / p.g10;
  let row0 = ((line % p.g11) * 16u + lid.y) * 8u;
  let b = line / p.g11;
  if (row0 >= p.n3 || column0 >= p.n5 || b >= p.n8) {
    return;
  }
  let x0_0 = row0;
  let x0_1 = min(x0_0 + 1u, p.n2 - 1u);
  let x0_2 = min(x0_1 + 1u, p.n2 - 1u);
  let x0_3 = min(x0_2 + 1u, p.n2 - 1u);
  let x0_4 = min(x0_3 + 1u, p.n2 - 1u);
  let x0_5 = min(x0_4 + 1u, p.n2 - 1u);
  let x0_6 = min(x0_5 + 1u, p.n2 - 1u);
  let x0_7 = min(x0_6 + 1u, p.n2 - 1u);
  let x1_0 = column0;
  let x1_1 = min(x1_0 + 1u, p.n4 - 1u);
  let x1_2 = min(x1_1 + 1u, p.n4 - 1u);
  let x1_3 = min(x1_2 + 1u, p.n4 - 1u);
  let x1_4 = min(x1_3 + 1u, p.n4 - 1u);
  let x1_5 = min(x1_4 + 1u, p.n4 - 1u);
  let x1_6 = min(x1_5 + 1u, p.n4 - 1u);
  let x1_7 = min(x1_6 + 1u, p.n4 - 1u);
  let u0 = x0_0 * p.s0;
  let u1 = x0_1 * p.s0;
  let u2 = x0_2 * p.s0;
  let u3 = x0_3 * p.s0;
  let u4 = x0_4 * p.s0;
  let u5 = x0_5 * p.s0;
  let u6 = x0_6 * p.s0;
  let u7 = x0_7 * p.s0;
  let v0 = x1_0;
  let v4 = x1_4;
  var acc0_0 = vec4<f32>(0);
  var acc0_1 = vec4<f32>(0);
  var acc1_0 = vec4<f32>(0);
  var acc1_1 = vec4<f32>(0);
  var acc2_0 = vec4<f32>(0);
  var acc2_1 = vec4<f32>(0);
  var acc3_0 = vec4<f32>(0);
  var acc3_1 = vec4<f32>(0);
  var acc4_0 = vec4<f32>(0);
  var acc4_1 = vec4<f32>(0);
  var acc5_0 = vec4<f32>(0);
  var acc5_1 = vec4<f32>(0);
  var acc6_0 = vec4<f32>(0);
  var acc6_1 = vec4<f32>(0);
  var acc7_0 = vec4<f32>(0);
  var acc7_1 = vec4<f32>(0);
  for (var x2 = 0u; x2 < p.n6; x2 += 4u) {
    let uk = x2;
    let ux0 = in0[(u0 + uk) / 4u];
    let ux1 = in0[(u1 + uk) / 4u];
    let ux2 = in0[(u2 + uk) / 4u];
    let ux3 = in0[(u3 + uk) / 4u];
    let ux4 = in0[(u4 + uk) / 4u];
    let ux5 = in0[(u5 + uk) / 4u];
    let ux6 = in0[(u6 + uk) / 4u];
    let ux7 = in0[(u7 + uk) / 4u];
    let vk = x2 * p.s1;
    let vx0_0 = in1[(v0 + vk) / 4u];
    let vx4_0 = in1[(v4 + vk) / 4u];
    let vx0_1 = in1[(v0 + vk + 1u * p.s1) / 4u];
    let vx4_1 = in1[(v4 + vk + 1u * p.s1) / 4u];
    let vx0_2 = in1[(v0 + vk + 2u * p.s1) / 4u];
    let vx4_2 = in1[(v4 + vk + 2u * p.s1) / 4u];
    let vx0_3 = in1[(v0 + vk + 3u * p.s1) / 4u];
    let vx4_3 = in1[(v4 + vk + 3u * p.s1) / 4u];
    let w0_0 = vx0_0;
    let w0_1 = vx4_0;
    acc0_0 = fma(vec4<f32>(ux0.x), w0_0, acc0_0);
    acc0_1 = fma(vec4<f32>(ux0.x), w0_1, acc0_1);
    acc1_0 = fma(vec4<f32>(ux1.x), w0_0, acc1_0);
    acc1_1 = fma(vec4<f32>(ux1.x), w0_1, acc1_1);
    acc2_0 = fma(vec4<f32>(ux2.x), w0_0, acc2_0);
    acc2_1 = fma(vec4<f32>(ux2.x), w0_1, acc2_1);
    acc3_0 = fma(vec4<f32>(ux3.x), w0_0, acc3_0);
    acc3_1 = fma(vec4<f32>(ux3.x), w0_1, acc3_1);
    acc4_0 = fma(vec4<f32>(ux4.x), w0_0, acc4_0);
    acc4_1 = fma(vec4<f32>(ux4.x), w0_1, acc4_1);
    acc5_0 = fma(vec4<f32>(ux5.x), w0_0, acc5_0);
    acc5_1 = fma(vec4<f32>(ux5.x), w0_1, acc5_1);
    acc6_0 = fma(vec4<f32>(ux6.x), w0_0, acc6_0);
    acc6_1 = fma(vec4<f32>(ux6.x), w0_1, acc6_1);
    acc7_0 = fma(vec4<f32>(ux7.x), w0_0, acc7_0);
    acc7_1 = fma(vec4<f32>(ux7.x), w0_1, acc7_1);
    let w1_0 = vx0_1;
    let w1_1 = vx4_1;
    acc0_0 = fma(vec4<f32>(ux0.y), w1_0, acc0_0);
    acc0_1 = fma(vec4<f32>(ux0.y), w1_1, acc0_1);
    acc1_0 = fma(vec4<f32>(ux1.y), w1_0, acc1_0);
    acc1_1 = fma(vec4<f32>(ux1.y), w1_1, acc1_1);
    acc2_0 = fma(vec4<f32>(ux2.y), w1_0, acc2_0);
    acc2_1 = fma(vec4<f32>(ux2.y), w1_1, acc2_1);
    acc3_0 = fma(vec4<f32>(ux3.y), w1_0, acc3_0);
    acc3_1 = fma(vec4<f32>(ux3.y), w1_1, acc3_1);
    acc4_0 = fma(vec4<f32>(ux4.y), w1_0, acc4_0);
    acc4_1 = fma(vec4<f32>(ux4.y), w1_1, acc4_1);
    acc5_0 = fma(vec4<f32>(ux5.y), w1_0, acc5_0);
    acc5_1 = fma(vec4<f32>(ux5.y), w1_1, acc5_1);
    acc6_0 = fma(vec4<f32>(ux6.y), w1_0, acc6_0);
    acc6_1 = fma(vec4<f32>(ux6.y), w1_1, acc6_1);
    acc7_0 = fma(vec4<f32>(ux7.y), w1_0, acc7_0);
    acc7_1 = fma(vec4<f32>(ux7.y), w1_1, acc7_1);
    let w2_0 = vx0_2;
    let w2_1 = vx4_2;
    acc0_0 = fma(vec4<f32>(ux0.z), w2_0, acc0_0);
    acc0_1 = fma(vec4<f32>(ux0.z), w2_1, acc0_1);
    acc1_0 = fma(vec4<f32>(ux1.z), w2_0, acc1_0);
    acc1_1 = fma(vec4<f32>(ux1.z), w2_1, acc1_1);
    acc2_0 = fma(vec4<f32>(ux2.z), w2_0, acc2_0);
    acc2_1 = fma(vec4<f32>(ux2.z), w2_1, acc2_1);
    acc3_0 = fma(vec4<f32>(ux3.z), w2_0, acc3_0);
    acc3_1 = fma(vec4<f32>(ux3.z), w2_1, acc3_1);
    acc4_0 = fma(vec4<f32>(ux4.z), w2_0, acc4_0);
    acc4_1 = fma(vec4<f32>(ux4.z), w2_1, acc4_1);
    acc5_0 = fma(vec4<f32>(ux5.z), w2_0, acc5_0);
    acc5_1 = fma(vec4<f32>(ux5.z), w2_1, acc5_1);
    acc6_0 = fma(vec4<f32>(ux6.z), w2_0, acc6_0);
    acc6_1 = fma(vec4<f32>(ux6.z), w2_1, acc6_1);
    acc7_0 = fma(vec4<f32>(ux7.z), w2_0, acc7_0);
    acc7_1 = fma(vec4<f32>(ux7.z), w2_1, acc7_1);
    let w3_0 = vx0_3;
    let w3_1 = vx4_3;
    acc0_0 = fma(vec4<f32>(ux0.w), w3_0, acc0_0);
    acc0_1 = fma(vec4<f32>(ux0.w), w3_1, acc0_1);
    acc1_0 = fma(vec4<f32>(ux1.w), w3_0, acc1_0);
    acc1_1 = fma(vec4<f32>(ux1.w), w3_1, acc1_1);
    acc2_0 = fma(vec4<f32>(ux2.w), w3_0, acc2_0);
    acc2_1 = fma(vec4<f32>(ux2.w), w3_1, acc2_1);
    acc3_0 = fma(vec4<f32>(ux3.w), w3_0, acc3_0);
    acc3_1 = fma(vec4<f32>(ux3.w), w3_1, acc3_1);
    acc4_0 = fma(vec4<f32>(ux4.w), w3_0, acc4_0);
    acc4_1 = fma(vec4<f32>(ux4.w), w3_1, acc4_1);
    acc5_0 = fma(vec4<f32>(ux5.w), w3_0, acc5_0);
    acc5_1 = fma(vec4<f32>(ux5.w), w3_1, acc5_1);
    acc6_0 = fma(vec4<f32>(ux6.w), w3_0, acc6_0);
    acc6_1 = fma(vec4<f32>(ux6.w), w3_1, acc6_1);
    acc7_0 = fma(vec4<f32>(ux7.w), w3_0, acc7_0);
    acc7_1 = fma(vec4<f32>(ux7.w), w3_1, acc7_1);
  }
  let last = min(row0 + 8u, p.n3);
  for (var row = row0; row < last; row += 1u) {
    let x0_r = row;
    let start = x0_r * p.s9;
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
    let is4 = row == row0 + 4u;
    y0 = select(y0, acc4_0, is4);
    y1 = select(y1, acc4_1, is4);
    let is5 = row == row0 + 5u;
    y0 = select(y0, acc5_0, is5);
    y1 = select(y1, acc5_1, is5);
    let is6 = row == row0 + 6u;
    y0 = select(y0, acc6_0, is6);
    y1 = select(y1, acc6_1, is6);
    let is7 = row == row0 + 7u;
    y0 = select(y0, acc7_0, is7);
    y1 = select(y1, acc7_1, is7);
    if (column0 + 0u < p.n5) {
      out[start + x1_0] = finish(y0.x, x0_r, x1_0);
    }
    if (column0 + 1u < p.n5) {
      out[start + x1_1] = finish(y0.y, x0_r, x1_1);
    }
    if (column0 + 2u < p.n5) {
      out[start + x1_2] = finish(y0.z, x0_r, x1_2);
    }
    if (column0 + 3u < p.n5) {
      out[start + x1_3] = finish(y0.w, x0_r, x1_3);
    }
    if (column0 + 4u < p.n5) {
      out[start + x1_4] = finish(y1.x, x0_r, x1_4);
    }
    if (column0 + 5u < p.n5) {
      out[start + x1_5] = finish(y1.y, x0_r, x1_5);
    }
    if (column0 + 6u < p.n5) {
      out[start + x1_6] = finish(y1.z, x0_r, x1_6);
    }
    if (column0 + 7u < p.n5) {
      out[start + x1_7] = finish(y1.w, x0_r, x1_7);
    }
  }
}
fn nanmax_f32(a: f32, b: f32) -> f32 {
  let kept = select(max(a, b), a, (bitcast<u32>(a) & u32(0x7fffffffu)) > u32(0x7f800000u));
  return select(kept, b, (bitcast<u32>(b) & u32(0x7fffffffu)) > u32(0x7f800000u));
}

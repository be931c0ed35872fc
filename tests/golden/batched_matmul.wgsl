// matmul
struct Params {
  s0: u32,
  s1: u32,
  s2: u32,
  s3: u32,
  n4: u32,
  n5: u32,
  n6: u32,
  n7: u32,
  n8: u32,
  n9: u32,
  n10: u32,
  n11: u32,
  s12: u32,
  s13: u32,
  g14: u32,
  g15: u32,
  g16: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read> in1: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(4, 16, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let group = wid.x + wid.y * p.g16;
  let column0 = ((group % p.g14) * 4u + lid.x) * 8u;
  let line = group / p.g14;
  let row0 = ((line % p.g15) * 16u + lid.y) * 8u;
  let b = line / p.g15;
  if (row0 >= p.n5 || column0 >= p.n7 || b >= p.n11) {
    return;
  }
  let x0 = b;
  let x1_0 = row0;
  let x1_1 = min(x1_0 + 1u, p.n4 - 1u);
  let x1_2 = min(x1_1 + 1u, p.n4 - 1u);
  let x1_3 = min(x1_2 + 1u, p.n4 - 1u);
  let x1_4 = min(x1_3 + 1u, p.n4 - 1u);
  let x1_5 = min(x1_4 + 1u, p.n4 - 1u);
  let x1_6 = min(x1_5 + 1u, p.n4 - 1u);
  let x1_7 = min(x1_6 + 1u, p.n4 - 1u);
  let x2_0 = column0;
  let x2_1 = min(x2_0 + 1u, p.n6 - 1u);
  let x2_2 = min(x2_1 + 1u, p.n6 - 1u);
  let x2_3 = min(x2_2 + 1u, p.n6 - 1u);
  let x2_4 = min(x2_3 + 1u, p.n6 - 1u);
  let x2_5 = min(x2_4 + 1u, p.n6 - 1u);
  let x2_6 = min(x2_5 + 1u, p.n6 - 1u);
  let x2_7 = min(x2_6 + 1u, p.n6 - 1u);
  let u0 = x0 * p.s0 + x1_0 * p.s1;
  let u1 = x0 * p.s0 + x1_1 * p.s1;
  let u2 = x0 * p.s0 + x1_2 * p.s1;
  let u3 = x0 * p.s0 + x1_3 * p.s1;
  let u4 = x0 * p.s0 + x1_4 * p.s1;
  let u5 = x0 * p.s0 + x1_5 * p.s1;
  let u6 = x0 * p.s0 + x1_6 * p.s1;
  let u7 = x0 * p.s0 + x1_7 * p.s1;
  let v0 = x0 * p.s2 + x2_0;
  let v1 = x0 * p.s2 + x2_1;
  let v2 = x0 * p.s2 + x2_2;
  let v3 = x0 * p.s2 + x2_3;
  let v4 = x0 * p.s2 + x2_4;
  let v5 = x0 * p.s2 + x2_5;
  let v6 = x0 * p.s2 + x2_6;
  let v7 = x0 * p.s2 + x2_7;
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
  for (var x3 = 0u; x3 < p.n8; x3 += 1u) {
    let uk = x3;
    let ux0_0 = in0[u0 + uk];
    let ux1_0 = in0[u1 + uk];
    let ux2_0 = in0[u2 + uk];
    let ux3_0 = in0[u3 + uk];
    let ux4_0 = in0[u4 + uk];
    let ux5_0 = in0[u5 + uk];
    let ux6_0 = in0[u6 + uk];
    let ux7_0 = in0[u7 + uk];
    let vk = x3 * p.s3;
    let vx0_0 = in1[v0 + vk];
    let vx1_0 = in1[v1 + vk];
    let vx2_0 = in1[v2 + vk];
    let vx3_0 = in1[v3 + vk];
    let vx4_0 = in1[v4 + vk];
    let vx5_0 = in1[v5 + vk];
    let vx6_0 = in1[v6 + vk];
    let vx7_0 = in1[v7 + vk];
    let w0_0 = vec4<f32>(vx0_0, vx1_0, vx2_0, vx3_0);
    let w0_1 = vec4<f32>(vx4_0, vx5_0, vx6_0, vx7_0);
    acc0_0 = fma(vec4<f32>(ux0_0), w0_0, acc0_0);
    acc0_1 = fma(vec4<f32>(ux0_0), w0_1, acc0_1);
    acc1_0 = fma(vec4<f32>(ux1_0), w0_0, acc1_0);
    acc1_1 = fma(vec4<f32>(ux1_0), w0_1, acc1_1);
    acc2_0 = fma(vec4<f32>(ux2_0), w0_0, acc2_0);
    acc2_1 = fma(vec4<f32>(ux2_0), w0_1, acc2_1);
    acc3_0 = fma(vec4<f32>(ux3_0), w0_0, acc3_0);
    acc3_1 = fma(vec4<f32>(ux3_0), w0_1, acc3_1);
    acc4_0 = fma(vec4<f32>(ux4_0), w0_0, acc4_0);
    acc4_1 = fma(vec4<f32>(ux4_0), w0_1, acc4_1);
    acc5_0 = fma(vec4<f32>(ux5_0), w0_0, acc5_0);
    acc5_1 = fma(vec4<f32>(ux5_0), w0_1, acc5_1);
    acc6_0 = fma(vec4<f32>(ux6_0), w0_0, acc6_0);
    acc6_1 = fma(vec4<f32>(ux6_0), w0_1, acc6_1);
    acc7_0 = fma(vec4<f32>(ux7_0), w0_0, acc7_0);
    acc7_1 = fma(vec4<f32>(ux7_0), w0_1, acc7_1);
  }
  let last = min(row0 + 8u, p.n5);
  for (var row = row0; row < last; row += 1u) {
    let x1_r = row;
    let start = x0 * p.s12 + x1_r * p.s13;
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
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = y0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = y0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = y0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = y0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = y1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = y1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = y1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = y1.w;
    }
  }
}

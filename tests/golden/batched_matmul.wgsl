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
  if (row0 + 0u < p.n5) {
    let start = x0 * p.s12 + x1_0 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc0_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc0_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc0_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc0_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc0_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc0_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc0_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc0_1.w;
    }
  }
  if (row0 + 1u < p.n5) {
    let start = x0 * p.s12 + x1_1 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc1_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc1_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc1_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc1_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc1_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc1_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc1_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc1_1.w;
    }
  }
  if (row0 + 2u < p.n5) {
    let start = x0 * p.s12 + x1_2 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc2_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc2_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc2_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc2_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc2_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc2_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc2_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc2_1.w;
    }
  }
  if (row0 + 3u < p.n5) {
    let start = x0 * p.s12 + x1_3 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc3_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc3_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc3_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc3_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc3_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc3_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc3_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc3_1.w;
    }
  }
  if (row0 + 4u < p.n5) {
    let start = x0 * p.s12 + x1_4 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc4_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc4_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc4_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc4_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc4_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc4_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc4_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc4_1.w;
    }
  }
  if (row0 + 5u < p.n5) {
    let start = x0 * p.s12 + x1_5 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc5_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc5_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc5_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc5_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc5_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc5_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc5_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc5_1.w;
    }
  }
  if (row0 + 6u < p.n5) {
    let start = x0 * p.s12 + x1_6 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc6_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc6_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc6_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc6_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc6_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc6_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc6_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc6_1.w;
    }
  }
  if (row0 + 7u < p.n5) {
    let start = x0 * p.s12 + x1_7 * p.s13;
    if (column0 + 0u < p.n7) {
      out[start + x2_0] = acc7_0.x;
    }
    if (column0 + 1u < p.n7) {
      out[start + x2_1] = acc7_0.y;
    }
    if (column0 + 2u < p.n7) {
      out[start + x2_2] = acc7_0.z;
    }
    if (column0 + 3u < p.n7) {
      out[start + x2_3] = acc7_0.w;
    }
    if (column0 + 4u < p.n7) {
      out[start + x2_4] = acc7_1.x;
    }
    if (column0 + 5u < p.n7) {
      out[start + x2_5] = acc7_1.y;
    }
    if (column0 + 6u < p.n7) {
      out[start + x2_6] = acc7_1.z;
    }
    if (column0 + 7u < p.n7) {
      out[start + x2_7] = acc7_1.w;
    }
  }
}

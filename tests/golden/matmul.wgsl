// matmul+add+relu
struct Params {
  d0: u32,
  d1: u32,
  n2: u32,
  n3: u32,
  n4: u32,
  n5: u32,
  n6: u32,
  s7: u32,
  n8: u32,
  n9: u32,
  n10: u32,
  n11: u32,
  n12: u32,
  s13: u32,
  n14: u32,
  n15: u32,
  n16: u32,
  n17: u32,
  n18: u32,
  s19: u32,
  n20: u32,
  n21: u32,
  g22: u32,
  g23: u32,
  g24: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> in1: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> in2: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;
fn a(p0: u32, e: u32) -> vec4<f32> {
  let t0 = in0[(p0 + e) / 4u];
  return t0;
}
fn b(p0: u32, e: u32) -> vec4<f32> {
  let t0 = in1[(p0 + e) / 4u];
  return t0;
}
fn finish(acc: vec4<f32>, y_r0: u32, y_c0: u32) -> vec4<f32> {
  let t0 = acc;
  let t1 = in2[(y_c0) / 4u];
  let t2 = (t0 + t1);
  let t3 = nanmax_f32x4(t2, vec4<f32>(0));
  return t3;
}
var<workgroup> tile_a: array<vec4<f32>, 512>;
var<workgroup> tile_b: array<vec4<f32>, 512>;
@compute @workgroup_size(128, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  let t = lid.x;
  let group = wid.x + wid.y * p.g24;
  let line = group / p.g22;
  let depth = line / p.g23;
  if (depth >= p.n21) {
    return;
  }
  let column0 = (group % p.g22) * 64u;
  let row0 = (line % p.g23) * 64u;
  let batch = depth;
  let begin = 0u;
  let end = p.n20;
  let a_q = t / 8u;
  let a_in = (t % 8u) * 4u;
  let a_batch = batch;
  let a_first0 = min(row0 + (a_q + 0u) * 4u, p.n4 - 1u);
  let a_o0_0 = a_first0;
  let a0_0 = a_o0_0 * p.s7;
  let a_o0_1 = min(a_o0_0 + 1u, p.n3 - 1u);
  let a0_1 = a_o0_1 * p.s7;
  let a_o0_2 = min(a_o0_1 + 1u, p.n3 - 1u);
  let a0_2 = a_o0_2 * p.s7;
  let a_o0_3 = min(a_o0_2 + 1u, p.n3 - 1u);
  let a0_3 = a_o0_3 * p.s7;
  var a_k = begin + a_in;
  let a_k0_0 = a_k;
  var a_k0 = a_k0_0;
  var ar0 = vec4<f32>(0);
  var ar1 = vec4<f32>(0);
  var ar2 = vec4<f32>(0);
  var ar3 = vec4<f32>(0);
  let b_q = t % 16u;
  let b_in = t / 16u;
  let b_batch = batch;
  let b_first0 = min(column0 + (b_q + 0u) * 4u, p.n10 - 4u);
  let b_o0_0 = b_first0;
  let b0_0 = b_o0_0;
  var b_k = begin + b_in;
  let b_k0_0 = b_k;
  var b_k0 = b_k0_0;
  var br0 = vec4<f32>(0);
  var br1 = vec4<f32>(0);
  var br2 = vec4<f32>(0);
  var br3 = vec4<f32>(0);
  {
    let a_k0_0 = a_k0;
    let k0_0 = a_k0_0;
    let ok0 = a_k + 0u < end;
    ar0 = select(vec4<f32>(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
    ar1 = select(vec4<f32>(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
    ar2 = select(vec4<f32>(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
    ar3 = select(vec4<f32>(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
    a_k += 32u;
    a_k0 += p.d0;
  }
  {
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.s13;
      let ok0 = b_k + 0u < end;
      br0 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
      b_k += 8u;
      b_k0 += p.d1;
    }
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.s13;
      let ok0 = b_k + 0u < end;
      br1 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
      b_k += 8u;
      b_k0 += p.d1;
    }
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.s13;
      let ok0 = b_k + 0u < end;
      br2 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
      b_k += 8u;
      b_k0 += p.d1;
    }
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.s13;
      let ok0 = b_k + 0u < end;
      br3 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
      b_k += 8u;
      b_k0 += p.d1;
    }
  }
  tile_a[(a_in + 0u) * 16u + a_q + 0u] = vec4<f32>(ar0.x, ar1.x, ar2.x, ar3.x);
  tile_a[(a_in + 1u) * 16u + a_q + 0u] = vec4<f32>(ar0.y, ar1.y, ar2.y, ar3.y);
  tile_a[(a_in + 2u) * 16u + a_q + 0u] = vec4<f32>(ar0.z, ar1.z, ar2.z, ar3.z);
  tile_a[(a_in + 3u) * 16u + a_q + 0u] = vec4<f32>(ar0.w, ar1.w, ar2.w, ar3.w);
  tile_b[(b_in + 0u) * 16u + b_q] = br0;
  tile_b[(b_in + 8u) * 16u + b_q] = br1;
  tile_b[(b_in + 16u) * 16u + b_q] = br2;
  tile_b[(b_in + 24u) * 16u + b_q] = br3;
  let tx = t % 16u;
  let ty = t / 16u;
  var acc0_0 = vec4<f32>(0);
  var acc1_0 = vec4<f32>(0);
  var acc2_0 = vec4<f32>(0);
  var acc3_0 = vec4<f32>(0);
  var acc4_0 = vec4<f32>(0);
  var acc5_0 = vec4<f32>(0);
  var acc6_0 = vec4<f32>(0);
  var acc7_0 = vec4<f32>(0);
  workgroupBarrier();
  for (var k0 = begin; k0 < end; k0 += 32u) {
    let more = k0 + 32u < end;
    if (more) {
      {
        let a_k0_0 = a_k0;
        let k0_0 = a_k0_0;
        let ok0 = a_k + 0u < end;
        ar0 = select(vec4<f32>(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
        ar1 = select(vec4<f32>(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
        ar2 = select(vec4<f32>(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
        ar3 = select(vec4<f32>(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
        a_k += 32u;
        a_k0 += p.d0;
      }
      {
        {
          let b_k0_0 = b_k0;
          let k0_0 = b_k0_0 * p.s13;
          let ok0 = b_k + 0u < end;
          br0 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
          b_k += 8u;
          b_k0 += p.d1;
        }
        {
          let b_k0_0 = b_k0;
          let k0_0 = b_k0_0 * p.s13;
          let ok0 = b_k + 0u < end;
          br1 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
          b_k += 8u;
          b_k0 += p.d1;
        }
        {
          let b_k0_0 = b_k0;
          let k0_0 = b_k0_0 * p.s13;
          let ok0 = b_k + 0u < end;
          br2 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
          b_k += 8u;
          b_k0 += p.d1;
        }
        {
          let b_k0_0 = b_k0;
          let k0_0 = b_k0_0 * p.s13;
          let ok0 = b_k + 0u < end;
          br3 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
          b_k += 8u;
          b_k0 += p.d1;
        }
      }
    }
    {
      let u0 = tile_a[ty + 0u];
      let u1 = tile_a[ty + 8u];
      let v0 = tile_b[tx + 0u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 16u];
      let u1 = tile_a[ty + 24u];
      let v0 = tile_b[tx + 16u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 32u];
      let u1 = tile_a[ty + 40u];
      let v0 = tile_b[tx + 32u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 48u];
      let u1 = tile_a[ty + 56u];
      let v0 = tile_b[tx + 48u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 64u];
      let u1 = tile_a[ty + 72u];
      let v0 = tile_b[tx + 64u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 80u];
      let u1 = tile_a[ty + 88u];
      let v0 = tile_b[tx + 80u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 96u];
      let u1 = tile_a[ty + 104u];
      let v0 = tile_b[tx + 96u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 112u];
      let u1 = tile_a[ty + 120u];
      let v0 = tile_b[tx + 112u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 128u];
      let u1 = tile_a[ty + 136u];
      let v0 = tile_b[tx + 128u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 144u];
      let u1 = tile_a[ty + 152u];
      let v0 = tile_b[tx + 144u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 160u];
      let u1 = tile_a[ty + 168u];
      let v0 = tile_b[tx + 160u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 176u];
      let u1 = tile_a[ty + 184u];
      let v0 = tile_b[tx + 176u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 192u];
      let u1 = tile_a[ty + 200u];
      let v0 = tile_b[tx + 192u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 208u];
      let u1 = tile_a[ty + 216u];
      let v0 = tile_b[tx + 208u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 224u];
      let u1 = tile_a[ty + 232u];
      let v0 = tile_b[tx + 224u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 240u];
      let u1 = tile_a[ty + 248u];
      let v0 = tile_b[tx + 240u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 256u];
      let u1 = tile_a[ty + 264u];
      let v0 = tile_b[tx + 256u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 272u];
      let u1 = tile_a[ty + 280u];
      let v0 = tile_b[tx + 272u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 288u];
      let u1 = tile_a[ty + 296u];
      let v0 = tile_b[tx + 288u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 304u];
      let u1 = tile_a[ty + 312u];
      let v0 = tile_b[tx + 304u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 320u];
      let u1 = tile_a[ty + 328u];
      let v0 = tile_b[tx + 320u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 336u];
      let u1 = tile_a[ty + 344u];
      let v0 = tile_b[tx + 336u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 352u];
      let u1 = tile_a[ty + 360u];
      let v0 = tile_b[tx + 352u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 368u];
      let u1 = tile_a[ty + 376u];
      let v0 = tile_b[tx + 368u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 384u];
      let u1 = tile_a[ty + 392u];
      let v0 = tile_b[tx + 384u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 400u];
      let u1 = tile_a[ty + 408u];
      let v0 = tile_b[tx + 400u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 416u];
      let u1 = tile_a[ty + 424u];
      let v0 = tile_b[tx + 416u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 432u];
      let u1 = tile_a[ty + 440u];
      let v0 = tile_b[tx + 432u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 448u];
      let u1 = tile_a[ty + 456u];
      let v0 = tile_b[tx + 448u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 464u];
      let u1 = tile_a[ty + 472u];
      let v0 = tile_b[tx + 464u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 480u];
      let u1 = tile_a[ty + 488u];
      let v0 = tile_b[tx + 480u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    {
      let u0 = tile_a[ty + 496u];
      let u1 = tile_a[ty + 504u];
      let v0 = tile_b[tx + 496u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
      acc4_0 = fma(vec4<f32>(u1.x), v0, acc4_0);
      acc5_0 = fma(vec4<f32>(u1.y), v0, acc5_0);
      acc6_0 = fma(vec4<f32>(u1.z), v0, acc6_0);
      acc7_0 = fma(vec4<f32>(u1.w), v0, acc7_0);
    }
    workgroupBarrier();
    if (more) {
      tile_a[(a_in + 0u) * 16u + a_q + 0u] = vec4<f32>(ar0.x, ar1.x, ar2.x, ar3.x);
      tile_a[(a_in + 1u) * 16u + a_q + 0u] = vec4<f32>(ar0.y, ar1.y, ar2.y, ar3.y);
      tile_a[(a_in + 2u) * 16u + a_q + 0u] = vec4<f32>(ar0.z, ar1.z, ar2.z, ar3.z);
      tile_a[(a_in + 3u) * 16u + a_q + 0u] = vec4<f32>(ar0.w, ar1.w, ar2.w, ar3.w);
      tile_b[(b_in + 0u) * 16u + b_q] = br0;
      tile_b[(b_in + 8u) * 16u + b_q] = br1;
      tile_b[(b_in + 16u) * 16u + b_q] = br2;
      tile_b[(b_in + 24u) * 16u + b_q] = br3;
    }
    workgroupBarrier();
  }
  let column_0 = column0 + (tx + 0u) * 4u;
  let y_c0_0 = column_0;
  let row_0 = row0 + (ty + 0u) * 4u;
  let y_r0_0 = row_0;
  let y_r0_1 = min(y_r0_0 + 1u, p.n15 - 1u);
  let y_r0_2 = min(y_r0_1 + 1u, p.n15 - 1u);
  let y_r0_3 = min(y_r0_2 + 1u, p.n15 - 1u);
  let row_4 = row0 + (ty + 8u) * 4u;
  let y_r0_4 = row_4;
  let y_r0_5 = min(y_r0_4 + 1u, p.n15 - 1u);
  let y_r0_6 = min(y_r0_5 + 1u, p.n15 - 1u);
  let y_r0_7 = min(y_r0_6 + 1u, p.n15 - 1u);
  if (row_0 + 0u < p.n16) {
    let start = y_r0_0 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc0_0, y_r0_0, y_c0_0);
    }
  }
  if (row_0 + 1u < p.n16) {
    let start = y_r0_1 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc1_0, y_r0_1, y_c0_0);
    }
  }
  if (row_0 + 2u < p.n16) {
    let start = y_r0_2 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc2_0, y_r0_2, y_c0_0);
    }
  }
  if (row_0 + 3u < p.n16) {
    let start = y_r0_3 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc3_0, y_r0_3, y_c0_0);
    }
  }
  if (row_4 + 0u < p.n16) {
    let start = y_r0_4 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc4_0, y_r0_4, y_c0_0);
    }
  }
  if (row_4 + 1u < p.n16) {
    let start = y_r0_5 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc5_0, y_r0_5, y_c0_0);
    }
  }
  if (row_4 + 2u < p.n16) {
    let start = y_r0_6 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc6_0, y_r0_6, y_c0_0);
    }
  }
  if (row_4 + 3u < p.n16) {
    let start = y_r0_7 * p.s19;
    if (column_0 + 0u < p.n18) {
      out[(start + y_c0_0) / 4u] = finish(acc7_0, y_r0_7, y_c0_0);
    }
  }
}
fn nanmax_f32x4(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
  let kept = select(max(a, b), a, (bitcast<vec4<u32>>(a) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
  return select(kept, b, (bitcast<vec4<u32>>(b) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
}

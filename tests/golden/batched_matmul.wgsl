// matmul
// contract/skinny.wgsl, 256 threads
struct Params {
  advance: u32,
  advance1: u32,
  batch: u32,
  rows: u32,
  summed: u32,
  stride: u32,
  stride1: u32,
  columns: u32,
  stride2: u32,
  stride3: u32,
  stride4: u32,
  stride5: u32,
  tiles: u32,
  groups: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read> in1: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
fn a(p0: u32, e: u32) -> f32 {
  let t0 = in0[p0];
  return t0;
}
fn b(p0: u32, e: u32) -> f32 {
  let t0 = in1[p0];
  return t0;
}
var<workgroup> partials: array<vec4<f32>, 256>;
@compute @workgroup_size(256, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  // the columns of this thread, and its part of k
  let t = lid.x;
  let group = wid.x + wid.y * p.groups;
  let depth = group / p.tiles;
  if (depth >= p.batch) {
    return;
  }
  let batch = depth;
  let begin = 0u;
  let end = p.summed;
  let lane = t % 32u;
  let strip = t / 32u;
  let column_0 = ((group % p.tiles) * 32u + lane) * 4u;
  let first = begin + strip;
  let a_batch = batch;
  let a_b0 = a_batch;
  let a_first0 = min(0u, p.rows - 1u);
  let a_o0_0 = a_first0;
  let a0_0 = a_b0 * p.stride + a_o0_0 * p.stride1;
  let a_o0_1 = min(a_o0_0 + 1u, p.rows - 1u);
  let a0_1 = a_b0 * p.stride + a_o0_1 * p.stride1;
  let a_o0_2 = min(a_o0_1 + 1u, p.rows - 1u);
  let a0_2 = a_b0 * p.stride + a_o0_2 * p.stride1;
  let a_o0_3 = min(a_o0_2 + 1u, p.rows - 1u);
  let a0_3 = a_b0 * p.stride + a_o0_3 * p.stride1;
  let a_o0_4 = min(a_o0_3 + 1u, p.rows - 1u);
  let a0_4 = a_b0 * p.stride + a_o0_4 * p.stride1;
  let a_o0_5 = min(a_o0_4 + 1u, p.rows - 1u);
  let a0_5 = a_b0 * p.stride + a_o0_5 * p.stride1;
  let a_o0_6 = min(a_o0_5 + 1u, p.rows - 1u);
  let a0_6 = a_b0 * p.stride + a_o0_6 * p.stride1;
  let a_o0_7 = min(a_o0_6 + 1u, p.rows - 1u);
  let a0_7 = a_b0 * p.stride + a_o0_7 * p.stride1;
  var a_k = first;
  let a_k0_0 = a_k;
  var a_k0 = a_k0_0;
  let b_batch = batch;
  let b_b0 = b_batch;
  let b_first0 = min(column_0, p.columns - 1u);
  let b_o0_0 = b_first0;
  let b0_0 = b_b0 * p.stride2 + b_o0_0;
  let b_o0_1 = min(b_o0_0 + 1u, p.columns - 1u);
  let b0_1 = b_b0 * p.stride2 + b_o0_1;
  let b_o0_2 = min(b_o0_1 + 1u, p.columns - 1u);
  let b0_2 = b_b0 * p.stride2 + b_o0_2;
  let b_o0_3 = min(b_o0_2 + 1u, p.columns - 1u);
  let b0_3 = b_b0 * p.stride2 + b_o0_3;
  var b_k = first;
  let b_k0_0 = b_k;
  var b_k0 = b_k0_0;
  // sum over k
  var acc0_0 = vec4<f32>(0);
  var acc1_0 = vec4<f32>(0);
  var acc2_0 = vec4<f32>(0);
  var acc3_0 = vec4<f32>(0);
  var acc4_0 = vec4<f32>(0);
  var acc5_0 = vec4<f32>(0);
  var acc6_0 = vec4<f32>(0);
  var acc7_0 = vec4<f32>(0);
  for (var k = begin; k < end; k += 32u) {
    var bx0_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.stride3;
      let ok0 = b_k < end;
      bx0_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k0 += p.advance1;
    }
    var ax0_0 = f32(0);
    var ax0_1 = f32(0);
    var ax0_2 = f32(0);
    var ax0_3 = f32(0);
    var ax0_4 = f32(0);
    var ax0_5 = f32(0);
    var ax0_6 = f32(0);
    var ax0_7 = f32(0);
    {
      let a_k0_0 = a_k0;
      let k0_0 = a_k0_0;
      let ok0 = a_k < end;
      ax0_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax0_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax0_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax0_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      ax0_4 = select(f32(0), a(select(0u, a0_4 + k0_0, ok0), 0u), ok0);
      ax0_5 = select(f32(0), a(select(0u, a0_5 + k0_0, ok0), 0u), ok0);
      ax0_6 = select(f32(0), a(select(0u, a0_6 + k0_0, ok0), 0u), ok0);
      ax0_7 = select(f32(0), a(select(0u, a0_7 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k0 += p.advance;
    }
    var bx1_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.stride3;
      let ok0 = b_k < end;
      bx1_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k0 += p.advance1;
    }
    var ax1_0 = f32(0);
    var ax1_1 = f32(0);
    var ax1_2 = f32(0);
    var ax1_3 = f32(0);
    var ax1_4 = f32(0);
    var ax1_5 = f32(0);
    var ax1_6 = f32(0);
    var ax1_7 = f32(0);
    {
      let a_k0_0 = a_k0;
      let k0_0 = a_k0_0;
      let ok0 = a_k < end;
      ax1_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax1_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax1_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax1_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      ax1_4 = select(f32(0), a(select(0u, a0_4 + k0_0, ok0), 0u), ok0);
      ax1_5 = select(f32(0), a(select(0u, a0_5 + k0_0, ok0), 0u), ok0);
      ax1_6 = select(f32(0), a(select(0u, a0_6 + k0_0, ok0), 0u), ok0);
      ax1_7 = select(f32(0), a(select(0u, a0_7 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k0 += p.advance;
    }
    var bx2_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.stride3;
      let ok0 = b_k < end;
      bx2_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k0 += p.advance1;
    }
    var ax2_0 = f32(0);
    var ax2_1 = f32(0);
    var ax2_2 = f32(0);
    var ax2_3 = f32(0);
    var ax2_4 = f32(0);
    var ax2_5 = f32(0);
    var ax2_6 = f32(0);
    var ax2_7 = f32(0);
    {
      let a_k0_0 = a_k0;
      let k0_0 = a_k0_0;
      let ok0 = a_k < end;
      ax2_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax2_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax2_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax2_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      ax2_4 = select(f32(0), a(select(0u, a0_4 + k0_0, ok0), 0u), ok0);
      ax2_5 = select(f32(0), a(select(0u, a0_5 + k0_0, ok0), 0u), ok0);
      ax2_6 = select(f32(0), a(select(0u, a0_6 + k0_0, ok0), 0u), ok0);
      ax2_7 = select(f32(0), a(select(0u, a0_7 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k0 += p.advance;
    }
    var bx3_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.stride3;
      let ok0 = b_k < end;
      bx3_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k0 += p.advance1;
    }
    var ax3_0 = f32(0);
    var ax3_1 = f32(0);
    var ax3_2 = f32(0);
    var ax3_3 = f32(0);
    var ax3_4 = f32(0);
    var ax3_5 = f32(0);
    var ax3_6 = f32(0);
    var ax3_7 = f32(0);
    {
      let a_k0_0 = a_k0;
      let k0_0 = a_k0_0;
      let ok0 = a_k < end;
      ax3_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax3_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax3_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax3_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      ax3_4 = select(f32(0), a(select(0u, a0_4 + k0_0, ok0), 0u), ok0);
      ax3_5 = select(f32(0), a(select(0u, a0_5 + k0_0, ok0), 0u), ok0);
      ax3_6 = select(f32(0), a(select(0u, a0_6 + k0_0, ok0), 0u), ok0);
      ax3_7 = select(f32(0), a(select(0u, a0_7 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k0 += p.advance;
    }
    acc0_0 = fma(vec4<f32>(ax0_0), bx0_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax0_1), bx0_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax0_2), bx0_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax0_3), bx0_0, acc3_0);
    acc4_0 = fma(vec4<f32>(ax0_4), bx0_0, acc4_0);
    acc5_0 = fma(vec4<f32>(ax0_5), bx0_0, acc5_0);
    acc6_0 = fma(vec4<f32>(ax0_6), bx0_0, acc6_0);
    acc7_0 = fma(vec4<f32>(ax0_7), bx0_0, acc7_0);
    acc0_0 = fma(vec4<f32>(ax1_0), bx1_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax1_1), bx1_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax1_2), bx1_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax1_3), bx1_0, acc3_0);
    acc4_0 = fma(vec4<f32>(ax1_4), bx1_0, acc4_0);
    acc5_0 = fma(vec4<f32>(ax1_5), bx1_0, acc5_0);
    acc6_0 = fma(vec4<f32>(ax1_6), bx1_0, acc6_0);
    acc7_0 = fma(vec4<f32>(ax1_7), bx1_0, acc7_0);
    acc0_0 = fma(vec4<f32>(ax2_0), bx2_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax2_1), bx2_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax2_2), bx2_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax2_3), bx2_0, acc3_0);
    acc4_0 = fma(vec4<f32>(ax2_4), bx2_0, acc4_0);
    acc5_0 = fma(vec4<f32>(ax2_5), bx2_0, acc5_0);
    acc6_0 = fma(vec4<f32>(ax2_6), bx2_0, acc6_0);
    acc7_0 = fma(vec4<f32>(ax2_7), bx2_0, acc7_0);
    acc0_0 = fma(vec4<f32>(ax3_0), bx3_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax3_1), bx3_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax3_2), bx3_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax3_3), bx3_0, acc3_0);
    acc4_0 = fma(vec4<f32>(ax3_4), bx3_0, acc4_0);
    acc5_0 = fma(vec4<f32>(ax3_5), bx3_0, acc5_0);
    acc6_0 = fma(vec4<f32>(ax3_6), bx3_0, acc6_0);
    acc7_0 = fma(vec4<f32>(ax3_7), bx3_0, acc7_0);
  }
  // join the threads of the same columns, and write
  let y_b0 = batch;
  let row_0 = 0u;
  let y_r0_0 = row_0;
  let y_r0_1 = min(y_r0_0 + 1u, p.rows - 1u);
  let y_r0_2 = min(y_r0_1 + 1u, p.rows - 1u);
  let y_r0_3 = min(y_r0_2 + 1u, p.rows - 1u);
  let y_r0_4 = min(y_r0_3 + 1u, p.rows - 1u);
  let y_r0_5 = min(y_r0_4 + 1u, p.rows - 1u);
  let y_r0_6 = min(y_r0_5 + 1u, p.rows - 1u);
  let y_r0_7 = min(y_r0_6 + 1u, p.rows - 1u);
  let y_c0_0 = column_0;
  let y_c0_1 = min(y_c0_0 + 1u, p.columns - 1u);
  let y_c0_2 = min(y_c0_1 + 1u, p.columns - 1u);
  let y_c0_3 = min(y_c0_2 + 1u, p.columns - 1u);
  var sum0 = acc0_0;
  partials[t] = sum0;
  workgroupBarrier();
  if (strip < 4u) {
    sum0 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum0;
  workgroupBarrier();
  if (strip < 2u) {
    sum0 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum0;
  workgroupBarrier();
  if (strip < 1u) {
    sum0 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (0u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_0 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum0.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum0.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum0.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum0.w;
    }
  }
  var sum1 = acc1_0;
  partials[t] = sum1;
  workgroupBarrier();
  if (strip < 4u) {
    sum1 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum1;
  workgroupBarrier();
  if (strip < 2u) {
    sum1 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum1;
  workgroupBarrier();
  if (strip < 1u) {
    sum1 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (1u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_1 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum1.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum1.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum1.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum1.w;
    }
  }
  var sum2 = acc2_0;
  partials[t] = sum2;
  workgroupBarrier();
  if (strip < 4u) {
    sum2 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum2;
  workgroupBarrier();
  if (strip < 2u) {
    sum2 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum2;
  workgroupBarrier();
  if (strip < 1u) {
    sum2 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (2u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_2 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum2.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum2.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum2.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum2.w;
    }
  }
  var sum3 = acc3_0;
  partials[t] = sum3;
  workgroupBarrier();
  if (strip < 4u) {
    sum3 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum3;
  workgroupBarrier();
  if (strip < 2u) {
    sum3 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum3;
  workgroupBarrier();
  if (strip < 1u) {
    sum3 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (3u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_3 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum3.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum3.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum3.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum3.w;
    }
  }
  var sum4 = acc4_0;
  partials[t] = sum4;
  workgroupBarrier();
  if (strip < 4u) {
    sum4 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum4;
  workgroupBarrier();
  if (strip < 2u) {
    sum4 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum4;
  workgroupBarrier();
  if (strip < 1u) {
    sum4 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (4u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_4 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum4.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum4.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum4.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum4.w;
    }
  }
  var sum5 = acc5_0;
  partials[t] = sum5;
  workgroupBarrier();
  if (strip < 4u) {
    sum5 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum5;
  workgroupBarrier();
  if (strip < 2u) {
    sum5 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum5;
  workgroupBarrier();
  if (strip < 1u) {
    sum5 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (5u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_5 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum5.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum5.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum5.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum5.w;
    }
  }
  var sum6 = acc6_0;
  partials[t] = sum6;
  workgroupBarrier();
  if (strip < 4u) {
    sum6 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum6;
  workgroupBarrier();
  if (strip < 2u) {
    sum6 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum6;
  workgroupBarrier();
  if (strip < 1u) {
    sum6 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (6u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_6 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum6.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum6.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum6.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum6.w;
    }
  }
  var sum7 = acc7_0;
  partials[t] = sum7;
  workgroupBarrier();
  if (strip < 4u) {
    sum7 += partials[t + 128u];
  }
  workgroupBarrier();
  partials[t] = sum7;
  workgroupBarrier();
  if (strip < 2u) {
    sum7 += partials[t + 64u];
  }
  workgroupBarrier();
  partials[t] = sum7;
  workgroupBarrier();
  if (strip < 1u) {
    sum7 += partials[t + 32u];
  }
  workgroupBarrier();
  if ((strip == 0u) & (7u < p.rows)) {
    let start = y_b0 * p.stride4 + y_r0_7 * p.stride5;
    if (column_0 < p.columns) {
      out[start + y_c0_0] = sum7.x;
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1] = sum7.y;
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2] = sum7.z;
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3] = sum7.w;
    }
  }
}

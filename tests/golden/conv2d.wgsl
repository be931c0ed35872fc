// conv2d+add+relu
// contract/skinny.wgsl, 256 threads: add, relu
struct Params {
  padded: u32,
  padded1: u32,
  advance: u32,
  advance1: u32,
  advance2: u32,
  advance3: u32,
  advance4: u32,
  batch: u32,
  rows: u32,
  summed: u32,
  summed_dim: u32,
  summed_dim1: u32,
  stride: u32,
  stride1: u32,
  columns: u32,
  columns_dim: u32,
  columns_dim1: u32,
  columns_dim2: u32,
  summed_dim2: u32,
  summed_dim3: u32,
  summed_dim4: u32,
  offset: u32,
  stride2: u32,
  stride3: u32,
  stride4: u32,
  stride5: u32,
  offset1: u32,
  offset2: u32,
  columns_dim3: u32,
  columns_dim4: u32,
  stride6: u32,
  stride7: u32,
  tiles: u32,
  groups: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read> in1: array<f32>;
@group(0) @binding(3) var<storage, read> in2: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;
fn a(p0: u32, e: u32) -> f32 {
  let t0 = in0[p0];
  return t0;
}
fn b(p0: u32, p1: u32, p2: u32, e: u32) -> f32 {
  let t0_ok = (p1 < p.padded) & (p2 < p.padded1);
  let t0_at = select(0u, p0, t0_ok);
  let t0 = select(f32(0), in1[t0_at], t0_ok);
  return t0;
}
fn finish(acc: f32, y_r0: u32, y_c0: u32, y_c1: u32) -> f32 {
  let t1 = in2[y_r0];
  let t2 = (acc + t1);
  let t3 = rectified_f32(t2);
  return t3;
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
  let a_first0 = min(0u, p.rows - 1u);
  let a_o0_0 = a_first0;
  let a0_0 = a_o0_0 * p.stride;
  let a_o0_1 = min(a_o0_0 + 1u, p.rows - 1u);
  let a0_1 = a_o0_1 * p.stride;
  let a_o0_2 = min(a_o0_1 + 1u, p.rows - 1u);
  let a0_2 = a_o0_2 * p.stride;
  let a_o0_3 = min(a_o0_2 + 1u, p.rows - 1u);
  let a0_3 = a_o0_3 * p.stride;
  var a_k = first;
  var a_k_rest = a_k;
  let a_k1_0 = a_k_rest % p.summed_dim1;
  a_k_rest /= p.summed_dim1;
  let a_k0_0 = a_k_rest;
  var a_k0 = a_k0_0;
  var a_k1 = a_k1_0;
  let b_batch = batch;
  let b_first0 = min(column_0, p.columns - 1u);
  var b_first0_rest = b_first0;
  let b_o2_0 = b_first0_rest % p.columns_dim2;
  b_first0_rest /= p.columns_dim2;
  let b_o1_0 = b_first0_rest % p.columns_dim1;
  b_first0_rest /= p.columns_dim1;
  let b_o0_0 = b_first0_rest;
  let b0_0 = p.offset + b_o0_0 * p.stride2 + b_o1_0 * p.stride3 + b_o2_0;
  let b1_0 = p.offset1 + b_o1_0;
  let b2_0 = p.offset2 + b_o2_0;
  let b_o2_1n = b_o2_0 + 1u;
  let b_o2_1c = b_o2_1n >= p.columns_dim2;
  let b_o2_1 = select(b_o2_1n, 0u, b_o2_1c);
  let b_o1_1n = b_o1_0 + u32(b_o2_1c);
  let b_o1_1c = b_o1_1n >= p.columns_dim1;
  let b_o1_1 = select(b_o1_1n, 0u, b_o1_1c);
  let b_o0_1 = min(b_o0_0 + u32(b_o1_1c), p.columns_dim - 1u);
  let b0_1 = p.offset + b_o0_1 * p.stride2 + b_o1_1 * p.stride3 + b_o2_1;
  let b1_1 = p.offset1 + b_o1_1;
  let b2_1 = p.offset2 + b_o2_1;
  let b_o2_2n = b_o2_1 + 1u;
  let b_o2_2c = b_o2_2n >= p.columns_dim2;
  let b_o2_2 = select(b_o2_2n, 0u, b_o2_2c);
  let b_o1_2n = b_o1_1 + u32(b_o2_2c);
  let b_o1_2c = b_o1_2n >= p.columns_dim1;
  let b_o1_2 = select(b_o1_2n, 0u, b_o1_2c);
  let b_o0_2 = min(b_o0_1 + u32(b_o1_2c), p.columns_dim - 1u);
  let b0_2 = p.offset + b_o0_2 * p.stride2 + b_o1_2 * p.stride3 + b_o2_2;
  let b1_2 = p.offset1 + b_o1_2;
  let b2_2 = p.offset2 + b_o2_2;
  let b_o2_3n = b_o2_2 + 1u;
  let b_o2_3c = b_o2_3n >= p.columns_dim2;
  let b_o2_3 = select(b_o2_3n, 0u, b_o2_3c);
  let b_o1_3n = b_o1_2 + u32(b_o2_3c);
  let b_o1_3c = b_o1_3n >= p.columns_dim1;
  let b_o1_3 = select(b_o1_3n, 0u, b_o1_3c);
  let b_o0_3 = min(b_o0_2 + u32(b_o1_3c), p.columns_dim - 1u);
  let b0_3 = p.offset + b_o0_3 * p.stride2 + b_o1_3 * p.stride3 + b_o2_3;
  let b1_3 = p.offset1 + b_o1_3;
  let b2_3 = p.offset2 + b_o2_3;
  var b_k = first;
  var b_k_rest = b_k;
  let b_k2_0 = b_k_rest % p.summed_dim4;
  b_k_rest /= p.summed_dim4;
  let b_k1_0 = b_k_rest % p.summed_dim3;
  b_k_rest /= p.summed_dim3;
  let b_k0_0 = b_k_rest;
  var b_k0 = b_k0_0;
  var b_k1 = b_k1_0;
  var b_k2 = b_k2_0;
  // sum over k
  var acc0_0 = vec4<f32>(0);
  var acc1_0 = vec4<f32>(0);
  var acc2_0 = vec4<f32>(0);
  var acc3_0 = vec4<f32>(0);
  for (var k = begin; k < end; k += 32u) {
    var bx0_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let b_k1_0 = b_k1;
      let b_k2_0 = b_k2;
      let k0_0 = b_k0_0 * p.stride4 + b_k1_0 + b_k2_0 * p.stride5;
      let k1_0 = b_k0_0;
      let k2_0 = b_k1_0;
      let ok0 = b_k < end;
      bx0_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), select(0u, b1_0 + k1_0, ok0), select(0u, b2_0 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), select(0u, b1_1 + k1_0, ok0), select(0u, b2_1 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), select(0u, b1_2 + k1_0, ok0), select(0u, b2_2 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), select(0u, b1_3 + k1_0, ok0), select(0u, b2_3 + k2_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k2 += p.advance2;
      let carry2 = b_k2 >= p.summed_dim4;
      b_k2 -= select(0u, p.summed_dim4, carry2);
      b_k1 += p.advance3 + u32(carry2);
      let carry1 = b_k1 >= p.summed_dim3;
      b_k1 -= select(0u, p.summed_dim3, carry1);
      b_k0 += p.advance4 + u32(carry1);
    }
    var ax0_0 = f32(0);
    var ax0_1 = f32(0);
    var ax0_2 = f32(0);
    var ax0_3 = f32(0);
    {
      let a_k0_0 = a_k0;
      let a_k1_0 = a_k1;
      let k0_0 = a_k0_0 + a_k1_0 * p.stride1;
      let ok0 = a_k < end;
      ax0_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax0_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax0_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax0_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k1 += p.advance;
      let carry1 = a_k1 >= p.summed_dim1;
      a_k1 -= select(0u, p.summed_dim1, carry1);
      a_k0 += p.advance1 + u32(carry1);
    }
    var bx1_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let b_k1_0 = b_k1;
      let b_k2_0 = b_k2;
      let k0_0 = b_k0_0 * p.stride4 + b_k1_0 + b_k2_0 * p.stride5;
      let k1_0 = b_k0_0;
      let k2_0 = b_k1_0;
      let ok0 = b_k < end;
      bx1_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), select(0u, b1_0 + k1_0, ok0), select(0u, b2_0 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), select(0u, b1_1 + k1_0, ok0), select(0u, b2_1 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), select(0u, b1_2 + k1_0, ok0), select(0u, b2_2 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), select(0u, b1_3 + k1_0, ok0), select(0u, b2_3 + k2_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k2 += p.advance2;
      let carry2 = b_k2 >= p.summed_dim4;
      b_k2 -= select(0u, p.summed_dim4, carry2);
      b_k1 += p.advance3 + u32(carry2);
      let carry1 = b_k1 >= p.summed_dim3;
      b_k1 -= select(0u, p.summed_dim3, carry1);
      b_k0 += p.advance4 + u32(carry1);
    }
    var ax1_0 = f32(0);
    var ax1_1 = f32(0);
    var ax1_2 = f32(0);
    var ax1_3 = f32(0);
    {
      let a_k0_0 = a_k0;
      let a_k1_0 = a_k1;
      let k0_0 = a_k0_0 + a_k1_0 * p.stride1;
      let ok0 = a_k < end;
      ax1_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax1_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax1_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax1_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k1 += p.advance;
      let carry1 = a_k1 >= p.summed_dim1;
      a_k1 -= select(0u, p.summed_dim1, carry1);
      a_k0 += p.advance1 + u32(carry1);
    }
    var bx2_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let b_k1_0 = b_k1;
      let b_k2_0 = b_k2;
      let k0_0 = b_k0_0 * p.stride4 + b_k1_0 + b_k2_0 * p.stride5;
      let k1_0 = b_k0_0;
      let k2_0 = b_k1_0;
      let ok0 = b_k < end;
      bx2_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), select(0u, b1_0 + k1_0, ok0), select(0u, b2_0 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), select(0u, b1_1 + k1_0, ok0), select(0u, b2_1 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), select(0u, b1_2 + k1_0, ok0), select(0u, b2_2 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), select(0u, b1_3 + k1_0, ok0), select(0u, b2_3 + k2_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k2 += p.advance2;
      let carry2 = b_k2 >= p.summed_dim4;
      b_k2 -= select(0u, p.summed_dim4, carry2);
      b_k1 += p.advance3 + u32(carry2);
      let carry1 = b_k1 >= p.summed_dim3;
      b_k1 -= select(0u, p.summed_dim3, carry1);
      b_k0 += p.advance4 + u32(carry1);
    }
    var ax2_0 = f32(0);
    var ax2_1 = f32(0);
    var ax2_2 = f32(0);
    var ax2_3 = f32(0);
    {
      let a_k0_0 = a_k0;
      let a_k1_0 = a_k1;
      let k0_0 = a_k0_0 + a_k1_0 * p.stride1;
      let ok0 = a_k < end;
      ax2_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax2_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax2_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax2_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k1 += p.advance;
      let carry1 = a_k1 >= p.summed_dim1;
      a_k1 -= select(0u, p.summed_dim1, carry1);
      a_k0 += p.advance1 + u32(carry1);
    }
    var bx3_0 = vec4<f32>(0);
    {
      let b_k0_0 = b_k0;
      let b_k1_0 = b_k1;
      let b_k2_0 = b_k2;
      let k0_0 = b_k0_0 * p.stride4 + b_k1_0 + b_k2_0 * p.stride5;
      let k1_0 = b_k0_0;
      let k2_0 = b_k1_0;
      let ok0 = b_k < end;
      bx3_0 = vec4<f32>(select(f32(0), b(select(0u, b0_0 + k0_0, ok0), select(0u, b1_0 + k1_0, ok0), select(0u, b2_0 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_1 + k0_0, ok0), select(0u, b1_1 + k1_0, ok0), select(0u, b2_1 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_2 + k0_0, ok0), select(0u, b1_2 + k1_0, ok0), select(0u, b2_2 + k2_0, ok0), 0u), ok0), select(f32(0), b(select(0u, b0_3 + k0_0, ok0), select(0u, b1_3 + k1_0, ok0), select(0u, b2_3 + k2_0, ok0), 0u), ok0));
      b_k += 8u;
      b_k2 += p.advance2;
      let carry2 = b_k2 >= p.summed_dim4;
      b_k2 -= select(0u, p.summed_dim4, carry2);
      b_k1 += p.advance3 + u32(carry2);
      let carry1 = b_k1 >= p.summed_dim3;
      b_k1 -= select(0u, p.summed_dim3, carry1);
      b_k0 += p.advance4 + u32(carry1);
    }
    var ax3_0 = f32(0);
    var ax3_1 = f32(0);
    var ax3_2 = f32(0);
    var ax3_3 = f32(0);
    {
      let a_k0_0 = a_k0;
      let a_k1_0 = a_k1;
      let k0_0 = a_k0_0 + a_k1_0 * p.stride1;
      let ok0 = a_k < end;
      ax3_0 = select(f32(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
      ax3_1 = select(f32(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
      ax3_2 = select(f32(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
      ax3_3 = select(f32(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
      a_k += 8u;
      a_k1 += p.advance;
      let carry1 = a_k1 >= p.summed_dim1;
      a_k1 -= select(0u, p.summed_dim1, carry1);
      a_k0 += p.advance1 + u32(carry1);
    }
    acc0_0 = fma(vec4<f32>(ax0_0), bx0_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax0_1), bx0_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax0_2), bx0_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax0_3), bx0_0, acc3_0);
    acc0_0 = fma(vec4<f32>(ax1_0), bx1_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax1_1), bx1_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax1_2), bx1_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax1_3), bx1_0, acc3_0);
    acc0_0 = fma(vec4<f32>(ax2_0), bx2_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax2_1), bx2_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax2_2), bx2_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax2_3), bx2_0, acc3_0);
    acc0_0 = fma(vec4<f32>(ax3_0), bx3_0, acc0_0);
    acc1_0 = fma(vec4<f32>(ax3_1), bx3_0, acc1_0);
    acc2_0 = fma(vec4<f32>(ax3_2), bx3_0, acc2_0);
    acc3_0 = fma(vec4<f32>(ax3_3), bx3_0, acc3_0);
  }
  // join the threads of the same columns, and write
  let row_0 = 0u;
  let y_r0_0 = row_0;
  let y_r0_1 = min(y_r0_0 + 1u, p.rows - 1u);
  let y_r0_2 = min(y_r0_1 + 1u, p.rows - 1u);
  let y_r0_3 = min(y_r0_2 + 1u, p.rows - 1u);
  var column_0_rest = column_0;
  let y_c1_0 = column_0_rest % p.columns_dim4;
  column_0_rest /= p.columns_dim4;
  let y_c0_0 = column_0_rest;
  let y_c1_1n = y_c1_0 + 1u;
  let y_c1_1c = y_c1_1n >= p.columns_dim4;
  let y_c1_1 = select(y_c1_1n, 0u, y_c1_1c);
  let y_c0_1 = min(y_c0_0 + u32(y_c1_1c), p.columns_dim3 - 1u);
  let y_c1_2n = y_c1_1 + 1u;
  let y_c1_2c = y_c1_2n >= p.columns_dim4;
  let y_c1_2 = select(y_c1_2n, 0u, y_c1_2c);
  let y_c0_2 = min(y_c0_1 + u32(y_c1_2c), p.columns_dim3 - 1u);
  let y_c1_3n = y_c1_2 + 1u;
  let y_c1_3c = y_c1_3n >= p.columns_dim4;
  let y_c1_3 = select(y_c1_3n, 0u, y_c1_3c);
  let y_c0_3 = min(y_c0_2 + u32(y_c1_3c), p.columns_dim3 - 1u);
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
    let start = y_r0_0 * p.stride6;
    if (column_0 < p.columns) {
      out[start + y_c0_0 * p.stride7 + y_c1_0] = finish(sum0.x, y_r0_0, y_c0_0, y_c1_0);
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1 * p.stride7 + y_c1_1] = finish(sum0.y, y_r0_0, y_c0_1, y_c1_1);
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2 * p.stride7 + y_c1_2] = finish(sum0.z, y_r0_0, y_c0_2, y_c1_2);
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3 * p.stride7 + y_c1_3] = finish(sum0.w, y_r0_0, y_c0_3, y_c1_3);
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
    let start = y_r0_1 * p.stride6;
    if (column_0 < p.columns) {
      out[start + y_c0_0 * p.stride7 + y_c1_0] = finish(sum1.x, y_r0_1, y_c0_0, y_c1_0);
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1 * p.stride7 + y_c1_1] = finish(sum1.y, y_r0_1, y_c0_1, y_c1_1);
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2 * p.stride7 + y_c1_2] = finish(sum1.z, y_r0_1, y_c0_2, y_c1_2);
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3 * p.stride7 + y_c1_3] = finish(sum1.w, y_r0_1, y_c0_3, y_c1_3);
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
    let start = y_r0_2 * p.stride6;
    if (column_0 < p.columns) {
      out[start + y_c0_0 * p.stride7 + y_c1_0] = finish(sum2.x, y_r0_2, y_c0_0, y_c1_0);
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1 * p.stride7 + y_c1_1] = finish(sum2.y, y_r0_2, y_c0_1, y_c1_1);
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2 * p.stride7 + y_c1_2] = finish(sum2.z, y_r0_2, y_c0_2, y_c1_2);
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3 * p.stride7 + y_c1_3] = finish(sum2.w, y_r0_2, y_c0_3, y_c1_3);
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
    let start = y_r0_3 * p.stride6;
    if (column_0 < p.columns) {
      out[start + y_c0_0 * p.stride7 + y_c1_0] = finish(sum3.x, y_r0_3, y_c0_0, y_c1_0);
    }
    if (column_0 + 1u < p.columns) {
      out[start + y_c0_1 * p.stride7 + y_c1_1] = finish(sum3.y, y_r0_3, y_c0_1, y_c1_1);
    }
    if (column_0 + 2u < p.columns) {
      out[start + y_c0_2 * p.stride7 + y_c1_2] = finish(sum3.z, y_r0_3, y_c0_2, y_c1_2);
    }
    if (column_0 + 3u < p.columns) {
      out[start + y_c0_3 * p.stride7 + y_c1_3] = finish(sum3.w, y_r0_3, y_c0_3, y_c1_3);
    }
  }
}
fn rectified_f32(x: f32) -> f32 {
  return select(x, f32(0), bitcast<u32>(x) - u32(0x80000001u) < u32(0x7f800000u));
}

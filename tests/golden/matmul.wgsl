// matmul+add+relu
// contract/tiles.wgsl, 64 threads: add, relu
struct Params {
  advance: u32,
  advance1: u32,
  batch: u32,
  rows: u32,
  summed: u32,
  stride: u32,
  columns: u32,
  stride1: u32,
  stride2: u32,
  tiles: u32,
  tiles1: u32,
  groups: u32,
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
  let t1 = in2[y_c0 / 4u];
  let t2 = (acc + t1);
  let t3 = rectified_f32x4(t2);
  return t3;
}
var<workgroup> tile_a: array<vec4<f32>, 144>;
var<workgroup> tile_b: array<vec4<f32>, 144>;
@compute @workgroup_size(64, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  // the tile of this workgroup, and its part of k
  let t = lid.x;
  let group = wid.x + wid.y * p.groups;
  let place = group;
  let line = group / p.tiles;
  let depth = line / p.tiles1;
  if (depth >= p.batch) {
    return;
  }
  let column0 = (place % p.tiles) * 32u;
  let row0 = (line % p.tiles1) * 32u;
  let batch = depth;
  let begin = 0u;
  let end = p.summed;
  // load the first tile of both sides
  let a_q = t / 4u;
  let a_in = (t % 4u) * 4u;
  let a_batch = batch;
  let a_first0 = min(row0 + a_q * 4u, p.rows - 1u);
  let a_o0_0 = a_first0;
  let a0_0 = a_o0_0 * p.stride;
  let a_o0_1 = min(a_o0_0 + 1u, p.rows - 1u);
  let a0_1 = a_o0_1 * p.stride;
  let a_o0_2 = min(a_o0_1 + 1u, p.rows - 1u);
  let a0_2 = a_o0_2 * p.stride;
  let a_o0_3 = min(a_o0_2 + 1u, p.rows - 1u);
  let a0_3 = a_o0_3 * p.stride;
  var a_k = begin + a_in;
  let a_k0_0 = a_k;
  var a_k0 = a_k0_0;
  var ar0 = vec4<f32>(0);
  var ar1 = vec4<f32>(0);
  var ar2 = vec4<f32>(0);
  var ar3 = vec4<f32>(0);
  let b_q = t % 8u;
  let b_in = t / 8u;
  let b_batch = batch;
  let b_first0 = min(column0 + b_q * 4u, p.columns - 4u);
  let b_o0_0 = b_first0;
  let b0_0 = b_o0_0;
  var b_k = begin + b_in;
  let b_k0_0 = b_k;
  var b_k0 = b_k0_0;
  var br0 = vec4<f32>(0);
  var br1 = vec4<f32>(0);
  if (t < 32u) {
    let a_k0_0 = a_k0;
    let k0_0 = a_k0_0;
    let ok0 = a_k < end;
    ar0 = select(vec4<f32>(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
    ar1 = select(vec4<f32>(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
    ar2 = select(vec4<f32>(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
    ar3 = select(vec4<f32>(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
    a_k += 16u;
    a_k0 += p.advance;
  }
  {
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.stride1;
      let ok0 = b_k < end;
      br0 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
      b_k += 8u;
      b_k0 += p.advance1;
    }
    {
      let b_k0_0 = b_k0;
      let k0_0 = b_k0_0 * p.stride1;
      let ok0 = b_k < end;
      br1 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
      b_k += 8u;
      b_k0 += p.advance1;
    }
  }
  if (t < 32u) {
    tile_a[a_in * 9u + a_q] = vec4<f32>(ar0.x, ar1.x, ar2.x, ar3.x);
    tile_a[(a_in + 1u) * 9u + a_q] = vec4<f32>(ar0.y, ar1.y, ar2.y, ar3.y);
    tile_a[(a_in + 2u) * 9u + a_q] = vec4<f32>(ar0.z, ar1.z, ar2.z, ar3.z);
    tile_a[(a_in + 3u) * 9u + a_q] = vec4<f32>(ar0.w, ar1.w, ar2.w, ar3.w);
  }
  tile_b[b_in * 9u + b_q] = br0;
  tile_b[(b_in + 8u) * 9u + b_q] = br1;
  // the results of this thread in the tile
  let tx = t % 8u;
  let ty = t / 8u;
  var acc0_0 = vec4<f32>(0);
  var acc1_0 = vec4<f32>(0);
  var acc2_0 = vec4<f32>(0);
  var acc3_0 = vec4<f32>(0);
  workgroupBarrier();
  // multiply tile by tile: the next is on its way in registers
  for (var k0 = begin; k0 < end; k0 += 16u) {
    let more = k0 + 16u < end;
    if (more) {
      if (t < 32u) {
        let a_k0_0 = a_k0;
        let k0_0 = a_k0_0;
        let ok0 = a_k < end;
        ar0 = select(vec4<f32>(0), a(select(0u, a0_0 + k0_0, ok0), 0u), ok0);
        ar1 = select(vec4<f32>(0), a(select(0u, a0_1 + k0_0, ok0), 0u), ok0);
        ar2 = select(vec4<f32>(0), a(select(0u, a0_2 + k0_0, ok0), 0u), ok0);
        ar3 = select(vec4<f32>(0), a(select(0u, a0_3 + k0_0, ok0), 0u), ok0);
        a_k += 16u;
        a_k0 += p.advance;
      }
      {
        {
          let b_k0_0 = b_k0;
          let k0_0 = b_k0_0 * p.stride1;
          let ok0 = b_k < end;
          br0 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
          b_k += 8u;
          b_k0 += p.advance1;
        }
        {
          let b_k0_0 = b_k0;
          let k0_0 = b_k0_0 * p.stride1;
          let ok0 = b_k < end;
          br1 = select(vec4<f32>(0), b(select(0u, b0_0 + k0_0, ok0), 0u), ok0);
          b_k += 8u;
          b_k0 += p.advance1;
        }
      }
    }
    {
      let u0 = tile_a[ty];
      let v0 = tile_b[tx];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 9u];
      let v0 = tile_b[tx + 9u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 18u];
      let v0 = tile_b[tx + 18u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 27u];
      let v0 = tile_b[tx + 27u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 36u];
      let v0 = tile_b[tx + 36u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 45u];
      let v0 = tile_b[tx + 45u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 54u];
      let v0 = tile_b[tx + 54u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 63u];
      let v0 = tile_b[tx + 63u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 72u];
      let v0 = tile_b[tx + 72u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 81u];
      let v0 = tile_b[tx + 81u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 90u];
      let v0 = tile_b[tx + 90u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 99u];
      let v0 = tile_b[tx + 99u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 108u];
      let v0 = tile_b[tx + 108u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 117u];
      let v0 = tile_b[tx + 117u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 126u];
      let v0 = tile_b[tx + 126u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    {
      let u0 = tile_a[ty + 135u];
      let v0 = tile_b[tx + 135u];
      acc0_0 = fma(vec4<f32>(u0.x), v0, acc0_0);
      acc1_0 = fma(vec4<f32>(u0.y), v0, acc1_0);
      acc2_0 = fma(vec4<f32>(u0.z), v0, acc2_0);
      acc3_0 = fma(vec4<f32>(u0.w), v0, acc3_0);
    }
    workgroupBarrier();
    if (more) {
      if (t < 32u) {
        tile_a[a_in * 9u + a_q] = vec4<f32>(ar0.x, ar1.x, ar2.x, ar3.x);
        tile_a[(a_in + 1u) * 9u + a_q] = vec4<f32>(ar0.y, ar1.y, ar2.y, ar3.y);
        tile_a[(a_in + 2u) * 9u + a_q] = vec4<f32>(ar0.z, ar1.z, ar2.z, ar3.z);
        tile_a[(a_in + 3u) * 9u + a_q] = vec4<f32>(ar0.w, ar1.w, ar2.w, ar3.w);
      }
      tile_b[b_in * 9u + b_q] = br0;
      tile_b[(b_in + 8u) * 9u + b_q] = br1;
    }
    workgroupBarrier();
  }
  // write the results: finish is the epilogue
  let column_0 = column0 + tx * 4u;
  let y_c0_0 = column_0;
  let row_0 = row0 + ty * 4u;
  let y_r0_0 = row_0;
  let y_r0_1 = min(y_r0_0 + 1u, p.rows - 1u);
  let y_r0_2 = min(y_r0_1 + 1u, p.rows - 1u);
  let y_r0_3 = min(y_r0_2 + 1u, p.rows - 1u);
  if (row_0 < p.rows) {
    let start = y_r0_0 * p.stride2;
    if (column_0 < p.columns) {
      out[(start + y_c0_0) / 4u] = finish(acc0_0, y_r0_0, y_c0_0);
    }
  }
  if (row_0 + 1u < p.rows) {
    let start = y_r0_1 * p.stride2;
    if (column_0 < p.columns) {
      out[(start + y_c0_0) / 4u] = finish(acc1_0, y_r0_1, y_c0_0);
    }
  }
  if (row_0 + 2u < p.rows) {
    let start = y_r0_2 * p.stride2;
    if (column_0 < p.columns) {
      out[(start + y_c0_0) / 4u] = finish(acc2_0, y_r0_2, y_c0_0);
    }
  }
  if (row_0 + 3u < p.rows) {
    let start = y_r0_3 * p.stride2;
    if (column_0 < p.columns) {
      out[(start + y_c0_0) / 4u] = finish(acc3_0, y_r0_3, y_c0_0);
    }
  }
}
fn rectified_f32x4(x: vec4<f32>) -> vec4<f32> {
  return select(x, vec4<f32>(0), bitcast<vec4<u32>>(x) - vec4<u32>(0x80000001u) < vec4<u32>(0x7f800000u));
}

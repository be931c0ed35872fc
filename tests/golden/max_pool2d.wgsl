// max+where
// reduce/windows.wgsl, 128 threads: where
struct Params {
  scalar: u32,
  stride: u32,
  offset: u32,
  padded: u32,
  offset1: u32,
  padded1: u32,
  stride1: u32,
  stride2: u32,
  stride3: u32,
  offset2: u32,
  stride4: u32,
  offset3: u32,
  padded2: u32,
  offset4: u32,
  padded3: u32,
  scalar1: f32,
  reduced: u32,
  dim: u32,
  strips: u32,
  size: u32,
  line: u32,
  span: u32,
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> in0: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4<f32>>;
fn cells(c0: u32, c1: u32, r0: u32, cell: u32) -> f32 {
  let t0 = bool(p.scalar != 0u);
  let t1 = select(bool(false), t0, (p.offset + c1 * p.stride + r0 < p.padded) & (p.offset1 + cell < p.padded1));
  let t2_ok = (p.offset3 + c1 * p.stride4 + r0 < p.padded2) & (p.offset4 + cell < p.padded3);
  let t2_at = select(0u, p.offset2 + c0 * p.stride1 + c1 * p.stride2 + r0 * p.stride3 + cell, t2_ok);
  let t2 = select(f32(0), in0[t2_at], t2_ok);
  let t3 = f32(p.scalar1);
  let t4 = select(t3, t2, t1);
  return t4;
}
fn finish(acc: f32, e0: u32) -> f32 {
  return acc;
}
@compute @workgroup_size(128, 1, 1)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(local_invocation_id) lid: vec3<u32>) {
  // the four windows of this thread
  let strip = (wid.x + wid.y * p.span) * 128u + lid.x;
  if (strip >= p.size) {
    return;
  }
  let place = (strip % p.strips) * 4u;
  let line = strip / p.strips;
  var line_rest = line;
  let c1 = line_rest % p.dim;
  line_rest /= p.dim;
  let c0 = line_rest;
  let first = place * 2u;
  let column0 = place;
  var acc0 = f32(minus_infinity_f32());
  let column1 = place + 1u;
  var acc1 = f32(minus_infinity_f32());
  let column2 = place + 2u;
  var acc2 = f32(minus_infinity_f32());
  let column3 = place + 3u;
  var acc3 = f32(minus_infinity_f32());
  // max of each window
  for (var r0 = 0u; r0 < p.reduced; r0++) {
    let cell0 = cells(c0, c1, r0, first);
    let cell1 = cells(c0, c1, r0, first + 1u);
    let cell2 = cells(c0, c1, r0, first + 2u);
    let cell3 = cells(c0, c1, r0, first + 3u);
    let cell4 = cells(c0, c1, r0, first + 4u);
    let cell5 = cells(c0, c1, r0, first + 5u);
    let cell6 = cells(c0, c1, r0, first + 6u);
    let cell7 = cells(c0, c1, r0, first + 7u);
    let cell8 = cells(c0, c1, r0, first + 8u);
    acc0 = nanmax_f32(acc0, cell0);
    acc0 = nanmax_f32(acc0, cell1);
    acc0 = nanmax_f32(acc0, cell2);
    acc1 = nanmax_f32(acc1, cell2);
    acc1 = nanmax_f32(acc1, cell3);
    acc1 = nanmax_f32(acc1, cell4);
    acc2 = nanmax_f32(acc2, cell4);
    acc2 = nanmax_f32(acc2, cell5);
    acc2 = nanmax_f32(acc2, cell6);
    acc3 = nanmax_f32(acc3, cell6);
    acc3 = nanmax_f32(acc3, cell7);
    acc3 = nanmax_f32(acc3, cell8);
  }
  // write four neighbours
  let row = line * p.line + place;
  let e0_row = line * p.line + column0;
  let e0_0 = e0_row;
  let y0 = finish(acc0, e0_0);
  let e1_row = line * p.line + column1;
  let e0_1 = e1_row;
  let y1 = finish(acc1, e0_1);
  let e2_row = line * p.line + column2;
  let e0_2 = e2_row;
  let y2 = finish(acc2, e0_2);
  let e3_row = line * p.line + column3;
  let e0_3 = e3_row;
  let y3 = finish(acc3, e0_3);
  out[row / 4u] = vec4<f32>(y0, y1, y2, y3);
}
// minus infinity: its bits go through a variable, since WGSL rejects a constant expression that is not finite
fn minus_infinity_f32() -> f32 {
  var bits = 0xff800000u;
  return bitcast<f32>(bits);
}
fn nanmax_f32(a: f32, b: f32) -> f32 {
  let kept = select(max(a, b), a, (bitcast<u32>(a) & u32(0x7fffffffu)) > u32(0x7f800000u));
  return select(kept, b, (bitcast<u32>(b) & u32(0x7fffffffu)) > u32(0x7f800000u));
}

//# The pieces of attention/split_keys.wgsl joined: a thread for each vec4 of the result; out1 as in attention/rows.wgsl.
//% extends "launch.wgsl"
//% import "attention/_scores.wgsl" as scoring
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.size) {
    let row = i / {{ e }}u;
    let at = row * p.pieces;
    var top = in1[at * 2u];
    for (var k = 1u; k < p.pieces; k += 1u) {
      top = max(top, in1[(at + k) * 2u]);
    }
    var y = vec4<f32>(0);
    var total = 0.0;
    for (var k = 0u; k < p.pieces; k += 1u) {
      let fade = exp2(in1[(at + k) * 2u] - top);
      y = fma(vec4<f32>(fade), in0[(at + k) * {{ e }}u + i % {{ e }}u], y);
      total = fma(fade, in1[(at + k) * 2u + 1u], total);
    }
    let empty = total < 0.5;
    let mean = y * select(1.0 / total, 0.0, empty);
    out[i] = {{ wgsl(out_dtype, 4).store("mean") }};
    if (i % {{ e }}u == 0u) {
{{ scoring.norm("row", "top * 0.6931471805599453", "total", "empty") }}
    }
  }
//% endblock

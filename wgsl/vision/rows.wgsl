//# The row of numbers of a sample, by a workgroup; behind them, where contrast asks for it, the sample's mean
//# brightness, which has to be known before any pixel can be written.
//% extends "launch.wgsl"
//% import "vision/_pixel.wgsl" as pixel
//% block shared
{{ pixel.library() }} //% if g.contrast
var<workgroup> row: array<f32, {{ g.numbers }}>; //% if g.contrast
var<workgroup> sums: array<f32, {{ workgroup[0] }}>; //% if g.contrast
//% endblock
//% block work
//% set given = g.numbers - 1 if g.contrast else g.numbers
  let sample = group;
  for (var k = lid.x; k < {{ given }}u; k += {{ workgroup[0] }}u) {
    let number = value_at(sample * {{ given }}u + k);
    row[k] = number; //% if g.contrast
    out[sample * {{ g.numbers }}u + k] = number;
  }
//% if g.contrast
  workgroupBarrier();
  let t{{ k }} = row[{{ k }}]; //% for k in range(given)
  var sum = 0.0;
  for (var i = lid.x; i < p.pixels; i += {{ workgroup[0] }}u) {
  var x = f32(i % p.width);
  var y = f32(i / p.width);
  let px = x;
  let py = y;
{{ pixel.read(T, g) }}
{{ pixel.toned(g.before, g.channels, "0.0") }}
  sum += {{ pixel.gray(g.channels) }};
  }
  sums[lid.x] = sum;
  for (var apart = {{ workgroup[0] // 2 }}u; apart > 0u; apart /= 2u) {
    workgroupBarrier();
    if (lid.x < apart) {
      sums[lid.x] += sums[lid.x + apart];
    }
  }
  if (lid.x == 0u) {
    out[sample * {{ g.numbers }}u + {{ given }}u] = sums[0] / f32(p.pixels);
  }
//% endif
//% endblock

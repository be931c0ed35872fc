//# Augmented images: a workgroup is a part of one sample's pixels, a thread every so-many-th of them.
//% extends "launch.wgsl"
//% import "vision/_pixel.wgsl" as pixel
//% block shared
{{ pixel.library() }}
//% endblock
//% block work
  // the part of a sample of this workgroup
  let sample = group / p.parts;
  let begin = (group % p.parts) * p.part;
  let end = min(begin + p.part, p.pixels);
  let t{{ k }} = in1[sample * {{ g.numbers }}u + {{ k }}u]; //% for k in range(g.numbers)
  for (var i = begin + lid.x; i < end; i += {{ workgroup[0] }}u) {
  // where the pixel comes from, and its colours
  var x = f32(i % p.width);
  var y = f32(i / p.width);
  let px = x;
  let py = y;
{{ pixel.read(T, g) }}
{{ pixel.toned(g.tones, g.channels, "t%d" % (g.numbers - 1)) }}
  out[(sample * {{ g.out_channels }}u + {{ c }}u) * p.pixels + i] = v{{ c }}; //% for c in range(g.out_channels)
  }
//% endblock

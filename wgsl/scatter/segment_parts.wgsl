//# Chunks of sorted destinations that are all the same row, each joined to one: of the source, or of parts made before.
//% extends "launch.wgsl"
//% import "lib/monoids.wgsl" as combine
//% block work
//% set T = wgsl(dtypes[2], out_width)
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  let chunk = i / p.width;
  let column = i % p.width;
  let first = chunk * p.span;
  if (in0[first] != in0[first + p.span - 1u]) {
    return;
  }
//% set at = "(chunk * p.chunk + k + %d)" if level else "u32(in1[first + k + %d])"
  var k = 0u;
  var result = in2[{{ at % 0 }} * p.width + column];
  let x{{ j }} = in2[{{ at % j }} * p.width + column]; //% for j in range(1, 4)
  result = {{ combine.join[join](T, "result", "x%d" % j) }}; //% same
  for (k = 4u; k < p.chunk; k += 4u) {
    let x{{ j }} = in2[{{ at % j }} * p.width + column]; //% for j in range(4)
    result = {{ combine.join[join](T, "result", "x%d" % j) }}; //% for j in range(4)
  }
  out[i] = result;
//% endblock

//# Chunks of sorted destinations that are all the same row, each joined to one: of the source, or of parts made before.
//% extends "whole.wgsl"
//% import "combine.wgsl" as combine
//% block work
//% set T = wgsl(dtypes[2], 1)
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  let chunk = i / p.width;
  let column = i % p.width;
  let first = chunk * p.span;
  if (in0[first] != in0[first + p.span - 1u]) {
    out[i] = {{ T.store("%s(%s)" % (T, T.zero)) }};
    return;
  }
//% set at = "(chunk * p.chunk + k)" if level else "u32(in1[first + k])"
  var k = 0u;
  var result = {{ T.load("in2", "%s * p.width + column" % at, 1) }};
  for (k = 1u; k < p.chunk; k++) {
    let x = {{ T.load("in2", "%s * p.width + column" % at, 1) }};
    result = {{ combine.join[join](T, "result", "x") }};
  }
  out[i] = {{ T.store("result") }};
//% endblock

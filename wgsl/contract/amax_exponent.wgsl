//# The largest finite magnitude of an operand, in two passes; the last gives the power of two that brings it
//# between 2^14 and 2^15, as a float. An operand of zeros is left as it is.
//% extends "kernel.wgsl"
//% block declarations
var<workgroup> largest: array<u32, {{ workgroup[0] }}>;
// magnitudes order as their bits do; infinities and NaNs do not count
fn magnitude(x: f32) -> u32 {
  let bits = bitcast<u32>(x) & 0x7fffffffu;
  return select(0u, bits, bits < 0x7f800000u);
}
//% endblock
//% block body
  let t = lid.x;
  // the largest of this thread
  var most = 0u;
  for (var i = t; i < p.{{ size }}; i += p.{{ span }}) { //% if last
    most = max(most, magnitude(in0[i]));
  }
  let cells = p.{{ size }} / 4u; //% else
// four reads under way at once; past the end the last cell again //% same
  for (var i = wid.x * {{ workgroup[0] }}u + t; i < cells; i += p.{{ span }} * 4u) { //% same
    let x{{ j }} = in0[min(i + p.{{ span }} * {{ j }}u, cells - 1u)]; //% for j in range(4)
    most = max(most, max(max(magnitude(x{{ j }}.x), magnitude(x{{ j }}.y)), max(magnitude(x{{ j }}.z), magnitude(x{{ j }}.w)))); //% for j in range(4)
  }
  if (wid.x + t == 0u) { //% same
    most = max(most, select(0u, magnitude(in0[cells].{{ c }}), cells * 4u + {{ loop.index0 }}u < p.{{ size }})); //% for c in "xyz"
  }
  // join the threads
  largest[t] = most;
  for (var apart = {{ workgroup[0] // 2 }}u; apart > 0u; apart /= 2u) {
    workgroupBarrier();
    if (t < apart) {
      largest[t] = max(largest[t], largest[t + apart]);
    }
  }
  // {{ "write the power of two" if last else "write the largest of this workgroup" }}
  if (t == 0u) {
    let exponent = i32(largest[0] >> 23u) - 127; //% if last
    out[0] = f32(select(clamp(14 - exponent, -113, 126), 0, largest[0] == 0u)); //% same
    out[wid.x] = bitcast<f32>(largest[0]); //% else
  }
//% endblock

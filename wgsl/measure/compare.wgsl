//# How far two buffers lie apart. Of each workgroup: the largest error where the wanted number is finite, the
//# largest such number, and 1 where one of both is no number, or infinite, and the other not the same.
//% extends "kernel.wgsl"
//% block declarations
var<workgroup> found: array<vec4<f32>, {{ workgroup[0] }}>;
fn compare(a: f32, b: f32) -> vec4<f32> { //% if kind != "words"
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  let far = select(abs(a - b), 0.0, max(x, y) >= 0x7f800000u);
  let other = (max(x, y) >= 0x7f800000u) & (bitcast<u32>(a) != bitcast<u32>(b)) & (min(x, y) <= 0x7f800000u);
  return vec4<f32>(far, select(abs(b), 0.0, y >= 0x7f800000u), select(0.0, 1.0, other), 0.0);
}
//% endblock
//% block body
  var most = vec4<f32>();
  for (var i = wid.x * {{ workgroup[0] }}u + lid.x; i < p.words; i += p.span) {
//# behind the last element of 1 or 2 bytes anything may stand
    let kept = select(0xffffffffu, p.ends, i + 1u == p.words);
    let a = in0[i] & kept;
    let b = in1[i] & kept;
    most = max(most, compare(bitcast<f32>(a), bitcast<f32>(b))); //% if kind == "f32"
    let x = unpack2x16float(a); //% elif kind == "f16"
    let y = unpack2x16float(b); //% same
    most = max(most, max(compare(x.x, y.x), compare(x.y, y.y))); //% same
    most = max(most, compare(bitcast<f32>(a << 16u), bitcast<f32>(b << 16u))); //% elif kind == "bf16"
    most = max(most, compare(bitcast<f32>(a & 0xffff0000u), bitcast<f32>(b & 0xffff0000u))); //% same
    most.z = max(most.z, select(0.0, 1.0, a != b)); //% else
  }
  found[lid.x] = most;
  for (var apart = {{ workgroup[0] // 2 }}u; apart > 0u; apart /= 2u) {
    workgroupBarrier();
    if (lid.x < apart) {
      found[lid.x] = max(found[lid.x], found[lid.x + apart]);
    }
  }
  if (lid.x == 0u) {
    out[wid.x] = found[0];
  }
//% endblock

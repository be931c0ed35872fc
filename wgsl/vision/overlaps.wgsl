//# Which better boxes overlap each box by more than a threshold: bits. A thread computes a word, 32 better boxes of one box.
//# Word w of box j is at w * n + j, so that neighbouring threads write neighbouring words.
//% extends "launch.wgsl"
//% block shared
// NaN compares as unequal to all on every driver only by its bits
fn is_number(x: f32) -> bool {
  return (bitcast<u32>(x) & 0x7fffffffu) <= 0x7f800000u;
}
//% endblock
//% block work
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id < p.count * p.words) {
    let j = id % p.count;
    let word = id / p.count;
    let box = vec4<f32>(in0[j * 4u], in0[j * 4u + 1u], in0[j * 4u + 2u], in0[j * 4u + 3u]);
    let area = (box.z - box.x) * (box.w - box.y);
    var bits = 0u;
    let end = min(word * 32u + 32u, j);
    for (var i = word * 32u; i < end; i++) {
      let other = vec4<f32>(in0[i * 4u], in0[i * 4u + 1u], in0[i * 4u + 2u], in0[i * 4u + 3u]);
      let sides = max(min(box.zw, other.zw) - max(box.xy, other.xy), vec2<f32>(0.0));
      let both = sides.x * sides.y;
      let all = area + (other.z - other.x) * (other.w - other.y) - both;
      let share = both / all;
      let is_same = {{ "in1[i] == in1[j]" if classes else "true" }};
      // a union of 0 or NaN has no share
      if (is_same && is_number(all) && all != 0.0 && is_number(share) && share > p.threshold) {
        bits |= 1u << (i & 31u);
      }
    }
    out[id] = bits;
  }
//% endblock

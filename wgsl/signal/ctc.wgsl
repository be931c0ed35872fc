//# A workgroup walks one item of a batch through time, its states side by side: each state takes what its own, the
//# state before and the one before that had a step ago. `log` adds probabilities by their logarithms.
//% extends "launch.wgsl"
//% block shared
//% if semiring == "log"
fn added(a: f32, b: f32, c: f32) -> f32 {
  let top = max(a, max(b, c));
  return top + log(exp(a - top) + exp(b - top) + exp(c - top));
}
//% endif
//% endblock
//% block work
  if (group >= p.items) {
    return;
  }
  for (var t = p.start; t < p.stop; t++) {
    let row = (group * p.steps + t) * p.states;
    for (var s = lid.x; s < p.states; s += {{ workgroup[0] }}u) {
      let i = row + s;
      let before = i - min(t, 1u) * p.states;
//% if semiring == "log"
      var y = select(p.lowest, 0.0, s < 2u);
      if (t > 0u) {
        let b = select(p.lowest, out[before - min(s, 1u)], s > 0u);
        let c = select(p.lowest, out[before - min(s, 2u)] + in0[group * p.states + s], s > 1u);
        y = added(out[before], b, c);
      }
      out[i] = max(y + value_at(i), p.lowest);
//% else
      var y = value_at(i);
      if (t > 0u) {
        y += in0[i] * out[before];
        y += select(0.0, in1[i] * out[before - min(s, 1u)], s > 0u);
        y += select(0.0, in2[i] * out[before - min(s, 2u)], s > 1u);
      }
      out[i] = y;
//% endif
    }
    storageBarrier();
  }
//% endblock

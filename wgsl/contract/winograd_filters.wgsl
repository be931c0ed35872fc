//# Filters of 3 x 3 taps transformed, G g G^T, in the order in which workgroups take them: blocks of filters, steps of channels,
//# 16 frequencies, channels of a step, filters of a block; zeros fill the last block and the last step.
//# Staging them is copying then. What is transformed is an expression of whatever the weights are made of.
//% extends "kernel.wgsl"
//% import "contract/_winograd.wgsl" as steps
//% block body
//% set cells = w.step * w.filters
  let i = (wid.x + wid.y * p.{{ groups }}) * {{ workgroup[0] }}u + lid.x;
  if (i >= p.{{ size }}) {
    return;
  }
  let line = i % p.{{ span }};
  let channel = i / p.{{ span }};
  let inside = (line < p.{{ filters }}) & (channel < p.{{ channels }});
  let o = min(line, p.{{ filters }} - 1u);
  let c = min(channel, p.{{ channels }} - 1u);
  let a{{ loop.index0 }} = {{ steps.first(place) }}{{ steps.times("o", place.image) }}{{ steps.times("c", place.channel) }}; //% for place in places
  let g{{ y }}_{{ x }} = select(0.0, a({{ steps.taps(places, y, x) }}0u), inside); //% for y, x in product(range(3), range(3))
  let h0_{{ x }} = g0_{{ x }}; //% for x in range(3)
  let h1_{{ x }} = 0.5 * (g0_{{ x }} + g1_{{ x }} + g2_{{ x }}); //% same
  let h2_{{ x }} = 0.5 * (g0_{{ x }} - g1_{{ x }} + g2_{{ x }}); //% same
  let h3_{{ x }} = g2_{{ x }}; //% same
  let to = ((line / {{ w.filters }}u) * p.{{ turns }} + channel / {{ w.step }}u) * {{ 16 * cells }}u
  {{- " + (channel %% %du) * %du + line %% %du" % (w.step, w.filters, w.filters) }};
  out[to + {{ y * 4 * cells }}u] = h{{ y }}_0; //% for y in range(4)
  out[to + {{ (y * 4 + 1) * cells }}u] = 0.5 * (h{{ y }}_0 + h{{ y }}_1 + h{{ y }}_2); //% same
  out[to + {{ (y * 4 + 2) * cells }}u] = 0.5 * (h{{ y }}_0 - h{{ y }}_1 + h{{ y }}_2); //% same
  out[to + {{ (y * 4 + 3) * cells }}u] = h{{ y }}_2; //% same
//% endblock

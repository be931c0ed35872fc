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
//% for place in places
//% set first = "p." ~ place.offset if place.offset else "0u"
  let a{{ loop.index0 }} = {{ first }}{{ steps.times("o", place.image) }}{{ steps.times("c", place.channel) }};
//% endfor
//% for y in range(3)
//% for x in range(3)
  let g{{ y }}_{{ x }} = select(0.0, a({% for place in places %}a{{ loop.index0 }}
  {{- steps.times("%du" % y, place.y) }}{{ steps.times("%du" % x, place.x) }}, {% endfor %}0u), inside);
//% endfor
//% endfor
//% for x in range(3)
  let h0_{{ x }} = g0_{{ x }};
  let h1_{{ x }} = 0.5 * (g0_{{ x }} + g1_{{ x }} + g2_{{ x }});
  let h2_{{ x }} = 0.5 * (g0_{{ x }} - g1_{{ x }} + g2_{{ x }});
  let h3_{{ x }} = g2_{{ x }};
//% endfor
//% set block = "((line / %du) * p.%s + channel / %du)" % (w.filters, turns, w.step)
//% set inside = "(channel %% %du) * %du + line %% %du" % (w.step, w.filters, w.filters)
  let to = {{ block }} * {{ 16 * cells }}u + {{ inside }};
//% for y in range(4)
//% for text in ("h{0}_0", "0.5 * (h{0}_0 + h{0}_1 + h{0}_2)", "0.5 * (h{0}_0 - h{0}_1 + h{0}_2)", "h{0}_2")
  out[to + {{ (y * 4 + loop.index0) * cells }}u] = {{ text.format(y) }};
//% endfor
//% endfor
//% endblock

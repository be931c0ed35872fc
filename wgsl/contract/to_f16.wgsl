//# A side of a contraction as float16, tile by tile as matrix units are fed: cells of four in the order in which a
//# workgroup takes them, zeros past the end of the summed dims. `split` makes two of each float32, the high halves of a
//# tile before the low ones. A thread turns 4 x 4 elements, so reads and writes both follow memory.
//# Staging is then copying neighbours, and loops over the summed dims always take two tiles a turn. It reads
//# whatever view staging would.
//% extends "kernel.wgsl"
//% import "contract/_operand.wgsl" as side
//% block body
//% set V, T = wgsl(s.dtype, 4), wgsl(s.dtype, 1)
//% set fours = step // 4
//% set cells = extent * fours
  let id = (wid.x + wid.y * p.{{ groups }}) * {{ workgroup[0] }}u + lid.x;
  let tile = id / {{ cells // 4 }}u;
  if (tile >= p.{{ size }}) {
    return;
  }
  let line = tile / p.{{ steps }};
  let batch = line / p.{{ lines }};
  let end = p.{{ s.summed.total }};
  let q = id % {{ fours }}u;
  let own = id / {{ fours }}u % {{ extent // 4 }}u;
  let scale = bitcast<f32>(u32(i32({{ scale }}[0]) + 127) << 23u);
{{ side.opened(s, "line %% p.%s * %du + own * 4u" % (lines, extent), 4) }}
{{ side.sum_from(s, "tile %% p.%s * %du + q * 4u" % (steps, step)) }}
  {
{{ side.along(s, c, ragged) }} //% for c in range(1 if s.wide and s.along == "k" else 4)
//% for j in range(4)
//# four neighbours at once, along the side's own dims or the summed ones, or one by one along its own
  let x{{ j }} = scale * {{ side.value(s, 0 if s.along == "free" else j, j if s.along == "free" else 0, V, ragged) }}; //% if s.wide
  let x{{ j }} = scale * {{ V }}({% for i in range(4) %}{{ side.value(s, i, j, T, ragged) }}, {% endfor %}); //% else
//% endfor
//% set read = "k" if s.wide and s.along == "k" else "free"
  let first = tile * {{ cells * (2 if split else 1) }}u + {{ "own * %du + q" % step if along == "k" else "q * %du + own" % extent }};
//% for j in range(4)
  {
    let x = {% if read == along %}x{{ j }}{% else %}{{ V }}({% for i in range(4) %}x{{ i }}.{{ "xyzw"[j] }}, {% endfor %}){% endif %};
//% set at = "first + %du" % (j * (fours if along == "k" else extent // 4))
    let high = bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0xffffe000u)); //% if split
    let low = x - high; //% same
    out[{{ at }} + {{ cells }}u] = vec2<u32>(pack2x16float(low.xy), pack2x16float(low.zw)); //% same
//% set whole = "high" if split else "x"
    out[{{ at }}] = vec2<u32>(pack2x16float({{ whole }}.xy), pack2x16float({{ whole }}.zw));
  }
//% endfor
  }
//% endblock

//# What attention on matrix units does to rows: a lane's scores, and results whose row's best score has grown far.
//% import "units.wgsl" as units
//% import "attend_units.wgsl" as on

//# s<c>, vec4s of the lane's row (of a query, or of a key): scaled to powers of two, capped (`slope`: t<c> is the cap's
//# derivative), biased, masked
{% macro scores(u, o, masked, of="query", slope=false) -%}
//% set other, most = ("key", "p.keys") if of == "query" else ("query", "p.queries")
//% for c in range(u.keys // 4)
      var s{{ c }} = {{ units.sums(u.unit, "(own + %du)" % (4 * c), 4) }} * p.score;
//% if o.softcap
      s{{ c }} = tanh(clamp(s{{ c }}, vec4<f32>(-15), vec4<f32>(15)));
      {{ "let t%d = 1.0 - s%d * s%d;" % (c, c, c) if slope }}
      s{{ c }} *= p.cap * 1.4426950408889634;
//% endif
//% if o.bias
      {
        let line = bias_at + min({{ of }}, {{ "p.queries" if of == "query" else "p.keys" }} - 1u) * p.bias_{{ of }};
        let at = vec4<u32>(line) + min(vec4<u32>(first + {{ 4 * c }}u) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>({{ most }} - 1u)) * p.bias_{{ other }};
        let b = vec4<{{ "u32" if o.bias == "bool" else "f32" }}>({% for x in "xyzw" %}{{ ", " if x != "x" }}{{ o.bias_in }}[at.{{ x }}]{% endfor %});
//% if o.bias == "bool"
        s{{ c }} = select(vec4<f32>({{ masked }}), s{{ c }}, b != vec4<u32>(0u));
//% else
        let biased = fma(b, vec4<f32>(1.4426950408889634), s{{ c }});
        s{{ c }} = select(biased, vec4<f32>({{ masked }}), b < vec4<f32>(-3.4e38));
//% endif
      }
//% endif
//% endfor
      if (first + {{ u.keys }}u > seen) {
        let last = {{ "min(p.keys, query + 1u + begin)" if of == "query" and o.causal else most }};
//% for c in range(u.keys // 4)
        {
          let column = vec4<u32>(first + {{ 4 * c }}u) + vec4<u32>(0u, 1u, 2u, 3u);
          let inside = (column < vec4<u32>(last)){{ " & (column >= vec4<u32>(key))" if of == "key" and o.causal }};
          s{{ c }} = select(vec4<f32>({{ masked }}), s{{ c }}, inside);
        }
//% endfor
      }
{%- endmacro %}
//# the largest of them
{% macro peak(u) -%}
      let best = {% for c in range(u.keys // 4 - 1) %}max({% endfor %}s0{% for c in range(1, u.keys // 4) %}, s{{ c }}){% endfor %};
      let peak = max(max(best.x, best.y), max(best.z, best.w));
{%- endmacro %}

//# s<c>, the lane's weights, to its row of scores
{% macro weights(u) -%}
    {
//% for c in range(0, u.keys // 4, 2)
      let w{{ c }} = vec4<u32>(pack2x16float(s{{ c }}.xy), pack2x16float(s{{ c }}.zw), pack2x16float(s{{ c + 1 }}.xy), pack2x16float(s{{ c + 1 }}.zw));
{{ on.put_eight(u, "own * 2u + %du" % (4 * c), "w%d" % c) }}
//% endfor
    }
{%- endmacro %}

//# o<i>_<j> with each row times its lane's `fade`, through the strip; every subgroup of the workgroup does it at once
{% macro shrink(u, e) -%}
//% if u.unit.kind == "plain"
      memory[own + {{ u.keys }}u] = bitcast<u32>(fade);
      workgroupBarrier();
//% for i in range(u.rows // u.unit.m)
      for (var f = 0u; f < {{ u.unit.m * u.unit.n // u.unit.lanes }}u; f++) {
        let row = (f * {{ u.unit.lanes }}u + lane) / {{ u.unit.n }}u + {{ i * u.unit.m }}u;
        let by = bitcast<f32>(memory[strip + row * {{ u.pitch }}u + {{ u.keys }}u]);
//% for j in range(0, e, u.unit.n)
        o{{ i }}_{{ j }}[f] *= by;
//% endfor
      }
//% endfor
//% else
//% for j in range(0, e, u.unit.n)
//% for i in range(u.rows // u.unit.m)
{{ units.store(u.unit, "o%d_%d" % (i, j), "strip + %du" % (i * u.unit.m * u.pitch), u.pitch) }}
//% endfor
      workgroupBarrier();
//% for c in range(u.unit.n // 4)
      fours[own / 4u + {{ c }}u] *= fade;
//% endfor
      workgroupBarrier();
//% for i in range(u.rows // u.unit.m)
      o{{ i }}_{{ j }} = subgroupMatrixLoad<subgroup_matrix_result<f32, {{ u.unit.n }}, {{ u.unit.m }}>, row_major>(sums, strip + {{ i * u.unit.m * u.pitch }}u, {{ u.pitch }}u);
//% endfor
      workgroupBarrier();
//% endfor
//% endif
{%- endmacro %}

//# What attention on matrix units does to rows: a lane's scores, and results whose row's best score has grown far.
//% import "lib/subgroup_matrix.wgsl" as units
//% import "attention/_subgroup_memory.wgsl" as on
//% import "attention/_scores.wgsl" as scoring

//# s<c>: the lane's row (of a query, or of a key) as pairs of columns in the lane's order, from `column` of the strip's on
{% macro read(u, s="s", column=0) -%}
      var {{ s }}{{ c }} = {{ units.sums(u.unit, "own + %du + 2u * (%s)" % (column, on.pair(c)), 2) }}; //% for c in range(u.keys // 2)
{%- endmacro %}

//# s<c> scaled to powers of two, capped (`slope`: t<c> is the cap's derivative), biased, masked
{% macro scores(u, o, masked, of="query", slope=false) -%}
//% set other, most = ("key", "p.keys") if of == "query" else ("query", "p.queries")
//% for c in range(u.keys // 2)
      s{{ c }} *= p.score;
      s{{ c }} = tanh(clamp(s{{ c }}, vec2<f32>(-15), vec2<f32>(15))); //% if o.softcap
      {{ "let t%d = 1.0 - s%d * s%d;" % (c, c, c) if slope }} //% if o.softcap
      s{{ c }} *= p.cap * 1.4426950408889634; //% if o.softcap
      { //% if o.bias
        let line = bias_at + min({{ of }}, {{ "p.queries" if of == "query" else "p.keys" }} - 1u) * p.bias_{{ of }};
        let at = vec2<u32>(line) + min({{ columns(c) }}, vec2<u32>({{ most }} - 1u)) * p.bias_{{ other }};
        let b = vec2<{{ "u32" if o.bias == "bool" else "f32" }}>({{ o.bias_in }}[at.x], {{ o.bias_in }}[at.y]);
        s{{ c }} = select(vec2<f32>({{ masked }}), s{{ c }}, b != vec2<u32>(0u)); //% if o.bias == "bool"
        let held = select(b, vec2<f32>({{ scoring.LEAST }}), b < vec2<f32>({{ scoring.LEAST }})); //% else
        let biased = fma(held, vec2<f32>(1.4426950408889634), s{{ c }}); //% same
        s{{ c }} = select(biased, vec2<f32>({{ masked }}), b < vec2<f32>({{ masked }})); //% same
      }
//% endfor
      if (first + {{ u.keys }}u > seen) {
        let last = {{ "min(p.keys, query + 1u + begin)" if of == "query" and o.causal else most }};
        { //% for c in range(u.keys // 2)
          let column = {{ columns(c) }};
          let inside = (column < vec2<u32>(last)){{ " & (column >= vec2<u32>(key))" if of == "key" and o.causal }};
          s{{ c }} = select(vec2<f32>({{ masked }}), s{{ c }}, inside);
        }
      }{%- endmacro %}
{% macro columns(c) -%}(vec2<u32>(first + 2u * ({{ on.pair(c) }})) + vec2<u32>(0u, 1u)){%- endmacro %}
//# s<low> to s<high - 1> by "max" or "+", in a tree
{% macro tree(op, low, high) -%}
{%- if high - low == 1 -%} s{{ low }} {%- else -%}
{{ "max" if op == "max" }}({{ tree(op, low, (low + high) // 2) }}{{ "," if op == "max" else " +" }} {{ tree(op, (low + high) // 2, high) }})
{%- endif -%}{%- endmacro %}

//# s<c>, the lane's weights, to its row of scores
{% macro weights(u) -%}
    {{ "memory" if u.unit.kind == "plain" else "words" }}[own + {{ on.pair(c) }}] = pack2x16float(s{{ c }}); //% for c in range(u.keys // 2)
{%- endmacro %}

//# o<i>_<j> with each row times its lane's `fade`, through the strip; every subgroup of the workgroup does it at once
{% macro shrink(u, e) -%}
//% if u.unit.kind == "plain"
      memory[own + {{ u.keys }}u] = bitcast<u32>(fade);
      workgroupBarrier();
      for (var f = 0u; f < {{ u.unit.m * u.unit.n // u.unit.lanes }}u; f++) { //% for i in range(u.rows // u.unit.m)
        let row = (f * {{ u.unit.lanes }}u + lane) / {{ u.unit.n }}u + {{ i * u.unit.m }}u;
        let by = bitcast<f32>(memory[strip + row * {{ u.pitch }}u + {{ u.keys }}u]);
        o{{ i }}_{{ j }}[f] *= by; //% for j in range(0, e, u.unit.n)
      }
//% else
//% for j in range(0, e, u.unit.n)
{{ units.store(u.unit, "o%d_%d" % (i, j), "strip + %du" % (i * u.unit.m * u.pitch), u.pitch) }} //% for i in range(u.rows // u.unit.m)
      workgroupBarrier();
      fours[own / 4u + {{ c }}u] *= fade; //% for c in range(u.unit.n // 4)
      workgroupBarrier();
//% for i in range(u.rows // u.unit.m)
//% set Result = "subgroup_matrix_result<f32, %d, %d>" % (u.unit.n, u.unit.m)
      o{{ i }}_{{ j }} = subgroupMatrixLoad<{{ Result }}, row_major>(sums, strip + {{ i * u.unit.m * u.pitch }}u, {{ u.pitch }}u);
//% endfor
      workgroupBarrier();
//% endfor
//% endif
{%- endmacro %}

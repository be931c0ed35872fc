//# What the attention kernels share: staging of rows, one vec4 of a row, and the score of a query and a key.

//% import "attention/_scores.wgsl" as scoring

//# `tile` rows of a buffer of [kv heads, keys, width] vec4s into workgroup memory, zero past the last
{% macro stage(to, from, width, tile, threads, rows="keys", base="kv") -%}
    for (var i = lid.x; i < {{ tile * width }}u; i += {{ threads }}u) {
      let at = first + i / {{ width }}u;
      {{ to }}[i] = select(vec4<f32>(0), {{ from }}[({{ base }} * p.{{ rows }} + min(at, p.{{ rows }} - 1u)) * {{ width }}u
          + i % {{ width }}u], at < p.{{ rows }});
    }{%- endmacro %}

//# a loop over the rows of a tile, `unroll` at a time; what is not staged comes in tiles of one turn, which need none
{% macro turns(tile, unroll, staged) -%}
{{ "for (var j = 0u; j < %du; j += %du) {" % (tile, unroll) if staged else "{ let j = 0u;" }}{%- endmacro %}

//# the row that `cell` reads of two buffers
{% macro row(t, staged, rows="keys", base="kv") -%}
      let row{{ t }} = {{ "j + %du" % t if staged else "%s * p.%s + min(first + %du, p.%s - 1u)" % (base, rows, t, rows) }};{%- endmacro %}

{% macro cell(buffer, t, width, c) -%}{{ buffer }}[row{{ t }} * {{ width }}u + {{ c }}u]{%- endmacro %}

//# vec4s to a row of the result
{% macro store(value, n, factor="") -%}
    out[row_at + {{ c }}u] = {{ value }}{{ c }}{{ factor }}; //% for c in range(n)
{%- endmacro %}

//# s<t> and ok<t>: the score of query `query` and key first + j + t, and whether it counts
{% macro score(t, d, staged, o) -%}
      let key{{ t }} = first + j + {{ t }}u;
{{ row(t, staged) }}
      var a{{ t }} = q0 * {{ cell("keys" if staged else "in1", t, d, 0) }};
      a{{ t }} = fma(q{{ c }}, {{ cell("keys" if staged else "in1", t, d, c) }}, a{{ t }}); //% for c in range(1, d)
{{ finish(t, "a%d" % t, "key%d" % t, "query", o) }}{%- endmacro %}

//# softcap, bias and masks on the sum of a vec4
{% macro finish(t, a, key, query, o) -%}
      var s{{ t }} = {{ a }}.x + {{ a }}.y + {{ a }}.z + {{ a }}.w;
      let u{{ t }} = tanh(clamp(s{{ t }} * p.uncap, -15.0, 15.0)); //% if o.softcap
      s{{ t }} = u{{ t }} * p.cap; //% if o.softcap
      var ok{{ t }} = ({{ key }} < p.keys){{ " & (%s <= %s + begin)" % (key, query) if o.causal }};
      let b{{ t }} = {{ o.bias_in }}[bias_at + {{ query }} * p.bias_query + min({{ key }}, p.keys - 1u) * p.bias_key]; //% if o.bias
      ok{{ t }} = ok{{ t }} & (b{{ t }} != 0u); //% if o.bias == "bool"
      s{{ t }} += select(b{{ t }}, {{ scoring.LEAST }}, b{{ t }} < {{ scoring.LEAST }}); //% if o.bias and o.bias != "bool"
      ok{{ t }} = ok{{ t }} & !(b{{ t }} < {{ scoring.MASKED }}); //% same
      s{{ t }} = select(-3.4028234e38, s{{ t }}, ok{{ t }});{%- endmacro %}

//# the weight of score s<t>, by the two numbers of its row's norm
{% macro weight(t, top, total) -%}
select(0.0, exp(min(s{{ t }} - {{ top }}, 0.0) - {{ total }}), ok{{ t }}){%- endmacro %}

//# z<t>: the slope of score s<t>, from its weight and the sum of h<t>'s vec4
{% macro slope(t, o, top="top", total="total", delta="delta") -%}
      let w{{ t }} = {{ weight(t, top, total) }};
      let z{{ t }} = w{{ t }} * (h{{ t }}.x + h{{ t }}.y + h{{ t }}.z + h{{ t }}.w - {{ delta }}){{ " * (1.0 - u%d * u%d)" % (t, t) if o.softcap }};
{%- endmacro %}

//# A block of keys in attention_ahead.wgsl: its scores are in the strips when it begins, the next keys in memory, the keys
//# after those and its values on their way.
//% import "units.wgsl" as units
//% import "attend_units.wgsl" as on
//% import "attend_products.wgsl" as products
//% import "attend_units_rows.wgsl" as by_row
//% import "attend_scores.wgsl" as scoring

//# o<i>_<j> plus the last block's weights, p<i>_0, by its values in memory; a line of `beside` after each column
{% macro values(u, e, beside) -%}
//% for j in range(0, e, u.unit.n)
    {
{{ units.fragment(u.unit, "side", "right", "%du" % (u.values + j), e + u.pad, false) }}
//% for i in range(u.rows // u.unit.m)
{{ units.multiply(u.unit, "o%d_%d" % (i, j), "p%d_0" % i, "side") }}
//% endfor
    }
{{ beside[j // u.unit.n] if j // u.unit.n < beside | length }}
//% endfor
{{ beside[e // u.unit.n:] | join("\n") }}
{%- endmacro %}

{% macro next_keys(u, d) -%}
{{ on.stage(u, "k", 0, d) }}
//% if not u.near
{{ on.fetch(u, "k", "in1", d, "first + %du" % (3 * u.keys)) }}
//% endif
{%- endmacro %}

{% macro block(u, o, d, e) -%}
//% set folded = not (o.softcap or o.bias)
    workgroupBarrier();
    var fade = 1.0;
{{ by_row.scores(u, o, scoring.MASKED, folded) }}
{{ by_row.peak(u, folded) }}
    if (peak > top + {{ u.growth }}) {
      if (total > 0.0) {
        grown.x = first + 1u;
        fade = exp2(top - peak);
        total *= fade;
      }
      top = peak;
    }
//% set ns = namespace(beside=[])
//% for c in range(u.keys // 4)
//% set argument = "fma(s%d, vec4<f32>(by), vec4<f32>(-top))" % c if folded else "s%d - top" % c
//% set ns.beside = ns.beside + ["    s%d = exp2(%s);" % (c, argument)]
//% endfor
{{ values(u, 4 * e, ns.beside) }}
//% if not u.late
{{ products.dots(u, 4 * d) }}
//% endif
    let adds = {% for c in range(u.keys // 4) %}{{ " + " if c }}s{{ c }}{% endfor %};
    total += adds.x + adds.y + adds.z + adds.w;
{{ by_row.weights(u) }}
//# that a row has grown is told again only after the next barrier but one
//% if u.bare
    workgroupBarrier();
    let far = grown.x == first + 1u;
//% else
    let far = workgroupUniformLoad(&grown).x == first + 1u;
//% endif
//% if u.near
{{ on.fetch(u, "k", "in1", d, "first + %du" % (2 * u.keys)) }}
{{ on.fetch(u, "v", "in2", e, "first", zero=true) }}
//% endif
//% for i in range(u.rows // u.unit.m)
{{ products.weights_of(u, i) }}
//% endfor
{{ on.stage(u, "v", u.values, e) }}
//% if not u.near
{{ on.fetch(u, "v", "in2", e, "first + %du" % u.keys, zero=true) }}
//% endif
//% if u.late
{{ products.dots(u, 4 * d) }}
//% else
{{ next_keys(u, d) }}
//% endif
    if (far) {
//% if u.unit.kind != "plain"
      workgroupBarrier();
//% endif
{{ by_row.shrink(u, 4 * e) }}
    }
    workgroupBarrier();
{{ products.keep(u) }}
//% if u.late
{{ next_keys(u, d) }}
//% endif
{%- endmacro %}

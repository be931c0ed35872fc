//# The products of attention on matrix units: of what a subgroup holds as fragments and the block in memory, and of weights and
//# that block; how they pass through the subgroup's strip.
//% import "units.wgsl" as units

//# s<i>_<j>: the products of own rows, q<i>_<k>, and the keys in memory (or others, by these names, from `start` on); zeroed in
//# words, since compilers do not at each turn of a loop
{% macro dots(u, d, s="s", q="q", start=0) -%}
//% for j in range(0, u.keys, u.unit.n)
//% for i in range(u.rows // u.unit.m)
{{ units.result(u.unit, "%s%d_%d" % (s, i, j)) }}
  {{ s }}{{ i }}_{{ j }} = {{ "subgroup_matrix_result<f32, %d, %d>" % (u.unit.n, u.unit.m) if u.unit.kind != "plain" else "Fragment" }}();
//% endfor
//% for k in range(0, d, u.unit.k)
    {
{{ units.fragment(u.unit, "side", "right", "%du" % (start + j * (d + u.pad) + k), d + u.pad, true) }}
//% for i in range(u.rows // u.unit.m)
{{ units.multiply(u.unit, "%s%d_%d" % (s, i, j), "%s%d_%d" % (q, i, k // u.unit.k), "side") }}
//% endfor
    }
//% endfor
//% endfor
{%- endmacro %}
{% macro keep(u, s="s", column=0) -%}
//% for i in range(u.rows // u.unit.m)
//% for j in range(0, u.keys, u.unit.n)
{{ units.store(u.unit, "%s%d_%d" % (s, i, j), "strip + %du" % (i * u.unit.m * u.pitch + j + column), u.pitch) }}
//% endfor
//% endfor
{%- endmacro %}

//# p<i>_<k>: the weights in the strip, `shift` elements behind its rows' beginnings
{% macro weights(u, p="p", shift=0) -%}
//% for i in range(u.rows // u.unit.m)
//% for k in range(0, u.keys, u.unit.k)
{{ units.fragment(u.unit, "%s%d_%d" % (p, i, k), "left", "(strip + %du) * 2u + %du" % (i * u.unit.m * u.pitch, k + shift), 2 * u.pitch, false) }}
//% endfor
//% endfor
//% if u.unit.kind != "plain"
//# nothing promises that a subgroup's lanes are in step: the strip's next use waits for these loads
    workgroupBarrier();
//% endif
{%- endmacro %}

//# o<i>_<j> plus these weights by the block in memory from `start` on
{% macro sums(u, e, start, o="o", p="p") -%}
//% for j in range(0, e, u.unit.n)
//% for k in range(0, u.keys, u.unit.k)
    {
{{ units.fragment(u.unit, "side", "right", "%du" % (start + k * (e + u.pad) + j), e + u.pad, false) }}
//% for i in range(u.rows // u.unit.m)
{{ units.multiply(u.unit, "%s%d_%d" % (o, i, j), "%s%d_%d" % (p, i, k), "side") }}
//% endfor
    }
//% endfor
//% endfor
{%- endmacro %}

//# a fragment of weights that outlives its strip's rows, and those rows i of weights into it
{% macro left(u, name) -%}
//% if u.unit.kind != "plain"
  var {{ name }} = subgroup_matrix_left<f16, {{ u.unit.k }}, {{ u.unit.m }}>();
//% else
  var {{ name }} = vec3<u32>();
//% endif
{%- endmacro %}
{% macro weights_of(u, i) -%}
//% if u.unit.kind != "plain"
    {
{{ units.fragment(u.unit, "read", "left", "(strip + %du) * 2u" % (i * u.unit.m * u.pitch), 2 * u.pitch, false) }}
      p{{ i }}_0 = read;
    }
//% else
    for (var w = 0u; w < {{ u.keys // 2 }}u; w++) {
      memory[{{ u.copies // 2 }}u + (subgroup * {{ u.rows }}u + lane) * {{ u.keys // 2 }}u + w] = memory[own + w];
    }
    p{{ i }}_0 = vec3<u32>({{ u.copies }}u + (subgroup * {{ u.rows }}u + {{ i * u.unit.m }}u) * {{ u.keys }}u, {{ u.keys }}u, 1u);
//% endif
{%- endmacro %}

//# a lane's share of a row, behind what its row of the strip holds of the result
{% macro keep_share(u) -%}
  workgroupBarrier();
  {{ "memory" if u.unit.kind == "plain" else "sums" }}[own + {{ u.unit.n }}u] = {{ "bitcast<u32>(share)" if u.unit.kind == "plain" else "share" }};
{%- endmacro %}

//# columns j on of the result to the strip
{% macro through(u, j, o="o") -%}
  workgroupBarrier();
//% for i in range(u.rows // u.unit.m)
{{ units.store(u.unit, "%s%d_%d" % (o, i, j), "strip + %du" % (i * u.unit.m * u.pitch), u.pitch) }}
//% endfor
  workgroupBarrier();
{%- endmacro %}

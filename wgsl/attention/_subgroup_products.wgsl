//# The products of attention on matrix units: of what a subgroup holds as fragments and the block in memory, and of weights and
//# that block; how they pass through the subgroup's strip.
//% import "lib/subgroup_matrix.wgsl" as units

//# s<i>_<j>: the products of own rows, q<i>_<k>, and the keys in memory (or others, by these names, from `start` on); zeroed in
//# words, since compilers do not at each turn of a loop
{% macro dots(u, d, s="s", q="q", start=0) -%}
{{ columns(u, d, s, q, start, j) }} //% for j in range(0, u.keys, u.unit.n)
{%- endmacro %}
{% macro columns(u, d, s, q, start, j) -%}
{{ units.result(u.unit, "%s%d_%d" % (s, i, j)) }} //% for i in u.fragments
  {{ s }}{{ i }}_{{ j }} = {{ units.result_type(u.unit) }}(); //% same
    { //% for k in range(0, d, u.unit.k)
{{ units.fragment(u.unit, "side", "right", "%du" % (start + j * (d + u.pad) + k), d + u.pad, true) }}
{{ units.multiply(u.unit, "%s%d_%d" % (s, i, j), "%s%d_%d" % (q, i, k // u.unit.k), "side") }} //% for i in u.fragments
    }{%- endmacro %}
{% macro keep(u, s="s", column=0) -%}
{{ store(u, "%s%d_%d" % (s, i, j), i, j + column) }} //% for i, j in product(u.fragments, range(0, u.keys, u.unit.n))
{%- endmacro %}
{% macro store(u, name, i, column) -%}
{{ units.store(u.unit, name, "strip + %du" % (i * u.unit.m * u.pitch + column), u.pitch) }}{%- endmacro %}

//# p<i>_<k>: the weights in the strip
{% macro weights(u) -%}
{{ weight(u, i, k) }} //% for i, k in product(u.fragments, range(0, u.keys, u.unit.k))
{%- endmacro %}
{% macro weight(u, i, k) -%}
{{ units.fragment(u.unit, "p%d_%d" % (i, k), "left", "(strip + %du) * 2u + %du" % (i * u.unit.m * u.pitch, k), 2 * u.pitch, false) }}{%- endmacro %}

//# o<i>_<j> plus these weights by the block in memory from `start` on
{% macro sums(u, e, start) -%}
    { //% for j, k in product(range(0, e, u.unit.n), range(0, u.keys, u.unit.k))
{{ units.fragment(u.unit, "side", "right", "%du" % (start + k * (e + u.pad) + j), e + u.pad, false) }}
{{ units.multiply(u.unit, "o%d_%d" % (i, j), "p%d_%d" % (i, k), "side") }} //% for i in u.fragments
    }{%- endmacro %}

//# columns j on of the result to the strip
{% macro through(u, j) -%}
  workgroupBarrier();
{{ store(u, "o%d_%d" % (i, j), i, 0) }} //% for i in u.fragments
  workgroupBarrier();{%- endmacro %}

//# Linear ids taken apart into coordinates, and coordinates counted on.
//# let a, b, c = the coordinates of `id`; sizes are of all coordinates but the first, whose size is not needed.
//# name: what `id`, where it is no name, is called while it is taken apart
{% macro unravel(id, coords, sizes, name="") -%}
  var {{ name or id }}_rest = {{ id }}; //% if coords | length > 1
  let {{ c }} = {{ name or id }}_rest % p.{{ sizes[loop.revindex0] }}; //% for c in coords[1:] | reverse
  {{ name or id }}_rest /= p.{{ sizes[loop.revindex0] }}; //% same
  let {{ coords[0] }} = {{ (name or id) ~ "_rest" if coords | length > 1 else id }}; //% if coords and coords[0] != id
{%- endmacro %}

{% macro carry(c, j) %}u32({{ c }}_{{ j }}c){% endmacro %}

//# the coordinates after the (j-1)-th, counted on with a carry; past the end the outermost stays at its last
{% macro next(coords, sizes, j) -%}
  let {{ c }}_{{ j }}n = {{ c }}_{{ j - 1 }} + {{ "1u" if loop.first else carry(loop.previtem, j) }}; //% for c in coords[1:] | reverse
  let {{ c }}_{{ j }}c = {{ c }}_{{ j }}n >= p.{{ sizes[loop.revindex] }}; //% same
  let {{ c }}_{{ j }} = select({{ c }}_{{ j }}n, 0u, {{ c }}_{{ j }}c); //% same
  let {{ c }}_{{ j }} = min({{ c }}_{{ j - 1 }} + {{ carry(coords[1], j) if coords[1:] else "1u" }}, p.{{ sizes[0] }} - 1u); //% for c in coords[:1]
{%- endmacro %}

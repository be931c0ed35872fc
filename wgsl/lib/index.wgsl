//# Linear ids taken apart into coordinates, and coordinates counted on.
//# let a, b, c = the coordinates of `id`; sizes are of all coordinates but the first, whose size is not needed.
//# name: what `id`, where it is no name, is called while it is taken apart
{% macro unravel(id, coords, sizes, name="") -%}
//% set rest = (name or id) ~ "_rest"
  var {{ rest }} = {{ id }}; //% if coords | length > 1
//% for c in coords[1:] | reverse
  let {{ c }} = {{ rest }} % p.{{ sizes[loop.revindex0] }};
  {{ rest }} /= p.{{ sizes[loop.revindex0] }};
//% endfor
  let {{ coords[0] }} = {{ rest if coords | length > 1 else id }}; //% if coords and coords[0] != id
{%- endmacro %}

//# the coordinates after the (j-1)-th, counted on with a carry; past the end the outermost stays at its last
{% macro next(coords, sizes, j) -%}
//% for c in coords[1:] | reverse
//% set at = loop.revindex0 + 1
  let {{ c }}_{{ j }}n = {{ c }}_{{ j - 1 }} + {{ "1u" if loop.first else "u32(" ~ coords[at + 1] ~ "_" ~ j ~ "c)" }};
  let {{ c }}_{{ j }}c = {{ c }}_{{ j }}n >= p.{{ sizes[at] }};
  let {{ c }}_{{ j }} = select({{ c }}_{{ j }}n, 0u, {{ c }}_{{ j }}c);
//% endfor
//% if coords
//% set c = coords[0]
  let {{ c }}_{{ j }} = min({{ c }}_{{ j - 1 }} + {{ "u32(" ~ coords[1] ~ "_" ~ j ~ "c)" if coords | length > 1 else "1u" }}, p.{{ sizes[0] }} - 1u);
//% endif
{%- endmacro %}

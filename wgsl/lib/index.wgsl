//# Index arithmetic as text: sums of coordinates times strides, and linear ids taken apart.
{% macro place(index, suffix="") -%}
  {{ "p." + index.offset if index.offset else "0u" }}
  {%- for c, s in index.terms %} + {{ c }}{{ suffix }}{{ " * p." + s if s != "1" }}{% endfor %}
{%- endmacro %}

{% macro inside(tests) -%}
  {% for t in tests %}{{ " & " if not loop.first }}(({{ place(t.position) }}) < p.{{ t.size }}){% endfor %}
{%- endmacro %}

//# let a, b, c = the coordinates of `id`; sizes are of all coordinates but the first, whose size is not needed
{% macro unravel(id, coords, sizes) -%}
  var {{ id }}_rest = {{ id }}; //% if coords | length > 1
//% for c in coords[1:] | reverse
  let {{ c }} = {{ id }}_rest % p.{{ sizes[loop.revindex0] }};
  {{ id }}_rest /= p.{{ sizes[loop.revindex0] }};
//% endfor
  let {{ coords[0] }} = {{ id }}{{ "_rest" if coords | length > 1 }}; //% if coords
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

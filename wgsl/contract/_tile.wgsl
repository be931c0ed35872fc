//# The parts of a register tile: where its rows and columns start, how their elements are read and multiplied.
//% import "lib/index.wgsl" as ix

//# coordinates of the j-th row or column; the first is taken apart, the next are counted on
{% macro coordinates(first, g, j) -%}
{{ ix.unravel(first, g.coords | map("suffix", "_0") | list, g.sizes[1:]) }} //% if j == 0
{{ ix.next(g.coords, g.sizes, j) }} //% if j != 0
{%- endmacro %}

//# <name>_<j>, the first of four rows or columns, its coordinates, and those of `n - 1` after it
{% macro own_four(name, first, g, j, n, fresh=true) -%}
  let {{ name }}_{{ j }} = {{ first }}; //% if fresh
{{ ix.unravel("%s_%d" % (name, j), g.coords | map("suffix", "_%d" % j) | list, g.sizes[1:]) }}
{{ ix.next(g.coords, g.sizes, i) }} //% for i in range(j + 1, j + n)
{%- endmacro %}

//# where the j-th row or column starts in its buffer, and in each test of padding
{% macro origin(side, o, j) -%}
  let {{ side }}{{ j }} = {{ sum(o.places[0], j) }};
  let {{ side }}{{ j }}_t{{ loop.index0 }} = {{ sum(place, j) }}; //% for place, size in o.tests
{%- endmacro %}

{% macro sum(place, j) -%}
  {{ sum_of("p." ~ place.offset if place.offset else "", index_of(place.batch), index_of(place.own, "_%d" % j)) }}{%- endmacro %}

//# everything one round of the summed loop reads of one side
{% macro read(side, o, n, step, wgsl, summed) -%}
  let {{ side }}k = {{ index_of(o.places[0].summed) }};
    let {{ side }}x{{ j }} = {{ wgsl(o.dtype, 4).load(o.name, side ~ j ~ " + " ~ side ~ "k", 4) }}; //% for j in range(n) if o.along == "k"
{{ read_step(side, o, n, s, wgsl, summed) }} //% for s in range(step) if o.along != "k"
{%- endmacro %}

//# what it reads of one side at its s-th step
{% macro read_step(side, o, n, s, wgsl, summed) -%}
    let {{ side }}k_t{{ loop.index0 }}_{{ s }} = {{ index_of(place.summed) }}{{ step_ahead(place.summed, summed, s) }}; //% for place, size in o.tests
{{ cell(side, o, j, s, step_ahead(o.places[0].summed, summed, s), wgsl) }} //% for j in range(0, n, 4 if o.along == "free" else 1)
{%- endmacro %}

{% macro cell(side, o, j, s, ahead, wgsl) -%}
{{ read_cell("%sx%d_%d" % (side, j, s), "%s%d + %sk%s" % (side, j, side, ahead), side, o, j, s, wgsl(o.dtype, 4 if o.along == "free" else 1)) }}
{%- endmacro %}
{% macro read_cell(name, at, side, o, j, s, T) -%}
    let {{ name }} = {{ T.load(o.name, at, T.width) }}; //% if T.width == 4 or not o.tests
    let {{ name }}_ok = {{ inside(side, o, j, s) }}; //% else
    let {{ name }} = select({{ T }}(0), {{ T.load(o.name, "select(0u, %s, %s_ok)" % (at, name), 1) }}, {{ name }}_ok); //% same
{%- endmacro %}
{% macro inside(side, o, j, s) -%}
  {% for _, size in o.tests %}{{ " & " if not loop.first }}
  {{- "(%s%d_t%d + %sk_t%d_%d < p.%s)" % (side, j, loop.index0, side, loop.index0, s, size) }}{% endfor %}{%- endmacro %}

//# how far s steps along the innermost summed dim go, as text to add
{% macro step_ahead(index, summed, s) -%}
  {% for c, stride in index.terms if s and c == summed.coords[-1] %}
  {{- " + " }}{{ times("p." ~ stride, s) if stride != "1" else "%du" % s }}{% endfor %}{%- endmacro %}

//# the coordinates of the next turn of a loop over all summed dims
{% macro count_on(summed, step) -%}
    {{ c }} += {{ "%du" % step if loop.first else "u32(%s_end)" % loop.previtem }}; //% for c in summed.coords | reverse
    {{ "let %s_end = %s >= p.%s;" % (c, c, summed.sizes[loop.revindex0]) if not loop.last }} //% same
    {{ "%s = select(%s, 0u, %s_end);" % (c, c, c) if not loop.last }} //% same
{%- endmacro %}

//# one row's element at step s
{% macro one(side, o, i, s) -%}
  {% if o.along == "k" %}{{ side }}x{{ i }}.{{ "xyzw"[s] }}
  {%- elif o.along == "free" %}{{ side }}x{{ i - i % 4 }}_{{ s }}.{{ "xyzw"[i % 4] }}
  {%- else %}{{ side }}x{{ i }}_{{ s }}{% endif %}{%- endmacro %}

//# four columns' elements at step s
{% macro four(v, j, s, V) -%}
  {{ V }}({% for c in range(4) %}{{ one("v", v, j * 4 + c, s) }}{{ ", " if not loop.last }}{% endfor %}){%- endmacro %}
{% macro four_name(v, j, s) -%}{{ "vx%d_%d" % (j * 4, s) if v.along == "free" else "w%d_%d" % (s, j) }}{%- endmacro %}

//# a vec4, or the j-th of its neighbours where they are stored one by one
{% macro part(vector, j, width) -%}{{ vector }}{{ "." ~ "xyzw"[j % 4] if width == 1 }}{%- endmacro %}

//# where a row's results begin, behind those of the pieces before
{% macro row_start(parts, batch, out_places, i) -%}
  {{ "(depth / p.%s) * p.%s + " % (batch.total, parts[1]) if parts }}{{ sum_of(index_of(out_places[0]), index_of(out_places[1], "_%d" % i)) }}
{%- endmacro %}

{% macro store(T, at, value) -%}out[{{ over(at, T.width) }}] = {{ T.store(value) }};{%- endmacro %}

{% macro multiply_add(V, u, v, acc) -%}
  {{ "fma(%s(%s), %s, %s)" % (V, u, v, acc) if V.kind == "f" else "%s + %s * %s" % (acc, u, v) }}{%- endmacro %}

//# the finished value of row i, column j: the epilogue is called with the coordinates that belong to each
{% macro result(finish, acc, rows, columns, i, j) -%}
  {% if not finish %}{{ acc }}
  {%- else %}finish({{ acc }}{% for c in finish.coords %}, {{ c }}
  {{- "_%s" % i if c in rows.coords }}{{ "_%s" % j if c in columns.coords }}{% endfor %}){% endif %}{%- endmacro %}

//# the finished values of row i and four columns from j on: by one call, or by four where it makes one at a time
{% macro result_four(finish, acc, rows, columns, i, j, T) -%}
  {% if not finish or finish.width == 4 %}{{ result(finish, acc, rows, columns, i, j) }}
  {%- else %}{{ T }}({% for e in range(4) %}
  {{- result(finish, part(acc, e, 1), rows, columns, i, j + e) }}{{ ", " if not loop.last }}{% endfor %}){% endif %}
{%- endmacro %}

//# the batch of a workgroup, and the part of the summed dims that it adds up: all of them without `parts`
{% macro batch_and_part(parts, batch, summed) -%}
  let batch = depth % p.{{ batch.total }}; //% if parts
  let begin = (depth / p.{{ batch.total }}) * p.{{ parts[0] }}; //% same
  let end = min(begin + p.{{ parts[0] }}, p.{{ summed }}); //% same
  let batch = depth; //% else
  let begin = 0u; //% same
  let end = p.{{ summed }}; //% same
{%- endmacro %}

//# The transforms of Winograd's F(2 x 2, 3 x 3), and how a thread brings patches and filters to a workgroup's memory.
//# w: the shape (winograd.WinogradTile); place: how the position of an element depends on its coordinates (winograd.Walk).

//# y<i>, x<j>: what the rows and columns of this thread's patch add to its place; in_y<i>, in_x<j>: whether they are
//# rows and columns of the image, where zeros are around it
{% macro cells(place, edges) -%}
{{ edge("y", "top", edges[0], place.y) }}
{{ edge("x", "left", edges[1], place.x) }}
  let start = {{ "p." ~ place.offset if place.offset else "0u" }}{{ times("image", place.image) }};{%- endmacro %}

{% macro edge(name, first, e, stride) -%}
//% for i in range(4)
  let {{ name }}{{ i }}_held = clamp({{ first }} + {{ i }}u, {{ "p." ~ e.low if e.low else "0u" }}, p.{{ e.high }}); //% if not e.sure[i]
  let {{ name }}{{ i }}_held = {{ first }} + {{ i }}u; //% else
  let in_{{ name }}{{ i }} = {{ name }}{{ i }}_held == {{ first }} + {{ i }}u; //% if e.low and not e.sure[i]
  let {{ name }}{{ i }} = 0u{{ times(name ~ i ~ "_held", stride) }};
//% endfor
{%- endmacro %}

{% macro first(place) -%}{{ "p." ~ place.offset if place.offset else "0u" }}{%- endmacro %}

//# the positions of a filter's tap, as arguments
{% macro taps(places, y, x) -%}
  {% for place in places %}a{{ loop.index0 }}{{ times("%du" % y, place.y) }}{{ times("%du" % x, place.x) }}, {% endfor %}
{%- endmacro %}

//# + coordinate * stride, nothing where there is none
{% macro times(c, stride) -%}
{{ " + " ~ c if stride }}{{ " * p." ~ stride if stride and stride != "1" }}{%- endmacro %}

//# read this thread's patch and its part of the filters of step `next` into registers
{% macro fetch(place, w, filters, image, channels) -%}
    u{{ i }} = {{ filters }}[filters_at + next * {{ 4 * w.step * w.filters }}u + {{ i * w.threads }}u]; //% for i in range(w.pieces)
    {
      let plane = start{{ times("min(next * %du + channel, p.%s - 1u)" % (w.step, channels), place.channel) }};
//% for i in range(4)
      let line{{ i }} = plane + y{{ i }};
      d{{ i }}_{{ j }} = {{ image }}[line{{ i }} + x{{ j }}]; //% for j in range(4)
//% endfor
    }{%- endmacro %}

//# put them into memory, the patch transformed: B^T d B
{% macro stage(w, edges) -%}
//% set quads = w.tiles // 4
    memory[t + {{ i * w.threads }}u] = u{{ i }}; //% for i in range(w.pieces)
//# zeros are put in here and not where it is read, which would wait for what is read before going on
    {
      let to = {{ 4 * w.step * w.filters }}u + channel * {{ quads }}u + spot / 4u;
      let e = spot % 4u;
{{ transformed(w, edges) }}
    }{%- endmacro %}

//# the patch with zeros around the image, B^T d B, at `to` of memory, element e
{% macro transformed(w, edges) -%}
//% for i, j in product(range(4), range(4))
//% set row = ["in_y%d" % i] if edges[0].low and not edges[0].sure[i] else []
//% set inside = row + (["in_x%d" % j] if edges[1].low and not edges[1].sure[j] else [])
      {{ "d%d_%d = select(0.0, d%d_%d, %s);" % (i, j, i, j, inside | join(" & ")) if inside }}
//% endfor
{{ row(w, 0, "d0_%d - d2_%d") }}
{{ row(w, 1, "d1_%d + d2_%d") }}
{{ row(w, 2, "d2_%d - d1_%d") }}
{{ row(w, 3, "d1_%d - d3_%d") }}{%- endmacro %}

//# the four frequencies of a line, from its elements before the transform along it
{% macro row(w, i, text) -%}
      let v{{ i }}_{{ j }} = {{ text | replace("%d", j | string) }}; //% for j in range(4)
//% for value in ("v{0}_0 - v{0}_2", "v{0}_1 + v{0}_2", "v{0}_2 - v{0}_1", "v{0}_1 - v{0}_3")
      memory[to + {{ (i * 4 + loop.index0) * w.step * w.tiles // 4 }}u][e] = {{ value.format(i) }};
//% endfor
{%- endmacro %}

//# y<0..3>: A^T m A, the results above and below, left and right
{% macro inverse() -%}
    let s0_{{ j }} = m0_{{ j }} + m1_{{ j }} + m2_{{ j }}; //% for j in range(4)
    let s1_{{ j }} = m1_{{ j }} - m2_{{ j }} - m3_{{ j }}; //% same
    let y{{ i * 2 }} = s{{ i }}_0 + s{{ i }}_1 + s{{ i }}_2; //% for i in range(2)
    let y{{ i * 2 + 1 }} = s{{ i }}_1 - s{{ i }}_2 - s{{ i }}_3; //% same
{%- endmacro %}

//# The transforms of Winograd's F(2 x 2, 3 x 3), and how a thread brings patches and filters to a workgroup's memory.
//# w: the shape (winograd.Tile); place: how the position of an element depends on its coordinates (winograd.Walk).

//# y<i>, x<j>: what the rows and columns of this thread's patch add to its place; in_y<i>, in_x<j>: whether they are
//# rows and columns of the image, where zeros are around it
{% macro cells(place, w, edges) -%}
//% set lines = {1: ["0u", "1u", "2u", "3u"], 2: ["part", "part + 1u", "part + 2u"], 4: ["upper", "lower"]}
//% if w.sharers == 4
  let upper = select(1u, part, (part & 1u) == 0u);
  let lower = select(2u, 5u - 2u * upper, part > 1u);
//% endif
{{ edge("y", "top", lines[w.sharers], edges[0], place.y) }}
{{ edge("x", "left", lines[1], edges[1], place.x) }}
  let start = {{ "p." ~ place.offset if place.offset else "0u" }}{{ times("image", place.image) }};
{%- endmacro %}

{% macro edge(name, first, offsets, e, stride) -%}
//% for offset in offsets
//% set i = loop.index0
//% if not e.sure[i]
  let {{ name }}{{ i }}_held = clamp({{ first }} + {{ offset }}, {{ "p." ~ e.low if e.low else "0u" }}, p.{{ e.high }});
//% else
  let {{ name }}{{ i }}_held = {{ first }} + {{ offset }};
//% endif
//% if e.low and not e.sure[i]
  let in_{{ name }}{{ i }} = {{ name }}{{ i }}_held == {{ first }} + {{ offset }};
//% endif
  let {{ name }}{{ i }} = 0u{{ times(name ~ i ~ "_held", stride) }};
//% endfor
{%- endmacro %}

//# + coordinate * stride, nothing where there is none
{% macro times(c, stride) -%}
{{ " + " ~ c if stride }}{{ " * p." ~ stride if stride and stride != "1" }}
{%- endmacro %}

//# read this thread's part of the patches and filters of step `next` into registers
{% macro fetch(place, w, filters, image, channels) -%}
//% for i in range(w.pieces)
    u{{ i }} = {{ filters }}[filters_at + next * {{ 4 * w.step * w.filters }}u + {{ i * w.threads }}u];
//% endfor
    {
      let plane = start{{ times("min(next * %du + channel, p.%s - 1u)" % (w.step, channels), place.channel) }};
//% for i in range(w.lines | length)
      let line{{ i }} = plane + y{{ i }};
//% for j in range(4)
      d{{ i }}_{{ j }} = {{ image }}[line{{ i }} + x{{ j }}];
//% endfor
//% endfor
    }
{%- endmacro %}

//# put them into memory, the patches transformed: B^T d B, or some rows of it
{% macro put(w, edges, at) -%}
//% set quads = w.tiles // 4
//% for i in range(w.pieces)
    memory[t + {{ at + i * w.threads }}u] = u{{ i }};
//% endfor
//# zeros are put in here and not where it is read, which would wait for what is read before going on
    {
      let to = {{ at + 4 * w.step * w.filters }}u + channel * {{ quads }}u + spot / 4u;
      let e = spot % 4u;
//% for i in range(w.lines | length)
//% for j in range(4)
//% set inside = (["in_y%d" % i] if edges[0].low and not edges[0].sure[i] else []) + (["in_x%d" % j] if edges[1].low and not edges[1].sure[j] else [])
//% if inside
      d{{ i }}_{{ j }} = select(0.0, d{{ i }}_{{ j }}, {{ inside | join(" & ") }});
//% endif
//% endfor
//% endfor
//% if w.sharers == 4
{{ row(w, "part", "d0_%d + select(-d1_%d, d1_%d, part == 1u)", 0) }}
//% elif w.sharers == 2
{{ row(w, "part * 3u", "d0_%d - d2_%d", 0) }}
{{ row(w, "(part + 1u)", "d1_%d + select(d2_%d, -d0_%d, part == 1u)", 1) }}
//% else
{{ row(w, "0u", "d0_%d - d2_%d", 0) }}
{{ row(w, "1u", "d1_%d + d2_%d", 1) }}
{{ row(w, "2u", "d2_%d - d1_%d", 2) }}
{{ row(w, "3u", "d1_%d - d3_%d", 3) }}
//% endif
    }
{%- endmacro %}

//# the four frequencies of a line, from its elements before the transform along it
{% macro row(w, f, text, i) -%}
//% for j in range(4)
      let v{{ i }}_{{ j }} = {{ text | replace("%d", j | string) }};
//% endfor
//% for value in ("v{0}_0 - v{0}_2", "v{0}_1 + v{0}_2", "v{0}_2 - v{0}_1", "v{0}_1 - v{0}_3")
      memory[to + ({{ f }} * 4u + {{ loop.index0 }}u) * {{ w.step * w.tiles // 4 }}u][e] = {{ value.format(i) }};
//% endfor
{%- endmacro %}

//# y<0..3>: A^T m A, the results above and below, left and right
{% macro back() -%}
//% for j in range(4)
    let s0_{{ j }} = m0_{{ j }} + m1_{{ j }} + m2_{{ j }};
    let s1_{{ j }} = m1_{{ j }} - m2_{{ j }} - m3_{{ j }};
//% endfor
//% for i in range(2)
    let y{{ i * 2 }} = s{{ i }}_0 + s{{ i }}_1 + s{{ i }}_2;
    let y{{ i * 2 + 1 }} = s{{ i }}_1 - s{{ i }}_2 - s{{ i }}_3;
//% endfor
{%- endmacro %}

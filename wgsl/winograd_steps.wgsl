//# The transforms of Winograd's F(2 x 2, 3 x 3), and how a thread brings patches and filters to a workgroup's memory.
//# w: the shape (winograd.Tile); places: how positions of an element depend on its coordinates (winograd.Walk).

//# b<n>_y<i>, b<n>_x<j>: what the rows and columns of this thread's patch add to each position
{% macro cells(places, w, odd) -%}
//% for i in range(w.rows)
//% set y = "top + %s%du" % ("half + " if w.sharers == 2 else "", i)
  let y{{ i }} = {{ "min(%s, p.%s)" % (y, odd[0]) if odd[0] else y }};
//% endfor
//% for j in range(4)
  let x{{ j }} = {{ "min(left + %du, p.%s)" % (j, odd[1]) if odd[1] else "left + %du" % j }};
//% endfor
//% for place in places
//% set n = loop.index0
  let b{{ n }} = {{ "p." ~ place.offset if place.offset else "0u" }}{{ times("image", place.image) }};
//% for i in range(w.rows)
  let b{{ n }}_y{{ i }} = b{{ n }}{{ times("y%d" % i, place.y) }};
//% endfor
//% for j in range(4)
  let b{{ n }}_x{{ j }} = 0u{{ times("x%d" % j, place.x) }};
//% endfor
//% endfor
{%- endmacro %}

//# + coordinate * stride, nothing where there is none
{% macro times(c, stride) -%}
{{ " + " ~ c if stride }}{{ " * p." ~ stride if stride and stride != "1" }}
{%- endmacro %}

//# read this thread's part of the next patches and filters into registers
{% macro fetch(places, w, filters, channels, from) -%}
//% for i in range(w.pieces)
    u{{ i }} = {{ filters }}[filter_at + {{ i * w.threads }}u];
//% endfor
    filter_at += {{ 4 * w.step * w.filters }}u;
    {
      let c = min({{ from }} + channel, p.{{ channels }} - 1u);
//% for place in places
      let k{{ loop.index0 }} = 0u{{ times("c", place.channel) }};
//% endfor
//% for i in range(w.rows)
//% for j in range(4)
      d{{ i }}_{{ j }} = b({% for place in places %}b{{ loop.index0 }}_y{{ i }}{{ " + b%d_x%d" % (loop.index0, j) if place.x }}{{ " + k%d" % loop.index0 if place.channel }}, {% endfor %}0u);
//% endfor
//% endfor
    }
{%- endmacro %}

//# put them into memory, the patches transformed: B^T d B, or two rows of it
{% macro put(w) -%}
//% set quads = w.tiles // 4
//% for i in range(w.pieces)
    memory[t + {{ i * w.threads }}u] = u{{ i }};
//% endfor
    {
      let to = {{ 4 * w.step * w.filters }}u + channel * {{ quads }}u + spot / 4u;
      let e = spot % 4u;
//% if w.sharers == 2
{{ row(w, "half * 3u", "d0_%d - d2_%d", 0) }}
{{ row(w, "(half + 1u)", "d1_%d + select(d2_%d, -d0_%d, half == 1u)", 1) }}
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

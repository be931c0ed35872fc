//# How a workgroup brings a tile of an operand into its memory: what each thread reads, and where it puts it.
//% import "contract/_operand.wgsl" as side

//# everything of this thread that does not change from tile to tile, and the first place along the summed dims
{% macro begin(s, g, first, k_first) -%}
  let {{ s.name }}_q = t {{ "%" if s.along == "free" else "/" }} {{ g.lanes }}u;
  let {{ s.name }}_in = {{ "t / %du" % g.lanes if s.along == "free" else "(t %% %du)%s" % (g.lanes, "" if g.singly else " * 4u") }};
{{ side.opened(s, "%s + (%s_q + %du) * 4u" % (first, s.name, i * g.spacing), 4, i * 4) }} //% for i in range(g.loads if s.along == "k" else 1)
{{ side.sum_from(s, k_first ~ " + " ~ s.name ~ "_in") }}{%- endmacro %}

//# read this thread's part of the next tile into registers
{% macro fetch(s, g, wgsl, ragged) -%}
    {{ "if (t < %du) " % g.active if g.active }}{
{{ fetch_free(s, g, wgsl, ragged) if s.along == "free" else fetch_summed(s, g, wgsl, ragged) }}
    }{%- endmacro %}
//# neighbours of the side's own dims, at one summed place after another
{% macro fetch_free(s, g, wgsl, ragged) -%}
{{ side.along(s, 0, ragged) if g.flat }}
    { //% for i in range(g.loads)
{{ side.along(s, 0, ragged) if not g.flat }}
    {{ s.name }}r{{ i }} = {{ side.own_four(s, 0, wgsl, ragged, i * g.stride if g.flat else 0) }};
{{ side.advance(s, g) if not g.flat }}
    }
{{ side.advance(s, g) if g.flat }}{%- endmacro %}
//# neighbours along the summed dims, or, `singly`, own neighbours at one summed place
{% macro fetch_summed(s, g, wgsl, ragged) -%}
{{ side.along(s, c, ragged) }} //% for c in range(1 if s.wide or g.singly else 4)
    {{ s.name }}r{{ i }} = {{ side.own_four(s, i * 4, wgsl, ragged) }}; //% for i in range(g.loads) if g.singly
    {{ s.name }}r{{ j }} = {{ side.summed_four(s, j, wgsl, ragged) }}; //% for j in range(g.loads * 4) if not g.singly
{{ side.advance(s, g) }}{%- endmacro %}

//# put it into workgroup memory, the summed dims outermost: what was read along them is turned
{% macro stage(s, g, V) -%}
    if (t < {{ g.active }}u) { //% if g.active
    tile_{{ s.name }}[{{ fours_at(s, g, i) }}] = {{ s.name }}r{{ i }}; //% for i in (range(g.loads) if s.along == "free" or g.singly else ())
    tile_{{ s.name }}[{{ turned_at(s, g, i, c) }}] = {{ turned(s, i, c, V) }}; //% for i, c in g.blocks(s.along)
    } //% if g.active
{%- endmacro %}
{% macro fours_at(s, g, i) -%}
  {% if s.along == "free" %}({{ s.name }}_in + {{ i * g.stride }}u) * {{ g.pitch }}u + {{ s.name }}_q
  {%- else %}{{ s.name }}_in * {{ g.pitch }}u + {{ s.name }}_q + {{ i * g.spacing }}u{% endif %}{%- endmacro %}
{% macro turned_at(s, g, i, c) -%}
  ({{ s.name }}_in + {{ c }}u) * {{ g.pitch }}u + {{ s.name }}_q + {{ i * g.spacing }}u{%- endmacro %}
{% macro turned(s, i, c, V) -%}
  {{ V }}({% for j in range(4) %}{{ s.name }}r{{ i * 4 + j }}.{{ "xyzw"[c] }}, {% endfor %}){%- endmacro %}

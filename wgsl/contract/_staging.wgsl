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
//% if s.along == "free"
{{ side.along(s, 0, ragged) if g.flat }}
//% for i in range(g.loads)
//% set far = i * g.stride if g.flat else 0
    {
{{ side.along(s, 0, ragged) if not g.flat }}
    {{ s.name }}r{{ i }} = {{ side.own_four(s, 0, wgsl, ragged, far) }};
{{ side.advance(s, g) if not g.flat }}
    }
//% endfor
{{ side.advance(s, g) if g.flat }}
//% elif g.singly
{{ side.along(s, 0, ragged) }}
    {{ s.name }}r{{ i }} = {{ side.own_four(s, i * 4, wgsl, ragged) }}; //% for i in range(g.loads)
{{ side.advance(s, g) }}
//% else
{{ side.along(s, c, ragged) }} //% for c in range(1 if s.wide else 4)
    {{ s.name }}r{{ j }} = {{ side.summed_four(s, j, wgsl, ragged) }}; //% for j in range(g.loads * 4)
{{ side.advance(s, g) }}
//% endif
    }{%- endmacro %}

//# put it into workgroup memory, the summed dims outermost: what was read along them is turned
{% macro stage(s, g, V) -%}
    if (t < {{ g.active }}u) { //% if g.active
//% if s.along == "free"
    tile_{{ s.name }}[({{ s.name }}_in + {{ i * g.stride }}u) * {{ g.pitch }}u + {{ s.name }}_q] = {{ s.name }}r{{ i }}; //% for i in range(g.loads)
//% elif g.singly
    tile_{{ s.name }}[{{ s.name }}_in * {{ g.pitch }}u + {{ s.name }}_q + {{ i * g.spacing }}u] = {{ s.name }}r{{ i }}; //% for i in range(g.loads)
//% else
//% for i, c in product(range(g.loads), range(4))
//% set at = "(%s_in + %du) * %du + %s_q + %du" % (s.name, c, g.pitch, s.name, i * g.spacing)
    tile_{{ s.name }}[{{ at }}] = {{ V }}({% for j in range(4) %}{{ s.name }}r{{ i * 4 + j }}.{{ "xyzw"[c] }}, {% endfor %});
//% endfor
//% endif
    } //% if g.active
{%- endmacro %}

//# Tiles of a contraction's sides as float16 in workgroup memory: where they lie, what a thread puts there, and the
//# products of their fragments. The template that imports this, with its context, is contract/subgroup_matrix.wgsl.
//% import "lib/subgroup_matrix.wgsl" as units
//% import "contract/_operand.wgsl" as side

//% set planes = 2 if split else 1
//# where a side's tile begins in workgroup memory; its low halves lie behind its high ones
{% macro size(s, g) -%}{{ g.pitch * (step if s.along == "free" else g.extent) }}{%- endmacro %}
{% macro all() -%}{{ (size(*sides[0]) | int + size(*sides[1]) | int) * (2 if split else 1) }}{%- endmacro %}
{% macro start(side, low) -%}
  {{ (size(*sides[0]) | int * (2 if split else 1) if side else 0) + (size(*sides[side]) | int if low else 0) }}{%- endmacro %}

//# where what a thread reads of a side begins, in cells of four, of a side that is read as it lies; walked: cells that
//# it goes on by at a tile, where the summed dims are one run
{% macro begin_direct(s, g, walked) -%}
  var {{ s.name }}_at{{ r }} = ({{ first_cell(s, g, r) }}) / 4u; //% for r in g.registers(s.along) if walked
  let {{ s.name }}_on = {{ g.advance }}u{{ by(s) }} / 4u; //% if walked
  let {{ s.name }}_at{{ r }} = {{ s.name }}0_{{ r }} / 4u; //% for r in (g.registers(s.along) if s.along == "k" else [0]) if not walked
{%- endmacro %}
{% macro first_cell(s, g, r) -%}
  {{ s.name }}0_{{ r if s.along == "k" else 0 }} + ({{ s.summed.coords[0] }} + {{ 0 if s.along == "k" else r * g.stride }}u){{ by(s) }}
{%- endmacro %}
{% macro by(s) -%}{{ " * p." ~ s.places[0].summed.terms[0][1] if s.places[0].summed.terms[0][1] != "1" }}{%- endmacro %}

//# the cells of a side that a thread brings, as words where they are of float16 and lie in a buffer: nothing to unpack and
//# pack again
{% macro registers(s, g, lies, converted) -%}
{{ declare(s, r, converted or (lies and s.dtype == "f16")) }} //% for r in (range(brought(g) | int) if converted else g.registers(s.along))
{%- endmacro %}
{% macro declare(s, r, words) -%}
    var {{ s.name }}r{{ r }} = {{ "vec2<u32>" if words else "vec4<f32>" }}();{%- endmacro %}

//# the next cells of a side that is read as it lies
{% macro fetch_direct(s, g, buffer, ragged, walked) -%}
    {{ "if (t < %du) " % g.active if g.active }}{
      {{ s.name }}r{{ r }} = {{ buffer }}[{{ s.name }}_at{{ r }}]; //% for r in g.registers(s.along) if walked
      {{ s.name }}_at{{ r }} += {{ s.name }}_on; //% same
{{ fetch_by_places(s, g, buffer, ragged) if not walked }}
    }{%- endmacro %}
{% macro fetch_by_places(s, g, buffer, ragged) -%}
{{ side.along(s, 0, ragged) }}
      let on = k0_0 / 4u;
      {{ s.name }}r{{ r }} = {{ cell(s, buffer, cell_at(s, g, r), ragged) }}; //% for r in g.registers(s.along)
{{ side.advance(s, g) }}{%- endmacro %}
{% macro cell_at(s, g, r) -%}
  {% if s.along == "k" %}{{ s.name }}_at{{ r }} + on
  {%- else %}{{ s.name }}_at0 + on + (0u{{ side.further(s, s.places[0], r * g.stride) }}) / 4u{% endif %}{%- endmacro %}
{% macro cell(s, buffer, at, ragged) -%}
  {% if not ragged %}{{ buffer }}[{{ at }}]
  {%- else %}select({{ "vec2<u32>" if s.dtype == "f16" else "vec4<f32>" }}(), {{ buffer }}[select(0u, {{ at }}, ok0)], ok0){% endif %}
{%- endmacro %}

//# a side that was converted, tile by tile: where this thread's cells of the first tile are, and a tile's next
{% macro brought(g) -%}{{ g.cells(step) // workgroup[0] * planes }}{%- endmacro %}
{% macro begin_converted(s, g, at, converted) -%}
  var {{ s.name }}_at = batch * p.{{ converted[1] }} + {{ at }} / {{ g.extent }}u * p.{{ converted[2] }}
  {{- " + begin / %du * %du + t" % (step, g.cells(step) * planes) }};{%- endmacro %}
{% macro fetch_converted(s, g, buffer) -%}
{{ fetch_word(s, g, buffer, h, i) }} //% for h, i in product(range(planes), range(g.cells(step) // workgroup[0]))
    {{ s.name }}_at += {{ g.cells(step) * planes }}u;{%- endmacro %}
{% macro fetch_word(s, g, buffer, h, i) -%}
    {{ word(s, g, h, i) }} = {{ buffer }}[{{ s.name }}_at + {{ h * g.cells(step) + i * workgroup[0] }}u];{%- endmacro %}
{% macro word(s, g, h, i) -%}{{ s.name }}r{{ h * g.cells(step) // workgroup[0] + i }}{%- endmacro %}
{% macro stage_converted(s, g, side) -%}
{{ put_word(word(s, g, h, i), word_at(s, g, side, h, i)) }} //% for h, i in product(range(planes), range(g.cells(step) // workgroup[0]))
{%- endmacro %}
{% macro put_word(x, at) -%}
    {{ units.put_four(unit, at, x ~ ".x", x ~ ".y") }}{%- endmacro %}
{% macro word_at(s, g, side, h, i) -%}
//% set line = (g.extent if s.along == "free" else step) // 4
{{ start(side, h) | int + i * workgroup[0] // line * g.pitch }}u + t / {{ line }}u * {{ g.pitch }}u + t % {{ line }}u * 4u{%- endmacro %}

//# this thread's part of a side from registers to workgroup memory
{% macro stage(s, g, side, packed) -%}
    if (t < {{ g.active }}u) { //% if g.active
{{ put_word("%sr%d" % (s.name, r), "%su + %s" % (start(side, 0), staged_at(s, g, r))) if packed }} //% for r in g.registers(s.along)
{{ rounded(s, side, r, staged_at(s, g, r)) if not packed }} //% same
    } //% if g.active
{%- endmacro %}
{% macro staged_at(s, g, r) -%}
  {% if s.along == "free" %}({{ s.name }}_in + {{ r * g.stride }}u) * {{ g.pitch }}u + {{ s.name }}_q * 4u
  {%- else %}(({{ s.name }}_q + {{ r // 4 * g.spacing }}u) * 4u + {{ r % 4 }}u) * {{ g.pitch }}u + {{ s.name }}_in{% endif %}{%- endmacro %}

//# four elements as float16: as one each, or as two
{% macro rounded(s, side, r, at) -%}
    {
      let x = {{ s.name }}r{{ r }}{{ " * %s_scale" % s.name if scales }};
      let high = bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0xffffe000u)); //% if split
      let low = x - high; //% same
{{ four("low", "%su + %s" % (start(side, 1), at)) }} //% same
{{ four("high" if split else "x", "%su + %s" % (start(side, 0), at)) }}
    }{%- endmacro %}
{% macro four(x, at) -%}
      {{ units.put_four(unit, at, "pack2x16float(%s.xy)" % x, "pack2x16float(%s.zw)" % x) }}{%- endmacro %}

//# what a step of the units' depth adds: the left side's high or low halves by some of the right side's
{% macro products(left, rights, kk) -%}
    {
{{ of_left(left, kk, i, *sides[0]) }} //% for i in range(0, down, unit.m)
{{ by_right(low, kk, j, *sides[1]) }} //% for low, j in product(rights, range(0, across, unit.n))
    }{%- endmacro %}
{% macro of_left(low, kk, i, s, g) -%}
{{ units.fragment(unit, "a%d" % (i // unit.m), "left", start(0, low) ~ "u + " ~ tile_at(s, g, i, kk, "down"), g.pitch, s.along == "free") }}
{%- endmacro %}
{% macro by_right(low, kk, j, s, g) -%}
//% set name = "b%d_%d" % (low, j // unit.n)
{{ units.fragment(unit, name, "right", start(1, low) ~ "u + " ~ tile_at(s, g, j, kk, "right"), g.pitch, s.along == "k") }}
      {{ units.multiply(unit, "acc%d_%d" % (i, j // unit.n), "a%d" % i, name) }} //% for i in range(down // unit.m)
{%- endmacro %}
{% macro tile_at(s, g, own, summed, begin) -%}
  {% if s.along == "free" %}{{ summed * g.pitch + own }}u + {{ begin }}
  {%- else %}{{ own * g.pitch + summed }}u + {{ begin }} * {{ g.pitch }}u{% endif %}{%- endmacro %}

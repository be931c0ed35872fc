//# Tiles of a contraction's sides as float16 in workgroup memory: where they lie, what a thread puts there, and the
//# products of their fragments. The template that imports this, with its context, is contract/subgroup_matrix.wgsl.
//% import "lib/subgroup_matrix.wgsl" as units
//% import "contract/_operand.wgsl" as side

//% set planes = 2 if split else 1
//# where a side's tile begins in workgroup memory; its low halves lie behind its high ones
{% macro size(s, g) -%}{{ g.pitch * (step if s.along == "free" else g.extent) }}{%- endmacro %}
{% macro all() -%}{{ (size(*sides[0]) | int + size(*sides[1]) | int) * (2 if split else 1) }}{%- endmacro %}
{% macro start(side, low) -%}
  {{ (size(*sides[0]) | int * (2 if split else 1) if side else 0) + (size(*sides[side]) | int if low else 0) }}
{%- endmacro %}

//# where what a thread reads of a side begins, in cells of four, of a side that is read as it lies; walked: cells that
//# it goes on by at a tile, where the summed dims are one run
{% macro begin_direct(s, g, walked) -%}
//% set n = g.loads * (4 if s.along == "k" else 1)
//% if walked
//% set stride = s.places[0].summed.terms[0][1]
//% set by = "" if stride == "1" else " * p." ~ stride
//% for r in range(n)
//% set own, summed = (r, 0) if s.along == "k" else (0, r * g.stride)
  var {{ s.name }}_at{{ r }} = ({{ s.name }}0_{{ own }} + ({{ s.summed.coords[0] }} + {{ summed }}u){{ by }}) / 4u;
//% endfor
  let {{ s.name }}_on = {{ g.advance }}u{{ by }} / 4u;
//% else
  let {{ s.name }}_at{{ r }} = {{ s.name }}0_{{ r }} / 4u; //% for r in range(n if s.along == "k" else 1)
//% endif
{%- endmacro %}

//# the cells of a side that a thread brings, as words where they are of float16 and lie in a buffer: nothing to unpack and
//# pack again
{% macro registers(s, g, lies, converted) -%}
//% for r in range(cells_of(s, g) | int // workgroup[0] * planes if converted else g.loads * (4 if s.along == "k" else 1))
    var {{ s.name }}r{{ r }} = {{ "vec2<u32>" if converted or (lies and s.dtype == "f16") else "vec4<f32>" }}();
//% endfor
{%- endmacro %}

//# the next cells of a side that is read as it lies
{% macro fetch_direct(s, g, buffer, ragged, walked) -%}
//% set T = "vec2<u32>" if s.dtype == "f16" else "vec4<f32>"
//% set n = g.loads * (4 if s.along == "k" else 1)
    {{ "if (t < %du) " % g.active if g.active }}{
//% if walked
//% for r in range(n)
      {{ s.name }}r{{ r }} = {{ buffer }}[{{ s.name }}_at{{ r }}];
      {{ s.name }}_at{{ r }} += {{ s.name }}_on;
//% endfor
//% else
{{ side.along(s, 0, ragged) }}
      let on = k0_0 / 4u;
//% for r in range(n)
//% set at = "%s_at%d + on" % (s.name, r) if s.along == "k" else "%s_at0 + on + (0u%s) / 4u" % (s.name, side.further(s, s.places[0], r * g.stride))
      {{ s.name }}r{{ r }} = {{ "select(%s(), %s[select(0u, %s, ok0)], ok0)" % (T, buffer, at) if ragged else "%s[%s]" % (buffer, at) }};
//% endfor
{{ side.advance(s, g) }}
//% endif
    }{%- endmacro %}

//# a side that was converted, tile by tile: where this thread's cells of the first tile are, and a tile's next
{% macro cells_of(s, g) -%}{{ g.extent * step // 4 }}{%- endmacro %}
{% macro begin_converted(s, g, at, converted) -%}
//% set tile = "begin / %du * %du" % (step, cells_of(s, g) | int * planes)
//% set line = "%s / %du * p.%s" % (at, g.extent, converted[2])
  var {{ s.name }}_at = batch * p.{{ converted[1] }} + {{ line }} + {{ tile }} + t;{%- endmacro %}
{% macro fetch_converted(s, g, buffer) -%}
//% set cells = cells_of(s, g) | int
//% for h, i in product(range(planes), range(cells // workgroup[0]))
    {{ s.name }}r{{ h * cells // workgroup[0] + i }} = {{ buffer }}[{{ s.name }}_at + {{ h * cells + i * workgroup[0] }}u];
//% endfor
    {{ s.name }}_at += {{ cells * planes }}u;{%- endmacro %}
{% macro stage_converted(s, g, side) -%}
//% set line = (g.extent if s.along == "free" else step) // 4
//% for h, i in product(range(planes), range(cells_of(s, g) | int // workgroup[0]))
//% set at = "%du + t / %du * %du + t %% %du * 4u" % (start(side, h) | int + i * workgroup[0] // line * g.pitch, line, g.pitch, line)
//% set word = "%sr%d" % (s.name, h * cells_of(s, g) | int // workgroup[0] + i)
    {{ units.put_four(unit, at, word ~ ".x", word ~ ".y") }}
//% endfor
{%- endmacro %}

//# this thread's part of a side from registers to workgroup memory
{% macro stage(s, g, side, packed) -%}
    if (t < {{ g.active }}u) { //% if g.active
//% for r in range(g.loads * (4 if s.along == "k" else 1))
//% if s.along == "free"
//% set at = "(%s_in + %du) * %du + %s_q * 4u" % (s.name, r * g.stride, g.pitch, s.name)
//% else
//% set at = "((%s_q + %du) * 4u + %du) * %du + %s_in" % (s.name, r // 4 * g.spacing, r % 4, g.pitch, s.name)
//% endif
//% if packed
    {{ units.put_four(unit, "%su + %s" % (start(side, 0), at), "%sr%d.x" % (s.name, r), "%sr%d.y" % (s.name, r)) }}
//% else
{{ rounded(s, side, r, at) }}
//% endif
//% endfor
    } //% if g.active
{%- endmacro %}

//# four elements as float16: as one each, or as two
{% macro rounded(s, side, r, at) -%}
    {
      let x = {{ s.name }}r{{ r }}{{ " * %s_scale" % s.name if scales }};
//% if split
      let high = bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) & vec4<u32>(0xffffe000u));
      let low = x - high;
{{ four("low", "%su + %s" % (start(side, 1), at)) }}
//% endif
{{ four("high" if split else "x", "%su + %s" % (start(side, 0), at)) }}
    }{%- endmacro %}
{% macro four(x, at) -%}
      {{ units.put_four(unit, at, "pack2x16float(%s.xy)" % x, "pack2x16float(%s.zw)" % x) }}{%- endmacro %}

//# what a step of the units' depth adds: the left side's high or low halves by some of the right side's
{% macro products(left, rights, kk) -%}
//% set a, ga = sides[0]
//% set b, gb = sides[1]
    {
//% for i in range(0, down, unit.m)
//% set at = "%du + down" % (kk * ga.pitch + i) if a.along == "free" else "%du + down * %du" % (i * ga.pitch + kk, ga.pitch)
{{ units.fragment(unit, "a%d" % (i // unit.m), "left", start(0, left) ~ "u + " ~ at, ga.pitch, a.along == "free") }}
//% endfor
//% for low, j in product(rights, range(0, across, unit.n))
//% set at = "%du + right" % (kk * gb.pitch + j) if b.along == "free" else "%du + right * %du" % (j * gb.pitch + kk, gb.pitch)
//% set name = "b%d_%d" % (low, j // unit.n)
{{ units.fragment(unit, name, "right", start(1, low) ~ "u + " ~ at, gb.pitch, b.along == "k") }}
      {{ units.multiply(unit, "acc%d_%d" % (i, j // unit.n), "a%d" % i, name) }} //% for i in range(down // unit.m)
//% endfor
    }{%- endmacro %}

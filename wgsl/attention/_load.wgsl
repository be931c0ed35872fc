//# How the rows of attention's sides come to registers and workgroup memory, and how a result goes out. A side: buffer, base (its
//# head's first row), first and limit (rows of the block), rows, width (vec4s a row), exact (no row ends within a step), plain
//# (rows in order, else those of one thread side by side), T.

//# a row's vec4 of a buffer as f32, zero past its features
{% macro cell(side, row, at) -%}
{%- set read = "%s[(%s + %s) * %du + %s]" % (side.buffer, side.base, row, side.width, at if side.exact else "min(%s, %du)" % (at, side.width - 1)) -%}
{%- set read = "%s(%s)" % (side.T.call("unpack_" ~ side.T.dtype.short), read) if side.T.dtype.is_packed else read -%}
{{ read if side.exact else "select(vec4<f32>(0), %s, %s < %du)" % (read, at, side.width) }}{%- endmacro %}

//# a row's vec4 as f32, zero past its features
{% macro some(T, buffer, row, width, at, beyond) -%}
{{ cell({"T": T, "buffer": buffer, "base": "0u", "width": width, "exact": not beyond}, row, at) }}{%- endmacro %}

{% macro store(out, at, value, T, guard) -%}
    if ({{ guard }}) { //% if guard
    {{ out }}[{{ at }}] = {{ T.store(value) }};
    } //% if guard
{%- endmacro %}

//# vec4s of n registers, t.tx apart, to a row of `width` of them, from this thread's place on
{% macro store_row(out, at, value, factor, n, width, t, T) -%}
{{ store(out, "%s + %du" % (at, i * t.tx), "%s_%d%s" % (value, i, factor), T, inside(width, i, t)) }} //% for i in range(n)
{%- endmacro %}
{% macro inside(width, i, t) -%}{{ "tx < %du" % (width - i * t.tx) if width < (i + 1) * t.tx }}{%- endmacro %}

//# the blocks of 4 rows x 4 features that this thread brings; `name` tells registers of two sides apart
{% macro each(t, count, b) -%}
{%- if (b + 1) * t.threads > count %}    if (lid.x < {{ count - b * t.threads }}u) {
{% endif -%}{%- endmacro %}
{% macro end(t, count, b) -%}
{%- if (b + 1) * t.threads > count %}    }
{% endif -%}{%- endmacro %}

{% macro declare(name, t, count, of=4) -%}
    var {{ name }}{{ b }}_{{ i }} = vec4<f32>(0); //% for b, i in product(t.blocks(count), range(of))
{%- endmacro %}

{% macro fetch(name, side, t, c) -%}
{{ each(t, side.rows // 4 * t.step // 4, b) }} //% for b in t.blocks(side.rows // 4 * t.step // 4)
    { //% same
      let place = lid.x + {{ b * t.threads }}u;
      let quad = place % 8u + place / {{ 2 * t.step }}u * 8u;
      let at = {{ c }} + place / 8u % {{ t.step // 4 }}u;
      let line{{ i }} = min({{ side.first }} + {{ row_of(side, t, i) }}, {{ side.limit }} - 1u); //% for i in range(4)
      {{ name }}{{ b }}_{{ i }} = {{ cell(side, "line%d" % i, "at") }}; //% same
    }
{{ end(t, side.rows // 4 * t.step // 4, b) }} //% same
{%- endmacro %}

//# the i-th row of a block, in order or among those of one thread
{% macro row_of(side, t, i) -%}
  {% if side.plain %}4u * quad + {{ i }}u
  {%- else %}quad % {{ t.tx }}u + quad / {{ t.tx }}u * {{ 4 * t.tx }}u + {{ i * t.tx }}u{% endif %}{%- endmacro %}

{% macro put(name, to, side, t) -%}
{{ each(t, side.rows // 4 * t.step // 4, b) }} //% for b in t.blocks(side.rows // 4 * t.step // 4)
    { //% same
      let place = lid.x + {{ b * t.threads }}u;
      let quad = place % 8u + place / {{ 2 * t.step }}u * 8u;
      let deep = place / 8u % {{ t.step // 4 }}u * 4u;
      {{ to }}[deep + {{ i }}u][quad] = {{ turned(name ~ b, i) }}; //% for i in range(4)
    }
{{ end(t, side.rows // 4 * t.step // 4, b) }} //% same
{%- endmacro %}

//# feature i of the four rows in registers
{% macro turned(name, i) -%}
  vec4<f32>({% for r in range(4) %}{{ ", " if r }}{{ name }}_{{ r }}.{{ "xyzw"[i] }}{% endfor %}){%- endmacro %}

{% macro along(name, side, t, c) -%}
{{ each(t, t.step * side.quads, b) }} //% for b in t.blocks(t.step * side.quads)
    { //% same
      let place = lid.x + {{ b * t.threads }}u;
      let deep = {{ side.first }} + {{ c }} * {{ t.step }}u + place / {{ side.quads }}u;
      let at = place % {{ side.quads }}u;
      {{ name }}{{ b }}_0 = select(vec4<f32>(0), {{ cell(side, "min(deep, %s - 1u)" % side.limit, "at") }}, deep < {{ side.limit }});
    }
{{ end(t, t.step * side.quads, b) }} //% same
{%- endmacro %}

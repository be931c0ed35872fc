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
{% if guard %}
    if ({{ guard }}) {
{% endif %}
    {{ out }}[{{ at }}] = {{ T.store(value) }};
{% if guard %}
    }
{% endif %}
{%- endmacro %}

//# vec4s of n registers, t.tx apart, to a row of `width` of them, from this thread's place on
{% macro store_row(out, at, value, factor, n, width, t, T) -%}
{% for i in range(n) %}
{{ store(out, "%s + %du" % (at, i * t.tx), "%s_%d%s" % (value, i, factor), T, "tx < %du" % (width - i * t.tx) if width < (i + 1) * t.tx else "") }}
{% endfor %}
{%- endmacro %}

//# the blocks of 4 rows x 4 features that this thread brings; `name` tells registers of two sides apart
{% macro each(t, count, b) -%}
{%- if (b + 1) * t.threads > count %}    if (lid.x < {{ count - b * t.threads }}u) {
{% endif -%}{%- endmacro %}
{% macro end(t, count, b) -%}
{%- if (b + 1) * t.threads > count %}    }
{% endif -%}{%- endmacro %}

{% macro declare(name, t, count, of=4) -%}
    var {{ name }}{{ b }}_{{ i }} = vec4<f32>(0); //% for b, i in product(range((count + t.threads - 1) // t.threads), range(of))
{%- endmacro %}

{% macro fetch(name, side, t, c) -%}
{% set count = side.rows // 4 * t.step // 4 %}
{% for b in range((count + t.threads - 1) // t.threads) %}
{{ each(t, count, b) }}
    {
      let place = lid.x + {{ b * t.threads }}u;
      let quad = place % 8u + place / {{ 2 * t.step }}u * 8u;
      let at = {{ c }} + place / 8u % {{ t.step // 4 }}u;
{% for i in range(4) %}
{% set turned = "quad %% %du + quad / %du * %du + %du" % (t.tx, t.tx, 4 * t.tx, i * t.tx) %}
      let line{{ i }} = min({{ side.first }} + {{ "4u * quad + %du" % i if side.plain else turned }}, {{ side.limit }} - 1u);
      {{ name }}{{ b }}_{{ i }} = {{ cell(side, "line%d" % i, "at") }};
{% endfor %}
    }
{{ end(t, count, b) }}
{% endfor %}
{%- endmacro %}

{% macro put(name, to, side, t) -%}
{% set count = side.rows // 4 * t.step // 4 %}
{% for b in range((count + t.threads - 1) // t.threads) %}
{{ each(t, count, b) }}
    {
      let place = lid.x + {{ b * t.threads }}u;
      let quad = place % 8u + place / {{ 2 * t.step }}u * 8u;
      let deep = place / 8u % {{ t.step // 4 }}u * 4u;
{% for i in range(4) %}
      {{ to }}[deep + {{ i }}u][quad] = vec4<f32>({% for r in range(4) %}{{ ", " if r }}{{ name }}{{ b }}_{{ r }}.{{ "xyzw"[i] }}{% endfor %});
{% endfor %}
    }
{{ end(t, count, b) }}
{% endfor %}
{%- endmacro %}

{% macro along(name, side, t, c) -%}
{% set count = t.step * side.quads %}
{% for b in range((count + t.threads - 1) // t.threads) %}
{{ each(t, count, b) }}
    {
      let place = lid.x + {{ b * t.threads }}u;
      let deep = {{ side.first }} + {{ c }} * {{ t.step }}u + place / {{ side.quads }}u;
      let at = place % {{ side.quads }}u;
      {{ name }}{{ b }}_0 = select(vec4<f32>(0), {{ cell(side, "min(deep, %s - 1u)" % side.limit, "at") }}, deep < {{ side.limit }});
    }
{{ end(t, count, b) }}
{% endfor %}
{%- endmacro %}

//# What a thread of a skinny contraction reads at a turn: four columns, and every row.
//% import "contract/_operand.wgsl" as side

//# bx<u>_<c>: four columns at one summed place, or four summed places of each of four columns; then go on
{% macro columns(s, g, u, wgsl, ragged) -%}
//% set V = wgsl(s.dtype, 4)
//% set T = wgsl(s.dtype, 1)
//% for c in range(1 if s.along == "free" else 4)
    var bx{{ u }}_{{ c }} = {{ V }}(0);
//% endfor
    {
//% for c in range(4 if s.along == "k" and not s.wide else 1)
{{ side.along(s, c, ragged) }}
//% endfor
//% if s.along == "free" and s.wide
    bx{{ u }}_0 = {{ side.value(s, 0, 0, V, ragged) }};
//% elif s.along == "free"
    bx{{ u }}_0 = {{ V }}({% for j in range(4) %}{{ side.value(s, j, 0, T, ragged) }}, {% endfor %});
//% else
//% for j in range(4)
    bx{{ u }}_{{ j }} = {{ four(s, j, V, T, ragged) }};
//% endfor
//% endif
{{ side.advance(s, g) }}
    }
{%- endmacro %}

//# four summed places of own element j
{% macro four(s, j, V, T, ragged) -%}
{% if s.wide %}{{ side.value(s, j, 0, V, ragged) }}
{%- else %}{{ V }}({% for c in range(4) %}{{ side.value(s, j, c, T, ragged) }}, {% endfor %}){% endif %}
{%- endmacro %}

//# ax<u>_<i>: the i-th row at one summed place, or at four
{% macro rows(s, g, u, high, along_b, wgsl, ragged) -%}
//% set V = wgsl(s.dtype, 4)
//% set T = wgsl(s.dtype, 1)
//% for i in range(high)
    var ax{{ u }}_{{ i }} = {{ V if along_b == "k" else T }}(0);
//% endfor
    {
//% for c in range(4 if along_b == "k" and not s.wide else 1)
{{ side.along(s, c, ragged) }}
//% endfor
//% for i in range(high)
    ax{{ u }}_{{ i }} = {{ four(s, i, V, T, ragged) if along_b == "k" else side.value(s, i, 0, T, ragged) }};
//% endfor
{{ side.advance(s, g) }}
    }
{%- endmacro %}

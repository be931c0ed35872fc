//# Transforms of a few complex numbers in registers. names: the variables that hold them, which get the results; the
//# s-th result of a composite length a * b is in variable s % a * b + s // a. roots: r -> (cos, -sin, sin) of 2 pi q / r.

//# -i * v
{% macro turned(v) -%}vec2<f32>({{ v }}.y, -{{ v }}.x){%- endmacro %}

{% macro two(a, b) -%}
  {
    let d = {{ a }} - {{ b }};
    {{ a }} += {{ b }};
    {{ b }} = d;
  }
{%- endmacro %}

{% macro four(a, b, c, d) -%}
  {
    let even = {{ a }} + {{ c }};
    let odd = {{ b }} + {{ d }};
    let low = {{ a }} - {{ c }};
    let high = vec2<f32>({{ b }}.y - {{ d }}.y, {{ d }}.x - {{ b }}.x);
    {{ a }} = even + odd;
    {{ b }} = low + high;
    {{ c }} = even - odd;
    {{ d }} = low - high;
  }
{%- endmacro %}

//# an odd prime: sums and differences of the q-th and the (r - q)-th
{% macro odd(names, roots) -%}
//% set r = names | length
  {
    let first = {{ names[0] }};
//% for q in range(1, (r + 1) // 2)
    let sum{{ q }} = {{ names[q] }} + {{ names[r - q] }};
    let gap{{ q }} = vec2<f32>({{ names[q] }}.y - {{ names[r - q] }}.y, {{ names[r - q] }}.x - {{ names[q] }}.x);
//% endfor
    {{ names[0] }} += sum{{ q }}; //% for q in range(1, (r + 1) // 2)
//% for s in range(1, (r + 1) // 2)
    let even{{ s }} = first{% for q in range(1, (r + 1) // 2) %} + {{ roots[r][q * s % r][0] }} * sum{{ q }}{% endfor %};
    let odd{{ s }} = {% for q in range(1, (r + 1) // 2) %}{{ " + " if not loop.first }}{{ roots[r][q * s % r][2] }} * gap{{ q }}{% endfor %};
    {{ names[s] }} = even{{ s }} + odd{{ s }};
    {{ names[r - s] }} = even{{ s }} - odd{{ s }};
//% endfor
  }
{%- endmacro %}

{% macro prime(names, roots) -%}
//% if names | length == 2
{{ two(names[0], names[1]) }}
//% elif names | length == 4
{{ four(names[0], names[1], names[2], names[3]) }}
//% else
{{ odd(names, roots) }}
//% endif
{%- endmacro %}

//# x times exp(-2 pi i power / r)
{% macro turn(x, power, r, roots) -%}
//% if 4 * power == r
  {{ x }} = {{ turned(x) }};
//% else
  {{ x }} = times({{ x }}, vec2<f32>({{ roots[r][power % r][0] }}, {{ roots[r][power % r][1] }}));
//% endif
{%- endmacro %}

//# a lines of b numbers
{% macro composite(names, a, b, roots) -%}
{{ prime(names[c::b], roots) }} //% for c in range(b)
{{ turn(names[c + b * k], c * k, a * b, roots) }} //% for c, k in product(range(1, b), range(1, a))
{{ prime(names[b * k : b * k + b], roots) }} //% for k in range(a)
{%- endmacro %}

//# halves: the factors (a, b) of a composite length; None of one that is transformed at once
{% macro transform(names, halves, roots) -%}
{{ composite(names, halves[0], halves[1], roots) if halves else prime(names, roots) }}
{%- endmacro %}

//# What a thread of a skinny contraction reads at a turn: four columns, and every row.
//% import "contract/_operand.wgsl" as side

//# <side>x<u>_<c>: four columns at one summed place, or four summed places of each of four columns; then go on
{% macro columns(s, g, u, wgsl, ragged) -%}
//% set V = wgsl(s.dtype, 4)
    var {{ s.name }}x{{ u }}_{{ c }} = {{ V }}(0); //% for c in range(1 if s.along == "free" else 4)
    {
{{ side.along(s, c, ragged) }} //% for c in range(4 if s.along == "k" and not s.wide else 1)
//% if s.along == "free"
    {{ s.name }}x{{ u }}_0 = {{ side.own_four(s, 0, wgsl, ragged) }};
//% else
    {{ s.name }}x{{ u }}_{{ j }} = {{ side.summed_four(s, j, wgsl, ragged) }}; //% for j in range(4)
//% endif
{{ side.advance(s, g) }}
    }{%- endmacro %}

//# ax<u>_<i>: the i-th row at one summed place, or at four
{% macro rows(s, g, u, high, along_b, wgsl, ragged) -%}
//% set V, T = wgsl(s.dtype, 4), wgsl(s.dtype, 1)
    var ax{{ u }}_{{ i }} = {{ V if along_b == "k" else T }}(0); //% for i in range(high)
    {
{{ side.along(s, c, ragged) }} //% for c in range(4 if along_b == "k" and not s.wide else 1)
    ax{{ u }}_{{ i }} = {{ side.summed_four(s, i, wgsl, ragged) if along_b == "k" else side.value(s, i, 0, T, ragged) }}; //% for i in range(high)
{{ side.advance(s, g) }}
    }{%- endmacro %}

//# <name>_<i>: the sum of row i over all summed places, four neighbours a thread and turn. Few barriers: one thread in 16 joins
//# the sums of 16, then every thread those.
{% macro row_sum(name, s, g, high, threads, wgsl, V) -%}
  var {{ name }}_{{ i }} = 0.0; //% for i in range(high)
  {
{{ side.opened(s, "0u", high) }}
{{ side.sum_from(s, "t * 4u") }}
  var some{{ i }} = {{ V }}(0); //% for i in range(high)
  for (var k = 0u; k < end; k += {{ g.stride }}u) {
{{ side.along(s, c, true) }} //% for c in range(1 if s.wide else 4)
    some{{ i }} += {{ V }}({{ side.summed_four(s, i, wgsl, true) }}); //% for i in range(high)
{{ side.advance(s, g) }}
  }
//% for i in range(high)
  partials[t] = some{{ i }};
  workgroupBarrier();
  if (t < {{ threads // 16 }}u) {
    some{{ i }} = partials[t];
    some{{ i }} += partials[t + {{ j * (threads // 16) }}u]; //% for j in range(1, 16)
  }
  workgroupBarrier();
  if (t < {{ threads // 16 }}u) {
    partials[t] = some{{ i }};
  }
  workgroupBarrier();
  var all{{ i }} = partials[0];
  all{{ i }} += partials[{{ j }}]; //% for j in range(1, threads // 16)
  {{ name }}_{{ i }} = all{{ i }}.x + all{{ i }}.y + all{{ i }}.z + all{{ i }}.w;
  workgroupBarrier();
//% endfor
  }{%- endmacro %}

//# <sum><i>: what the threads of the same columns have of row i, joined; `part` tells them apart, and they are `from` threads apart
{% macro joined(total, sum, i, along, V, part, from, most) -%}
  var {{ sum }}{{ i }} = {{ total }}{{ i }}_0; //% if along == "free"
  var {{ sum }}{{ i }} = {{ V }}({% for c in range(4) %}{{ "A.x + A.y + A.z + A.w" | replace("A", total ~ i ~ "_" ~ c) }}, {% endfor %}); //% else
  partials[t] = {{ sum }}{{ i }}; //% for far in (64, 32, 16, 8, 4, 2, 1) if far < most
  workgroupBarrier(); //% same
  if ({{ part }} < {{ far }}u) { //% same
    {{ sum }}{{ i }} += partials[t + {{ far * from }}u];
  }
  workgroupBarrier(); //% same
{%- endmacro %}

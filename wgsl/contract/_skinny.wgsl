//# What a thread of a skinny contraction reads at a turn: four columns, and every row.
//% import "contract/_operand.wgsl" as side

//# bx<u>_<c>: four columns at one summed place, or four summed places of each of four columns; then go on
{% macro columns(s, g, u, wgsl, ragged) -%}
//% set V = wgsl(s.dtype, 4)
    var bx{{ u }}_{{ c }} = {{ V }}(0); //% for c in range(1 if s.along == "free" else 4)
    {
{{ side.along(s, c, ragged) }} //% for c in range(4 if s.along == "k" and not s.wide else 1)
//% if s.along == "free"
    bx{{ u }}_0 = {{ side.own_four(s, 0, wgsl, ragged) }};
//% else
    bx{{ u }}_{{ j }} = {{ side.summed_four(s, j, wgsl, ragged) }}; //% for j in range(4)
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

//# A thread's four neighbours (or one) of values with the same elements, from element i on: all are computed before any
//# is written.
//% import "lib/index.wgsl" as ix
{% macro write(name, f, dims, outs, width, wgsl) -%}
{{ ix.unravel("i", f.coords, dims[1:]) if f.width == width else ix.unravel("i", f.coords | map("suffix", "_0") | list, dims[1:]) }}
  let y = {{ name }}({{ f.coords | join(", ") }}); //% if f.width == width
  let y_{{ result }} = y.{{ result }}; //% for result, dtype in f.results if f.width == width
{{ ix.next(f.coords, dims, j) }} //% for j in range(1, width) if f.width != width
  let y{{ j }} = {{ name }}({{ f.coords | map("suffix", "_%d" % j) | join(", ") }}); //% for j in range(width) if f.width != width
  let y_{{ r }} = {{ wgsl(dtype, width) }}(y0.{{ r }}, y1.{{ r }}, y2.{{ r }}, y3.{{ r }}); //% for r, dtype in f.results if f.width != width
  let y = vec4<{{ wgsl(f.dtype, 1) }}>(y0, y1, y2, y3); //% if f.width != width and not f.results
//% for result, dtype in f.results or [("y", f.dtype)]
  {{ outs[loop.index0] }}[{{ over("i", width) }}] = {{ wgsl(dtype, width).store("y_" ~ result if f.results else "y") }};
//% endfor
{%- endmacro %}

//# A thread's four neighbours (or one) of values with the same elements: all are computed before any is written.
//% import "lib/index.wgsl" as ix
{% macro write(name, f, size, dims, outs, width, wgsl) -%}
  if (i >= p.{{ size }}) {
    return;
  }
//% set results = f.results or (("y", f.dtype),)
//% if f.width == width
{{ ix.unravel("i", f.coords, dims[1:]) }}
  let y = {{ name }}({{ f.coords | join(", ") }});
  let y_{{ result }} = y.{{ result }}; //% for result, dtype in f.results
//% else
{{ ix.unravel("i", f.coords | map("suffix", "_0") | list, dims[1:]) }}
{{ ix.next(f.coords, dims, j) }} //% for j in range(1, width)
  let y{{ j }} = {{ name }}({{ f.coords | map("suffix", "_%d" % j) | join(", ") }}); //% for j in range(width)
//% for result, dtype in f.results
  let y_{{ result }} = {{ wgsl(dtype, width) }}(y0.{{ result }}, y1.{{ result }}, y2.{{ result }}, y3.{{ result }});
//% endfor
  let y = vec4<{{ wgsl(f.dtype, 1) }}>(y0, y1, y2, y3); //% if not f.results
//% endif
//% for result, dtype in results
  {{ outs[loop.index0] }}[{{ "i / 4u" if width == 4 else "i" }}] = {{ wgsl(dtype, width).store("y_" ~ result if f.results else "y") }};
//% endfor
{%- endmacro %}

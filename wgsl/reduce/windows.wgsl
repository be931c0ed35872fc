//# Windows along a line reduced: a thread makes four neighbours, and reads the cells that they share once.
//% extends "kernel.wgsl"
//% import "lib/monoids.wgsl" as combine
{% macro held(cell) -%}{{ ("min(first + %du, p." ~ last ~ ")" if last else "first + %du") % cell }}{%- endmacro %}

//# tap t of window j: its cell, or a value that is computed of the cell's results and where they lie
{% macro cell_of(j, t) -%}cell{{ j * stride + t * dilation }}{%- endmacro %}
{% macro tap(j, t) -%}
  {% if "value" not in functions %}{{ cell_of(j, t) }}
  {%- else %}value({% for name, _ in functions["cells"].results %}{{ cell_of(j, t) }}.{{ name }}, {% endfor %}
  {%- for c in lead %}{{ c }}, {% endfor %}column{{ j }}, {% for r, _ in loops %}{{ r }}, {% endfor %}{{ t }}u){% endif %}{%- endmacro %}
//% block body
//% set T = wgsl(acc, 1)
//% set f = functions["cells"]
  // the four windows of this thread
  let strip = (wid.x + wid.y * p.{{ span }}) * {{ workgroup[0] }}u + lid.x;
  if (strip >= p.{{ size }}) {
    return;
  }
  let place = (strip % p.{{ strips }}) * 4u;
  let line = strip / p.{{ strips }};
{{ ix.unravel("line", lead, dims) }}
  let first = place * {{ stride }}u;
//# a line's last strip may end behind it
  let column{{ j }} = {{ "min(place + %du, p.%s - 1u)" % (j, line) if last else "place + %du" % j }}; //% for j in range(4)
  var acc{{ j }} = {{ T }}({{ combine.start[op](T) }}); //% same
  // {{ op }} of each window
  for (var {{ r }} = 0u; {{ r }} < p.{{ n }}; {{ r }}++) { //% for r, n in loops
//% set around = lead | list + loops | map("first") | list
    {{ "let four%d = cells(%s);" % (cell, (around + ["first + %du" % cell]) | join(", ")) if cell % 4 == 0 }} //% for cell in cells if f.width == 4
    let cell{{ cell }} = four{{ cell // 4 * 4 }}.{{ "xyzw"[cell % 4] }}; //% same
    let cell{{ cell }} = cells({{ (around + [held(cell)]) | join(", ") }}); //% for cell in cells if f.width != 4
    acc{{ j }} = {{ combine.join[op](T, "acc%d" % j, tap(j, t)) }}; //% for j, t in product(range(4), range(taps))
  } //% for loop_ in loops
  // write four neighbours
  let row = line * p.{{ line }} + place;
//% for j in range(4)
  let e{{ j }}_row = line * p.{{ line }} + column{{ j }}; //% if finish
{{ ix.unravel("e%d_row" % j, finish.coords | map("suffix", "_%d" % j) | list, e_dims) }} //% same
  let y{{ j }} = finish(acc{{ j }}{% for c in finish.coords %}, {{ c }}_{{ j }}{% endfor %}); //% same
  let y{{ j }} = acc{{ j }}; //% else
//% endfor
  out[row / 4u] = {{ Out.store(Out ~ "(y0, y1, y2, y3)") }}; //% if out_width == 4
  if (place + {{ j }}u < p.{{ line }}) { //% for j in range(4) if out_width != 4
    out[row + {{ j }}u] = {{ Out.store("y%d" % j) }};
  }
//% endblock

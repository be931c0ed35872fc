//# A contraction of few rows over windows: a thread makes every row of four columns of a line. The cells that their
//# windows share are read once for all of them, a line of taps at a time.
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
//% import "contract/_operand.wgsl" as side
{% macro four(i) -%}{{ wgsl(acc, 4) }}(acc{{ i }}_0, acc{{ i }}_1, acc{{ i }}_2, acc{{ i }}_3){%- endmacro %}
{% macro store(sum, i, j) -%}
  {{ tile.store(Out, "start + " ~ index_of(out_places[2], "_%d" % j), tile.result(finish, sum, rows, columns, i, j)) }}{%- endmacro %}
//% block body
//% set T = wgsl(acc, 1)
//% set a, ga = sides[0]
//% set b, gb = sides[1]
  let group = wid.x + wid.y * p.{{ groups }};
  let batch = group / p.{{ tiles }};
  let strip = (group % p.{{ tiles }}) * {{ workgroup[0] }}u + lid.x;
  if ((batch >= p.{{ depth }}) | (strip >= p.{{ strips }} * p.{{ lines }})) {
    return;
  }
  let place = (strip % p.{{ strips }}) * 4u;
  let first = (strip / p.{{ strips }}) * p.{{ line }} + place;
{{ side.opened(a, "0u", high) }}
{{ side.sum_from(a, "0u") }}
{{ side.opened(b, "first", 1) }}
{{ side.sum_from(b, "0u") }}
  var acc{{ i }}_{{ j }} = {{ T }}(0); //% for i, j in product(range(high), range(4))
// a line's last strip may end behind it, and the last line at the end of the buffer
  let most = p.{{ last }} - place * {{ stride }}u; //% if last
  for (var k = 0u; k < p.{{ summed }}; k += {{ taps }}u) {
{{ side.along(b, 0, false) }}
//% set own = (taps - 1) * dilation
//% for cell in cells
//% set at = ("min(%du, most)" if last and cell > own else "%du") % cell
    let cell{{ cell }} = b({% for unit in units %}
  {{- "b%d_0 + k%d_0" % (loop.index0, loop.index0) }}{{ " + %s * p.%s" % (at, unit) if unit and cell }}, {% endfor %}0u);
//% endfor
{{ side.advance(b, gb) }}
//% for t in range(taps)
    {
{{ side.along(a, 0, false) }}
//% for i, j in product(range(high), range(4))
      {{ "let x%d = %s;" % (i, side.value(a, i, 0, wgsl(a.dtype, 1), false)) if not j }}
//% set cell = "cell%d" % (j * stride + t * dilation)
      acc{{ i }}_{{ j }} = {{ tile.multiply_add(T, "x%d" % i, cell, "acc%d_%d" % (i, j)) }};
//% endfor
{{ side.advance(a, ga) }}
    }
//% endfor
  }
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
  let row_0 = 0u;
{{ tile.own_four("row", "0u", rows, 0, high, false) }}
// the last strip of a line may end in the next line's columns, which are not its own
{{ tile.own_four("column", "first", columns, 0, 1 if out_width == 4 else 4) }}
  if ({{ i }}u < p.{{ rows.total }}) { //% for i in range(high)
    let start = {{ tile.row_start((), batch, out_places, i) }};
    {{ store(four(i), i, 0) if out_width == 4 }}
    if (place + {{ j }}u < p.{{ line }}) { //% for j in range(4 if out_width == 1 else 0)
      {{ store("acc%d_%d" % (i, j), i, j) }}
    }
  }
//% endblock

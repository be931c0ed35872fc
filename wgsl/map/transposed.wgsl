//# Every element by itself, of inputs that lie the other way round. Tiles of them pass through workgroup memory:
//# neighbouring threads read neighbours along the dim `across`, and write neighbours along the dim `along`.
//% extends "kernel.wgsl"
//% set wide, high = tile
//% set threads = workgroup[0]
//# the j-th read of a thread
{% macro at(f, name, j) -%}
{{ name }}({% for c in f.coords %}{{ {"across": "across_of_read", "along": "along_%d" % j}.get(c, c) }}, {% endfor %})
{%- endmacro %}
//# an element of a tile. Bools are kept as words: NVIDIA's driver (580.159.04) loses some of an array of bools in
//# workgroup memory
{% macro is_bool(dtype) %}{{ "b" if wgsl(dtype, 1).kind == "b" }}{% endmacro %}
{% macro word(dtype) %}{{ "u32" if is_bool(dtype) else wgsl(dtype, 1) }}{% endmacro %}
{% macro kept(dtype, x) %}{{ "u32(%s)" % x if is_bool(dtype) else x }}{% endmacro %}
{% macro from_tile(name, dtype, at) %}
{{ "(tile_%s[%s] != 0u)" % (name, at) if is_bool(dtype) else "tile_%s[%s]" % (name, at) }}{% endmacro %}
//# the i-th neighbour that a thread writes, of what the tiles have
{% macro value(f, i) -%}
value({% for name, dtype, _ in f.arguments %}
{{ from_tile(name, dtype, times(plus("column", i), wide + 1) ~ " + row") }}, {% endfor %}
{%- for c in f.coords %}{{ plus(c, i if c == "along" else 0) }}, {% endfor %})
{%- endmacro %}
//% block declarations
var<workgroup> tile_{{ name }}: array<{{ word(dtype) }}, {{ high * (wide + 1) }}>; //% for name, dtype, _ in functions["value"].arguments
//% endblock
//% block body
//% set f = functions["value"]
//% set T = wgsl(f.dtype, out_width)
  let group = wid.x + wid.y * p.{{ line }};
  if (group >= p.{{ groups }}) {
    return;
  }
  let first_along = group % p.{{ counts[1] }} * {{ high }}u;
  let rest = group / p.{{ counts[1] }};
  let first_across = rest % p.{{ counts[0] }} * {{ wide }}u;
  let outer = rest / p.{{ counts[0] }};
{{ ix.unravel("outer", others, dims) if others }}
  // read in the order of the inputs; places past the end read the last element
  let read = lid.x % {{ wide }}u;
  let across_of_read = min(first_across + read, p.{{ sizes[0] }} - 1u);
//% for j in range(wide * high // threads)
  let line_{{ j }} = {{ plus("lid.x / %du" % wide, j * threads // wide) }};
  let along_{{ j }} = min(first_along + line_{{ j }}, p.{{ sizes[1] }} - 1u);
  let {{ name }}_{{ j }} = {{ at(functions["read_" ~ name], "read_" ~ name, j) }}; //% for name, _, _ in f.arguments
//% endfor
//% for j in range(wide * high // threads)
  tile_{{ name }}[line_{{ j }} * {{ wide + 1 }}u + read] = {{ kept(dtype, "%s_%d" % (name, j)) }}; //% for name, dtype, _ in f.arguments
//% endfor
  workgroupBarrier();
  // write in the order of the output
  { //% for j in range(wide * high // threads // out_width)
    let column = {{ times(modulo(plus("lid.x", j * threads), high // out_width), out_width) }};
    let row = {{ over(plus("lid.x", j * threads), high // out_width) }};
    let across = first_across + row;
    let along = first_along + column;
    if ((across < p.{{ sizes[0] }}) & (along < p.{{ sizes[1] }})) {
      let y{{ i }} = {{ value(f, i) }}; //% for i in range(out_width)
      let y = {{ "vec4<%s>(y0, y1, y2, y3)" % T.scalar if out_width == 4 else "y0" }};
      out[{{ over(index_of(place), out_width) }}] = {{ T.store("y") }};
    }
  }
//% endblock

//# Columns j on of a result on matrix units, from the strips to memory: four neighbouring lanes write 16 columns of a row, in so
//# many `steps`. Of each step's `row` the result is multiplied by `factor`, or by shares: factor<n>, with which it is within
//# float16's range.
//% import "lib/subgroup_matrix.wgsl" as units

{% macro steps(u) -%}{{ u.rows * u.unit.n // 4 // u.unit.lanes }}{%- endmacro %}
{% macro row(u, n) -%}lane / {{ u.unit.n // 4 }}u + {{ n * 4 * u.unit.lanes // u.unit.n }}u{%- endmacro %}

{% macro write(u, T, base, limit, wide, j, factor, shares=false) -%}
  { //% for n in range(steps(u) | int)
    let line = {{ row(u, n) }};
    let own_row = row0 + subgroup * {{ u.rows }}u + line;
    if (own_row < {{ limit }}) {
      let column = lane % {{ u.unit.n // 4 }}u;
      let y = {{ units.sums(u.unit, "(strip + line * %du + 4u * column)" % u.pitch, 4) }} * {{ factor ~ (n if shares else "") }};
      out[({{ base }} + own_row) * {{ wide }}u + {{ j // 4 }}u + column] = {{ "vec2<u32>(pack2x16float(y.xy), pack2x16float(y.zw))"
          if shares else T.store("y") }};
    }
  }{%- endmacro %}

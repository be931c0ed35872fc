//# Columns j on of a result on matrix units, from the strips to memory: four neighbouring lanes write 16 columns of a row.
//% import "units.wgsl" as units
//% import "attend_rows.wgsl" as rows

{% macro write(u, T, base, limit, wide, j, factor) -%}
  for (var line = lane / {{ u.unit.n // 4 }}u; line < {{ u.rows }}u; line += {{ 4 * u.unit.lanes // u.unit.n }}u) {
    let from_row = strip + line * {{ u.pitch }}u;
    let column = lane % {{ u.unit.n // 4 }}u;
    let own_row = row0 + subgroup * {{ u.rows }}u + line;
    if (own_row < {{ limit }}) {
      let place = ({{ base }} + own_row) * {{ wide }}u + {{ j // 4 }}u + column;
{{ rows.store("out", "place", "%s * %s" % (units.sums(u.unit, "(from_row + 4u * column)", 4), factor), T, "") }}
    }
  }
{%- endmacro %}

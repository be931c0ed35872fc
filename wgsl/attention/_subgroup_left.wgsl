//# A subgroup's own rows in attention on matrix units, to fragments by way of its strip. rows: buffer, name (of fragments and
//# registers), base (its head's first row), limit (rows of the head), width (features).
//% import "lib/subgroup_matrix.wgsl" as units
//% import "attention/_subgroup_memory.wgsl" as on

//# all of a lane's part at once
{% macro ask(u, rows) -%}
//% for i, c in product(range(u.rows // u.unit.m), range(0, rows.width, 64))
//% set wide = [64, rows.width - c] | min
//% for n in range(u.unit.m * wide // 4 // u.unit.lanes)
//% set at = "(lane + %du)" % (n * u.unit.lanes)
//% set own = "row0 + subgroup * %du + %du + %s / %du" % (u.rows, i * u.unit.m, at, wide // 4)
//% set row = "%s + min(%s, %s - 1u)" % (rows.base, own, rows.limit)
//% set cell = "(%s) * %du + %du + %s %% %du" % (row, rows.width // 4, c // 4, at, wide // 4)
  let {{ rows.name }}at{{ i }}_{{ c }}_{{ n }} = {{ rows.buffer }}[{{ cell }}];
//% endfor
//% endfor
{%- endmacro %}

//# name<i>_<k>
{% macro hold(u, rows) -%}
//% for i, c in product(range(u.rows // u.unit.m), range(0, rows.width, 64))
//% set wide, lies = [64, rows.width - c] | min, on.left_at(u, rows.name, i)
  workgroupBarrier();
//% for n in range(u.unit.m * wide // 4 // u.unit.lanes)
//% set at = "(lane + %du)" % (n * u.unit.lanes)
{{ on.put(u, "%s + %s / %du * %du + %s %% %du * 4u" % (lies, at, wide // 4, 64 + u.pad, at, wide // 4), "%sat%d_%d_%d" % (rows.name, i, c, n)) }}
//% endfor
  workgroupBarrier();
//% for k in range(0, wide, u.unit.k)
{{ units.fragment(u.unit, "%s%d_%d" % (rows.name, i, (c + k) // u.unit.k), "left", "%s + %du" % (lies, k), 64 + u.pad, false) }}
//% endfor
//% endfor
{%- endmacro %}

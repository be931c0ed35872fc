//# Loops over the summed places of a contraction by their number of turns, as text around what a turn does.
//# the loop over the summed places from `begin` to `end`, which is behind it; see matrix.LOOP
{% macro loop(form, many, turn) -%}
//% if form == "for"
  for (var k0 = begin; k0 < end; k0 += {{ turn }}u) {
//% else
//% set turns = "(end - begin) / %du" % (turn * many) if many > 1 else "(end - begin + %du) / %du" % (turn - 1, turn)
  let turns = {{ turns }}{{ " * %du" % many if many > 1 and form != "nested" }};
//% if form == "while"
  var left = turns;
  loop {
//% else
  for (var left = turns; left > 0u; left--) {
  {{ "for (var i = 0u; i < %du; i++) {" % many if form == "nested" }}
//% endif
//% endif
{%- endmacro %}
{% macro loop_end(form) -%}
//% if form == "while"
    continuing {
      left--;
      break if left == 0u;
    }
//% endif
  {{ "}" if form == "nested" }}
  }
{%- endmacro %}

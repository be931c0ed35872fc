//# attention_units.wgsl with less waiting: between the same two barriers a subgroup makes the scores of the next block of
//# keys, turns those of this one into weights, and multiplies the values of the last one by theirs. Scores are scaled within
//# the exponentials' arguments; queries whose scale is negative change their signs.
//% extends "attention_units.wgsl"
//% import "attend_units.wgsl" as on
//% import "attend_ahead.wgsl" as by_turns
//% block enables
{{ super() }}
//% if u.bare and u.unit.kind != "plain"
enable chromium_disable_uniformity_analysis;
//% endif
//% endblock
//% block blocks
//% for i in range(u.rows // u.unit.m)
{{ on.left(u, "p%d_0" % i) }}
//% endfor
{{ on.declare(u, "k", d) }}
{{ on.declare(u, "v", e) }}
{{ on.stage(u, "v", u.values, e) }}
{{ on.fetch(u, "k", "in1", d, "0u") }}
{{ by_turns.ask(u, 4 * d, not (o.softcap or o.bias)) }}
{{ on.stage(u, "k", 0, d) }}
{{ on.fetch(u, "k", "in1", d, "%du" % u.keys) }}
{{ on.fetch(u, "v", "in2", e, "0u", zero=true) }}
{{ by_turns.hold(u, 4 * d) }}
  {
{{ on.dots(u, 4 * d) }}
  workgroupBarrier();
{{ on.stage(u, "k", 0, d) }}
{{ on.fetch(u, "k", "in1", d, "%du" % (2 * u.keys)) }}
{{ on.keep(u) }}
  }
  for (var turn = 0u; turn < end; turn += {{ u.turns * u.keys }}u) {
//% for t in range(u.turns)
    {
      let first = turn + {{ t * u.keys }}u;
{{ by_turns.block(u, o, d, e) }}
    }
//% endfor
  }
  workgroupBarrier();
{{ by_turns.values(u, 4 * e, []) }}
//% endblock

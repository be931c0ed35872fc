//# attention_units.wgsl with less waiting: between the same two barriers a subgroup makes the scores of the next block of
//# keys, turns those of this one into weights, and multiplies the values of the last one by theirs. Scores are scaled within
//# the exponentials' arguments; queries whose scale is negative change their signs.
//% extends "attention_units.wgsl"
//% import "attend_units.wgsl" as on
//% import "attend_products.wgsl" as products
//% import "attend_left.wgsl" as left
//% import "attend_ahead.wgsl" as by_turns
//% block enables
{{ super() }}
//% if u.bare and u.unit.kind != "plain"
enable chromium_disable_uniformity_analysis;
//% endif
//% endblock
//% block blocks
//% set folded = not (o.softcap or o.bias)
//% set queries = {"buffer": "in0", "name": "q", "base": "head * p.queries", "limit": "p.queries", "width": 4 * d, "flip": "flip ^ " if folded else ""}
//% if folded
  let flip = vec2<u32>(select(0u, 0x80008000u, p.score < 0.0));
//% endif
//% for i in range(u.rows // u.unit.m)
{{ products.left(u, "p%d_0" % i) }}
//% endfor
{{ on.declare(u, "k", d) }}
{{ on.declare(u, "v", e) }}
{{ on.stage(u, "v", u.values, e) }}
{{ on.fetch(u, "k", "in1", d, "0u") }}
{{ left.ask(u, queries) }}
{{ on.stage(u, "k", 0, d) }}
{{ on.fetch(u, "k", "in1", d, "%du" % u.keys) }}
//% if not u.near
{{ on.fetch(u, "v", "in2", e, "0u", zero=true) }}
//% endif
{{ left.hold(u, queries) }}
  {
{{ products.dots(u, 4 * d) }}
  workgroupBarrier();
{{ on.stage(u, "k", 0, d) }}
//% if not u.near
{{ on.fetch(u, "k", "in1", d, "%du" % (2 * u.keys)) }}
//% endif
{{ products.keep(u) }}
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

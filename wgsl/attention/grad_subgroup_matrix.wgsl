//# The gradients of attention/subgroup_matrix.wgsl by queries, keys or values (`of`): a subgroup has rows of queries or of keys as
//# fragments and meets blocks of the others. Scores are made again, and weights of them by known norms; weights and the slopes of scores are
//# multiplied by the same blocks, read the other way.
//# The slopes of scores become float16, so a small gradient is scaled up by a power of two first.
//% extends "launch.wgsl"
//% import "attention/_subgroup_memory.wgsl" as on
//% import "attention/_subgroup_products.wgsl" as products
//% import "attention/_subgroup_softmax.wgsl" as by_row
//% import "attention/_scores.wgsl" as scoring
//% import "attention/_subgroup_store.wgsl" as lines
//% import "lib/subgroup_matrix.wgsl" as units
//% block enables
{{ on.enables(u) }}
//% endblock
//% block builtins
{{ units.builtins(u.unit) }}
//% endblock
//% block shared
{{ units.memory(u.unit, u.elements, 0) }}
var<workgroup> sides: array<vec2<f32>, {{ 3 * u.keys // 2 }}>;
//% endblock
//% block work
//% set by_query = of == "query"
//# what is summed: vec4s a row, the block that is weighed, a factor
//% set wide, weighed, factor = (e, u.values, "1.0") if of == "value" else (d, 0, "p.scale")
//% set T, q = wgsl(dtypes[0], 4), {"base": "head * p.queries", "limit": "p.queries"}
//% set k = {"base": "kv * p.keys", "limit": "p.keys"}
//% set own, other = (q, k) if by_query else (k, q)
//% set first_side = dict(own, name="q", buffer="in0" if by_query else "in1", width=4 * d)
//% set second_side = dict(own, name="g", buffer="in3" if by_query else "in2", width=4 * e)
//% set first_other, second_other = ("in1", "in2") if by_query else ("in0", "in3")
//% set lines_first = o.causal and by_query
  let line = {{ "group % p.lines" if o.causal else "group / p.blocks" }};
  let block = {{ "p.blocks - 1u - group / p.lines" if lines_first else "group / p.lines" if o.causal else "group % p.blocks" }};
  let row0 = block * {{ u.height }}u;
{{ on.views(u) }}
{{ scoring.begin(o) }}
  let {{ "query" if by_query else "key" }} = row0 + subgroup * {{ u.rows }}u + lane;
  let own = strip + lane * {{ u.pitch }}u;
//% if by_query
  let head = line;
  let kv = head / p.group;
  let side = (head * p.queries + min(query, p.queries - 1u)) * 3u;
  let top = in4[side] * 1.4426950408889634;
  let total = in4[side + 1u] * 1.4426950408889634;
  let delta = in4[side + 2u];
  let start = 0u;
  let end = {{ "min(p.keys, row0 + %du)" % u.height if o.causal else "p.keys" }};
//% else
  let kv = line;
  let start = {{ "row0 / %du * %du" % (u.keys, u.keys) if o.causal else "0u" }};
  let end = p.queries;
//% endif
{{ units.result(u.unit, "o%d_%d" % (i, j)) }} //% for i, j in product(range(u.rows // u.unit.m), range(0, 4 * wide, u.unit.n))
{{ on.declare(u, "k", d) }}
{{ on.declare(u, "v", e) }}
{{ on.ask(u, first_side) }}
{{ on.hold(u, first_side) }}
{{ on.ask(u, second_side) }} //% if of != "value"
{{ on.hold(u, second_side) }} //% if of != "value"
  {{ "{" if by_query else "for (var head = kv * p.group; head < (kv + 1u) * p.group; head += 1u) {" }}
{{ scoring.bias_head(o) }}
{{ on.places(u, "k", d, other.base, "start", other.limit) }}
//% set of_v = "k" if d == e else "v"
{{ on.places(u, "v", e, other.base, "start", other.limit) }} //% if d != e
{{ on.bring(u, "k", "k", first_other, d) }}
{{ on.bring(u, "v", of_v, second_other, e) }}
  for (var first = start; first < end; first += {{ u.keys }}u) {
    let seen = {{ "min(p.keys, row0 + 1u)" if o.causal else "p.keys" }}; //% if by_query
    let seen = {{ "select(0u, p.queries, first >= row0 + %du)" % u.height if o.causal else "p.queries" }}; //% if not by_query
    workgroupBarrier();
{{ on.stage(u, "k", 0, d) }}
{{ on.stage(u, "v", u.values, e) }}
    if (lid.x < {{ 3 * u.keys }}u) { //% if not by_query
      let side = in4[(head * p.queries + min(first + lid.x % {{ u.keys }}u, p.queries - 1u)) * 3u + lid.x / {{ u.keys }}u];
      sides[lid.x / 2u][lid.x % 2u] = side;
    }
{{ on.next(u, "k", d) }}
{{ on.next(u, "v", e) }} //% if d != e
{{ on.bring(u, "k", "k", first_other, d) }}
{{ on.bring(u, "v", of_v, second_other, e) }}
    workgroupBarrier();
    {
{{ products.dots(u, 4 * d) }}
{{ products.keep(u) }}
{{ products.dots(u, 4 * e, "z", "g", u.values) }} //% if of != "value"
{{ products.keep(u, "z", u.keys) }} //% if of != "value"
    }
    workgroupBarrier();
    {
{{ by_row.read(u) }}
{{ by_row.scores(u, o, scoring.MASKED, "query" if by_query else "key", of != "value") }}
//% for c in range(u.keys // 2)
//% set top = "top" if by_query else "sides[%s] * 1.4426950408889634" % on.pair(c)
//% set total = "total" if by_query else "sides[%s + %du] * 1.4426950408889634" % (on.pair(c), u.keys // 2)
      s{{ c }} = exp2(min(s{{ c }} - {{ top }}, vec2<f32>(0)) - {{ total }});
//% endfor
//% if of != "value"
{{ by_row.read(u, "z", u.keys) }}
//% for c in range(u.keys // 2)
      s{{ c }} *= (z{{ c }} - {{ "delta" if by_query else "sides[%s + %du]" % (on.pair(c), u.keys) }}){{ " * t%d" % c if o.softcap }};
//% endfor
//% endif
{{ by_row.weights(u) }}
    }
    workgroupBarrier();
    {
{{ products.weights(u) }}
{{ products.sums(u, 4 * wide, weighed) }}
    }
  }
  }
{{ products.through(u, j) }} //% for j in range(0, 4 * wide, u.unit.n)
{{ lines.write(u, T, own.base, own.limit, wide, j, factor) }} //% same
//% endblock

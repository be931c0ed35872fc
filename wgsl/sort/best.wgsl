//# The k first of each piece of a row in order, a workgroup a piece. The k-th of the threads' own firsts bounds what
//# can be among them: at most k threads have elements up to it, so few candidates are left to be ranked.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//% block shared
var<workgroup> keys: array<u32, {{ candidates }}>;
var<workgroup> places: array<u32, {{ candidates }}>;
var<workgroup> first_keys: array<u32, 256>;
var<workgroup> first_places: array<u32, 256>;
var<workgroup> bound: array<u32, 4>;
var<workgroup> count: array<atomic<u32>, 4>;
//% endblock
//# 1 if an element comes before another: by its key, then by its place
{% macro before(key, place, key2, place2) -%}
  u32(({{ key }} < {{ key2 }}) | (({{ key }} == {{ key2 }}) & ({{ place }} < {{ place2 }}))){%- endmacro %}
//% block work
//% set T = wgsl(dtype, 1)
  let t = lid.x;
  let base = group / p.pieces * p.n;
  let begin = group % p.pieces * p.piece;
  let end = min(begin + p.piece, p.n);
// places past the end have the last of all keys
//% for j in range(each)
  let i{{ j }} = begin + t + {{ j * 256 }}u;
  var key{{ j }} = 0xffffffffu;
  if (i{{ j }} < end) {
    key{{ j }} = {{ sorting.key(T, "value_at(base + i%d)" % j, descending) if first else "in0[base + i%d].x" % j }};
  }
//% endfor
  var own = key0;
  var place = i0;
//% for j in range(1, each)
  place = select(place, i{{ j }}, key{{ j }} < own);
  own = min(own, key{{ j }});
//% endfor
  first_keys[t] = own;
  first_places[t] = place;
  if (t == 0u) {
    atomicStore(&count[0], 0u);
  }
  workgroupBarrier();
  var rank = 0u;
  for (var s = 0u; s < 256u; s += 8u) {
    rank += {{ before("first_keys[s + %du]" % j, "first_places[s + %du]" % j, "own", "place") }}; //% for j in range(8)
  }
  if (rank == p.k - 1u) {
    bound[0] = own;
    bound[1] = place;
  }
  workgroupBarrier();
  let most = bound[0];
  let last_place = bound[1];
//% for j in range(each)
  if ((key{{ j }} < most) | ((key{{ j }} == most) & (i{{ j }} <= last_place))) {
    let slot = atomicAdd(&count[0], 1u);
    keys[slot] = key{{ j }};
    places[slot] = i{{ j }};
  }
//% endfor
  workgroupBarrier();
  let found = atomicLoad(&count[0]);
  for (var c = t; c < found; c += 256u) {
    let key = keys[c];
    let at = places[c];
    var to = 0u;
    for (var s = 0u; s < found; s++) {
      to += {{ before("keys[s]", "places[s]", "key", "at") }};
    }
    if (to < p.k) {
//% set where = "at" if first else "in0[base + at].y"
      out[group * p.k + to] = i32({{ where }}); //% if last
      out[group * p.k + to] = vec2<u32>(key, select(0u, {{ where }}, at < end)); //% if not last
    }
  }
//% endblock

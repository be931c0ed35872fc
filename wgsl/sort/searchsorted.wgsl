//# Each value's place in a sorted row, by halving what is left of it.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  let x = value_at(i);
  let wanted = {{ T.call("sort_key") }}(x);
  var low = (i / p.m) * p.step;
  let first = low;
  var left = p.n;
  while (left > 0u) {
    let half = left / 2u;
    let cell = {{ T.load("in0", "low + half", 1) }};
    let key = {{ T.call("sort_key") }}(cell);
    let above = {{ "key <= wanted" if right else "key < wanted" }};
    low = select(low, low + half + 1u, above);
    left = select(half, left - half - 1u, above);
  }
  out[i] = i32(low - first);
//% endblock

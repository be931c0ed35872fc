//# Connected components by union-find: `out` has for each pixel another of its component with a lower or equal number, -1 outside
//# of all. Three launches: each pixel begins alone; neighbours are joined; each pixel finds the lowest. A thread a pixel.
//% extends "launch.wgsl"
//% block shared
fn find(start: i32) -> i32 { //% if step != "begin"
  var at = start;
  loop {
    let parent = atomicLoad(&out[at]);
    if (parent == at) {
      break;
    }
    at = parent;
  }
  return at;
}
fn join(first: i32, second: i32) { //% if step == "join"
  var a = first;
  var b = second;
  loop {
    a = find(a);
    b = find(b);
    if (a == b) {
      break;
    }
    let high = max(a, b);
    let low = min(a, b);
    let old = atomicMin(&out[high], low);
    // another thread may have joined `high` before: then that one is joined with `low`
    if (old == high) {
      break;
    }
    a = old;
    b = low;
  }
}
//% endblock
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.size) {
    atomicStore(&out[i], select(-1, i32(i), in0[i] != 0)); //% if step == "begin"
    if (in0[i] != 0) { //% if step != "begin"
      atomicStore(&out[i], find(i32(i))); //% if step == "flatten"
      let x = i % p.width; //% if step == "join"
      let y = (i / p.width) % p.height; //% if step == "join"
      if (x > 0u && in0[i - 1u] != 0) { //% if step == "join"
        join(i32(i), i32(i - 1u));
      }
      if (y > 0u && in0[i - p.width] != 0) { //% if step == "join"
        join(i32(i), i32(i - p.width));
      }
      if (x > 0u && y > 0u && in0[i - p.width - 1u] != 0) { //% if step == "join" and diagonal
        join(i32(i), i32(i - p.width - 1u));
      }
      if (x + 1u < p.width && y > 0u && in0[i - p.width + 1u] != 0) { //% if step == "join" and diagonal
        join(i32(i), i32(i - p.width + 1u));
      }
    }
  }
//% endblock

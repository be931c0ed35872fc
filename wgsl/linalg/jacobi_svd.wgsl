//# Sweeps over the columns of a [n, n]: the state is [size, n + size], a column of the matrix and one of V in each row.
//% extends "launch.wgsl"
//% import "linalg/_jacobi.wgsl" as jacobi
//% block shared
var<workgroup> parts: array<vec3<f32>, {{ workgroup[0] }}>;
{{ jacobi.declarations(workgroup[0]) }}
//% endblock
//% block work
  if (group >= p.count) {
    return;
  }
  let size = p.size;
  let wide = p.n + size;
  let last = size * wide;
  let base = group * (last + 2u);
  for (var i = lid.x; i < last; i += {{ workgroup[0] }}u) {
    let r = i / wide; //% if first
    let c = i % wide; //% same
    var x = select(0.0, 1.0, c == p.n + r); //% same
    if ((c < p.n) & (r < p.n)) { //% same
      x = in0[(group * p.n + c) * p.n + r];
    }
    let x = in0[base + i]; //% else
    out[base + i] = x;
  }
  storageBarrier();
{{ jacobi.begin(first) }}
  let team = lid.x / p.team;
  let member = lid.x % p.team;
  let teams = {{ workgroup[0] }}u / p.team;
  for (var sweep = 0u; sweep < sweeps; sweep++) {
    var turns = 0u;
    for (var round = p.start; round < p.stop; round++) {
      for (var start = 0u; start < size / 2u; start += teams) {
        let q = pair_of(min(start + team, size / 2u - 1u), round);
        let low = base + q.x * wide;
        let high = base + q.y * wide;
        var dots = vec3<f32>(0.0, 0.0, 0.0);
        for (var i = member; i < p.n; i += p.team) {
          let x = out[low + i];
          let y = out[high + i];
          dots += vec3<f32>(x * x, y * y, x * y);
        }
        parts[lid.x] = dots;
        workgroupBarrier();
        dots = vec3<f32>(0.0, 0.0, 0.0);
        for (var s = 0u; s < p.team; s++) {
          dots += parts[team * p.team + s];
        }
        let off = abs(dots.z) > 1e-7 * sqrt(dots.x) * sqrt(dots.y);
        if (off & (start + team < size / 2u)) {
          turns += 1u;
          let found = rotation((dots.y - dots.x) / (2.0 * dots.z));
          for (var i = member; i < wide; i += p.team) {
            let both = rotated(out[low + i], out[high + i], found);
            out[low + i] = both.x;
            out[high + i] = both.y;
          }
        }
        storageBarrier();
        workgroupBarrier();
      }
    }
{{ jacobi.agree(workgroup[0]) }}
  }
{{ jacobi.end() }}
//% endblock

//# Sweeps over a symmetric [n, n], padded to [size, size]: the state is [2 * size, size], the matrix over V transposed.
//% extends "launch.wgsl"
//% import "linalg/_jacobi.wgsl" as jacobi
//% block shared
var<workgroup> turn: array<vec3<f32>, {{ pairs }}>;
var<workgroup> parts: array<f32, {{ workgroup[0] }}>;
{{ jacobi.declarations(workgroup[0]) }}
//% endblock
//% block work
  if (group >= p.count) {
    return;
  }
  let size = p.size;
  let last = 2u * size * size;
  let base = group * (last + 2u);
  let vectors = base + size * size;
  var part = 0.0;
  for (var i = lid.x; i < last; i += {{ workgroup[0] }}u) {
    let r = i / size; //% if first
    let c = i % size; //% same
    var x = 0.0; //% same
    if ((r < p.n) & (c < p.n)) { //% same
      let low = select(r * p.n + c, c * p.n + r, c > r);
      x = in0[group * p.n * p.n + low];
    }
    x = select(x, select(0.0, 1.0, r - size == c), r >= size); //% same
    let x = in0[base + i]; //% else
    out[base + i] = x;
    if (i < size * size) {
      part += x * x;
    }
  }
  parts[lid.x] = part;
  storageBarrier();
  workgroupBarrier();
  var squares = 0.0;
  for (var s = 0u; s < {{ workgroup[0] }}u; s++) {
    squares += parts[s];
  }
  let small = 6e-8 * sqrt(squares / f32(size));
  let half = size / 2u;
{{ jacobi.begin(first) }}
  for (var sweep = 0u; sweep < sweeps; sweep++) {
    var turns = 0u;
    for (var round = p.start; round < p.stop; round++) {
      for (var t = lid.x; t < half; t += {{ workgroup[0] }}u) {
        let q = pair_of(t, round);
        let off = out[base + q.x * size + q.y];
        var found = vec3<f32>(0.0, 0.0, 0.0);
        if (off != 0.0) {
          found = rotation((out[base + q.y * size + q.y] - out[base + q.x * size + q.x]) / (2.0 * off));
        }
        turns += select(0u, 1u, abs(off) > small);
        turn[t] = found;
      }
      storageBarrier();
      workgroupBarrier();
      for (var i = lid.x; i < half * half; i += {{ workgroup[0] }}u) {
        let q = pair_of(i / half, round);
        let w = pair_of(i % half, round);
        let left = turn[i / half];
        let right = turn[i % half];
        let a = out[base + q.x * size + w.x];
        let b = out[base + q.x * size + w.y];
        let c = out[base + q.y * size + w.x];
        let d = out[base + q.y * size + w.y];
        let one = rotated(a, c, left);
        let two = rotated(b, d, left);
        let low = rotated(one.x, two.x, right);
        let high = rotated(one.y, two.y, right);
        let same = i / half == i % half;  // the rotation was chosen to make b zero
        out[base + q.x * size + w.x] = select(low.x, a - left.z * b, same);
        out[base + q.x * size + w.y] = select(low.y, 0.0, same);
        out[base + q.y * size + w.x] = select(high.x, 0.0, same);
        out[base + q.y * size + w.y] = select(high.y, d + left.z * b, same);
      }
      for (var i = lid.x; i < half * size; i += {{ workgroup[0] }}u) {
        let q = pair_of(i / size, round);
        let low = vectors + q.x * size + i % size;
        let high = vectors + q.y * size + i % size;
        let both = rotated(out[low], out[high], turn[i / size]);
        out[low] = both.x;
        out[high] = both.y;
      }
      storageBarrier();
      workgroupBarrier();
    }
{{ jacobi.agree(workgroup[0]) }}
  }
{{ jacobi.end() }}
//% endblock

//# [rows, cols] -> [rows, cols + 2]: L below the diagonal and U above, then the order of rows, then the pivots (from 1).
//% extends "launch.wgsl"
//% block shared
var<workgroup> largest: array<f32, {{ searchers }}>;
var<workgroup> place: array<u32, {{ searchers }}>;
//% endblock
//% block work
  if (group >= p.count) {
    return;
  }
  let wide = p.cols + 2u;
  let base = group * p.rows * wide;
  for (var i = lid.x; i < p.rows * wide; i += {{ workgroup[0] }}u) {
    let r = i / wide;
    let c = i % wide;
    if (c < p.cols) {
      out[base + i] = value_at((group * p.rows + r) * p.cols + c);
    } else {
      out[base + i] = select(0.0, f32(r), c == p.cols);
    }
  }
  for (var k = 0u; k < min(p.rows, p.cols); k++) {
    storageBarrier();
    if (lid.x < {{ searchers }}u) {
      var most = -1.0;
      var at = k;
      for (var r = k + lid.x; r < p.rows; r += {{ searchers }}u) {
        let size = abs(out[base + r * wide + k]);
        if (size > most) {
          most = size;
          at = r;
        }
      }
      largest[lid.x] = most;
      place[lid.x] = at;
    }
    workgroupBarrier();
    var most = largest[0];
    var row = place[0];
    for (var s = 1u; s < min({{ searchers }}u, p.rows - k); s++) {
      if ((largest[s] > most) | ((largest[s] == most) & (place[s] < row))) {
        most = largest[s];
        row = place[s];
      }
    }
    for (var c = lid.x; c <= p.cols; c += {{ workgroup[0] }}u) {
      let here = out[base + k * wide + c];
      out[base + k * wide + c] = out[base + row * wide + c];
      out[base + row * wide + c] = here;
    }
    if (lid.x == 0u) {
      out[base + k * wide + p.cols + 1u] = f32(row + 1u);
    }
    storageBarrier();
    workgroupBarrier();
    let pivot = out[base + k * wide + k];
    for (var r = k + 1u + lid.x; r < p.rows; r += {{ workgroup[0] }}u) {
      var l = out[base + r * wide + k];
      if (pivot != 0.0) {  // else the column is zero
        l /= pivot;
      }
      out[base + r * wide + k] = l;
      for (var c = k + 1u; c < p.cols; c++) {
        out[base + r * wide + c] -= l * out[base + k * wide + c];
      }
    }
  }
//% endblock

//# Scans [outer, n, inner] over n, a thread a piece of a row, without barriers; `totals` leaves each piece's alone.
//% extends "whole.wgsl"
//% import "scanning.wgsl" as scan
//% block work
//% set T = wgsl(of, 1)
//% set S = scan.state(op, T)
//% set totals_in = "in1" if not functions else "in0"
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id >= p.threads) {
    return;
  }
  let column = id % p.inner;
  let piece = (id / p.inner) % p.pieces;
  let row = id / (p.inner * p.pieces);
  let first = row * p.n * p.inner + column;
  let from_ = piece * p.piece;
  let end = min(from_ + p.piece, p.n);
  var state = {{ S }}({{ scan.start[op](T) }});
//% if carried
  for (var k = 0u; k < piece; k++) {
    let other = {{ totals_in }}[(row * p.pieces + k) * p.inner + column];
    state = {{ scan.join[op](T, "state", "other") }};
  }
//% endif
  for (var i = from_; i < end; i++) {
    let at = first + i * p.inner;
    let x = {{ "value_at(at)" if functions else T.load("in0", "at", 1) }};
    let kept = {{ scan.keep[op](T, "x") }};
    let next = {{ scan.lift[op](T, "kept", "i") }};
    state = {{ scan.join[op](T, "state", "next") }};
//% if not totals
    out[at] = {{ scan.result[op](T, "state") }};
//% endif
  }
//% if totals
  out[id] = state;
//% endif
//% endblock

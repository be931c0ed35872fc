//# Scans [outer, n, inner] over n, a thread a piece of a row, without barriers; `totals` leaves each piece's alone.
//% extends "launch.wgsl"
//% import "scan/_monoids.wgsl" as scan
//% block work
//% set S = scan.state(op, T)
//% set totals_in = "in1" if not functions else "in0"
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id >= p.threads) {
    return;
  }
  // the piece of this thread
  let column = id % p.inner;
  let piece = (id / p.inner) % p.pieces;
  let row = id / (p.inner * p.pieces);
  let first = row * p.n * p.inner + column;
  let from_ = piece * p.piece;
  let end = min(from_ + p.piece, p.n);
  // join the pieces before it
  var state = {{ S }}({{ scan.start[op](T) }});
  for (var k = 0u; k < piece; k++) { //% if carried == "totals"
    let other = {{ totals_in }}[(row * p.pieces + k) * p.inner + column];
    state = {{ scan.join[op](T, "state", "other") }};
  }
  if (piece > 0u) { //% elif carried == "sums"
    state = {{ totals_in }}[(row * p.pieces + piece - 1u) * p.inner + column];
  }
  var i = from_;
  // scan it: four reads are under way at once
  for (; i + {{ turns - 1 }}u < end; i += {{ turns }}u) { //% for turns in (4, 1)
    let at{{ j }} = first + (i + {{ j }}u) * p.inner; //% for j in range(turns)
    let x{{ j }} = {{ "value_at(at%d)" % j if functions else T.load("in0", "at%d" % j, 1) }}; //% same
//% for j in range(turns)
    let kept{{ j }} = {{ scan.keep[op](T, "x%d" % j) }};
    let next{{ j }} = {{ scan.lift[op](T, "kept%d" % j, "(i + %du)" % j) }};
    state = {{ scan.join[op](T, "state", "next%d" % j) }};
    out[at{{ j }}] = {{ scan.result[op](T, "state") }}; //% if not totals
//% endfor
  }
  out[id] = state; //% if totals
//% endblock

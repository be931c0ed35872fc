//# The total of each piece of each row, a workgroup a piece: what the pieces after it start from.
//% extends "launch.wgsl"
//% import "scan/_monoids.wgsl" as scan
//% block shared
var<workgroup> sums: array<{{ scan.state(op, wgsl(dtype, 1)) }}, 256>;
//% endblock
//% block work
  let row = group / p.pieces;
  let first = row * p.stretch;
  let begin = min(first + (group % p.pieces) * p.piece, p.size);
  let end = min(min(first + p.stretch, begin + p.piece), p.size);
//# four sums a thread, so that four reads are under way at once
  var sum{{ j }} = {{ scan.state(op, T) }}({{ scan.start[op](T) }}); //% for j in range(4)
  for (var base = begin; base < end; base += 1024u) {
    let i{{ j }} = base + {{ j * 256 }}u + lid.x; //% for j in range(4)
    if (i{{ j }} < end) { //% same
      let x = {{ "value_at(i%d)" % j if functions else T.load("in0", "i%d" % j, 1) }};
      let kept = {{ scan.keep[op](T, "x") }};
      let next = {{ scan.lift[op](T, "kept", "(i%d - first)" % j) }};
      sum{{ j }} = {{ scan.join[op](T, "sum%d" % j, "next") }};
    }
  }
  sum0 = {{ scan.join[op](T, "sum0", "sum%d" % j) }}; //% for j in range(1, 4)
{{ scan.total(op, T, "sum0") }}
  if (lid.x == 0u) {
    out[group] = sum0;
  }
//% endblock

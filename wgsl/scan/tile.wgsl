//# Scans rows in tiles of 8 elements a thread: a workgroup takes a piece of a long row, or (segmented) several short ones.
//% extends "launch.wgsl"
//% import "scan/_monoids.wgsl" as scan
//% block shared
var<workgroup> tile: array<{{ scan.kept(op, T) }}, 2112>;
// two halves that take turns, so that each round of the tree needs one barrier
var<workgroup> sums: array<{{ scan.state(op, T) }}, 512>;
var<workgroup> heads: array<u32, 512>; //% if segmented
//% endblock
//% block work
//% set S = scan.state(op, T)
//% set empty = S ~ "(" ~ scan.start[op](T) ~ ")"
//% set totals_in = "in1" if not functions else "in0"
  // the piece of this workgroup
  let t = lid.x;
  let row = group / p.pieces;
// the pieces read last by the launch before, which may still be in a cache, come first
  let piece = p.pieces - 1u - group % p.pieces;
  let first = row * p.stretch;
  let begin = min(first + piece * p.piece, p.size);
  let end = min(min(first + p.stretch, begin + p.piece), p.size);
  // join the pieces before it
  var carry = {{ empty }};
  for (var k = t; k < piece; k += 256u) { //% if carried
    let other = {{ totals_in }}[row * p.pieces + k];
    carry = {{ scan.join[op](T, "carry", "other") }};
  }
{{ scan.total(op, T, "carry") }} //% if carried
  // 2048 elements at a time
  for (var base = begin; base < end; base += 2048u) {
    // load neighbours by neighbouring threads
    let i{{ j }} = base + {{ j * 256 }}u + t; //% for j in range(8)
    if (i{{ j }} < end) { //% same
      let x = {{ "value_at(i%d)" % j if functions else T.load("in0", "i%d" % j, 1) }};
      tile[{{ j * 264 }}u + t + (t >> 5u)] = {{ scan.keep[op](T, "x") }};
    }
    workgroupBarrier();
    var place = (base - first + t * 8u) % p.n; //% if segmented
    var open = 8u; //% same
    let place = base - first + t * 8u; //% else
    // scan eight elements a thread, then the threads
    var run = {{ empty }};
//% for j in range(8)
    let kept{{ j }} = tile[t * 8u + (t >> 2u) + {{ j }}u];
    let next{{ j }} = {{ scan.lift[op](T, "kept%d" % j, "place" if segmented else "(place + %du)" % j) }};
    if (place == 0u) { //% if segmented
      run = {{ empty }};
      open = min(open, {{ j }}u);
    }
    place = select(place + 1u, 0u, place + 1u == p.n); //% if segmented
    run = {{ scan.join[op](T, "run", "next%d" % j) }};
    let run{{ j }} = run;
//% endfor
    sums[t] = run;
    heads[t] = u32(open < 8u); //% if segmented
    workgroupBarrier();
{{ scan.tree(op, T, segmented) }}
    // join the elements before this thread, and write
    let left = sums[max(t, 1u) - 1u];
    let led = {{ scan.join[op](T, "carry", "left") }};
    let lead = select(carry, led, t > 0u);
    let led{{ j }} = {{ scan.join[op](T, "lead", "run%d" % j) }}; //% for j in range(8)
    let done{{ j }} = {{ "select(run%d, led%d, %du < open)" % (j, j, j) if segmented else "led%d" % j }}; //% same
    tile[t * 8u + (t >> 2u) + {{ j }}u] = {{ scan.store(op, T, "done%d" % j) }}; //% same
    let all = sums[255];
    workgroupBarrier();
    if (i{{ j }} < end) { //% for j in range(8)
      out[i{{ j }}] = {{ scan.made(op, T) }}(tile[{{ j * 264 }}u + t + (t >> 5u)]);
    }
    carry = {{ scan.join[op](T, "carry", "all") }};
    workgroupBarrier();
  }
//% endblock

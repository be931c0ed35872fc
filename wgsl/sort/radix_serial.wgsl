//# A pass of a radix sort by four bits without barriers, a thread a piece of a row: its counts, or its moves.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//% block work
//% set table = "in0" if first else "in1"
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id >= p.threads) {
    return;
  }
  // the piece of this thread
  let row = id / p.pieces;
  let piece = id % p.pieces;
  let begin = min(piece * p.piece, p.n);
  let end = min(begin + p.piece, p.n);
  var c{{ j }} = vec4<u32>(0u); //% for j in range(4) if counting
//% for j in range(4) if not counting
  var c{{ j }} = vec4<u32>(
    {{ sorting.begin_of("%du" % (j * 4 + k), "row", "piece", table) }}{{ "," if k < 3 }} //% for k in range(4)
  ) + vec4<u32>(row * p.n);
//% endfor
  // {{ "count the digits" if counting else "write each element behind those with smaller digits" }}
  for (var i = begin; i < end; i++) {
    let at = row * p.n + i;
    let it = {{ sorting.pair(T, "at", "i", descending, first) }};
    let digit = (it.x >> p.shift) & 15u;
    let one{{ j }} = select(vec4<u32>(0u), vec4<u32>(1u), {{ sorting.is_digit("digit", j) }}); //% for j in range(4)
    let sum = c0 * one0 + c1 * one1 + c2 * one2 + c3 * one3; //% if not counting
    out[sum.x + sum.y + sum.z + sum.w] = {{ "i32(it.y)" if last else "it" }}; //% if not counting
    c{{ j }} += one{{ j }}; //% for j in range(4)
  }
  out[(row * 16u + {{ j * 4 + k }}u) * p.pieces + piece] = c{{ j }}.{{ "xyzw"[k] }}; //% for j, k in product(range(4), range(4)) if counting
//% endblock

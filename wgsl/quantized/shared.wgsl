//# Products of some vectors with rows of 8- or 4-bit weights, over one piece of the rows: a workgroup brings the next
//# part of the vectors into its memory in the order in which its lanes need it, while each thread's next cells of four
//# rows are under way.
//% extends "launch.wgsl"
//% import "quantized/_unpack.wgsl" as weights
//% set X, S, B = wgsl(dtypes[0], 4), wgsl(dtypes[2], 1), wgsl(dtypes[3], 1) if biased else none
//% set per, fours, threads, pitch = 128 // bits, 32 // bits, lanes * lines, 32 // bits * ahead * (lanes + 1)
//% set held = [vectors * pitch, threads] | max
//% block shared
//# first of the vectors, a line of lanes for each four of a cell, then of the sums
var<workgroup> sums: array<vec4<f32>, {{ held }}>;
//% endblock
//% block work
  // the rows and vectors of this thread
  let lane = lid.x % {{ lanes }}u;
  let row = ((group % p.lines) * {{ lines }}u + lid.x / {{ lanes }}u) * 4u;
  let first = (group / p.lines % p.columns) * {{ vectors }}u;
  let piece = group / (p.lines * p.columns);
  if (piece >= p.parts) {
    return;
  }
  let end = min(piece * p.long + p.long, p.chunks);
  let row{{ r }} = min(row + {{ r }}u, p.n - 1u); //% for r in range(4)
  let from{{ v }} = min(first + {{ v }}u, p.m - 1u) * p.chunks * {{ per }}u; //% for v in range(vectors)
  var acc{{ v }} = vec4<f32>(); //% same
  // a cell of weights a thread at a time
  for (var chunk = piece * p.long; chunk < end; chunk += {{ lanes * ahead }}u) {
//% for u in range(ahead)
    let ok{{ u }} = chunk + lane + {{ u * lanes }}u < end;
    let at{{ u }} = select(0u, chunk + lane + {{ u * lanes }}u, ok{{ u }});
    let cell{{ u }}_{{ r }} = in1[row{{ r }} * p.chunks + at{{ u }}]; //% for r in range(4)
    let scale{{ u }}_{{ r }} = {{ S.load("in2", "row%d * p.blocks + at%d / %du" % (r, u, each), 1) }}; //% for r in range(4)
//% endfor
    // the vectors into workgroup memory
    let left = (end - chunk) * {{ fours }}u;
    workgroupBarrier();
    for (var four = lid.x; four < {{ ahead * lanes * fours }}u; four += {{ threads }}u) {
      let inside = four < left;
      let place = chunk * {{ per }}u + select(0u, four, inside) * 4u;
      let lies = (four / {{ lanes * fours }}u * {{ fours }}u + four % {{ fours }}u) * {{ lanes + 1 }}u + four / {{ fours }}u % {{ lanes }}u;
      sums[lies + {{ v * pitch }}u] = select(vec4<f32>(), {{ X.load("in0", "from%d + place" % v, 4) }}, inside); //% for v in range(vectors)
    }
    workgroupBarrier();
    { //% for u in range(ahead)
      let scales = select(vec4<f32>(), vec4<f32>({% for r in range(4) %}scale{{ u }}_{{ r }}, {% endfor %}), ok{{ u }});
{{ weights.cells(u, vectors, bits, lanes, ahead) }}
    }
  }
  // join the threads of a row, and write
//% set many = held // threads
  workgroupBarrier(); //% for v in range(0, vectors, many)
{{ weights.joined([many, vectors - v] | min, lanes, lines, v) }} //% same
{{ weights.written(vectors, B, "piece * p.m + " if parts else "") }}
//% endblock

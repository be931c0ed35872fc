//# Scans rows in tiles of two halves, in each of which a thread takes four neighbours as a vec4: a workgroup takes a piece
//# of a long row, or (segmented) several short ones. Little workgroup memory, so that many share a core of the GPU.
//% extends "launch.wgsl"
//% import "scan/_monoids.wgsl" as scan
//% block shared
//% set W = wgsl(dtype, 2)
// two halves that take turns, so that each round of the tree needs one barrier
var<workgroup> sums: array<{{ W }}, 512>;
var<workgroup> heads: array<vec2<u32>, 512>; //% if segmented
var<workgroup> totals: array<{{ wgsl(dtype, 1) }}, 256>;
//% endblock
//% block work
//% set T, W = wgsl(dtype, 1), wgsl(dtype, 2)
//% set F, empty = wgsl(dtype, 4), T ~ "(" ~ scan.start[op](T) ~ ")"
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
    let other = in0[row * p.pieces + k];
    carry = {{ scan.join[op](T, "carry", "other") }};
  }
{{ scan.total(op, T, "carry", "totals") }} //% if carried
  // 2048 elements at a time
  for (var base = begin; base < end; base += 2048u) {
    let at{{ h }} = base + {{ 1024 * h }}u + t * 4u; //% for h in range(2)
    var four{{ h }} = {{ F }}({{ empty }}); //% same
    if (at{{ h }} < end) { //% same
      four{{ h }} = values_at(at{{ h }});
    }
//% for h in range(2)
    var sum{{ h }} = {{ empty }};
    var place{{ h }} = (at{{ h }} - first) % p.n; //% if segmented
    var open{{ h }} = 4u; //% if segmented
//% for j in range(4)
    let next{{ h }}{{ j }} = four{{ h }}.{{ "xyzw"[j] }};
    if (place{{ h }} == 0u) { //% if segmented
      sum{{ h }} = {{ empty }};
      open{{ h }} = min(open{{ h }}, {{ j }}u);
    }
    place{{ h }} = select(place{{ h }} + 1u, 0u, place{{ h }} + 1u == p.n); //% if segmented
    sum{{ h }} = {{ scan.join[op](T, "sum%d" % h, "next%d%d" % (h, j)) }};
    let run{{ h }}{{ j }} = sum{{ h }};
//% endfor
//% endfor
    // scan the sums of the threads
    var run = {{ W }}(sum0, sum1);
    sums[t] = run;
    heads[t] = vec2<u32>(u32(open0 < 4u), u32(open1 < 4u)); //% if segmented
    workgroupBarrier();
{{ scan.tree(op, W, segmented) }}
    let left = sums[max(t, 1u) - 1u];
    let all = sums[255];
    let led0 = {{ scan.join[op](T, "carry", "left.x") }};
    let lead0 = select(carry, led0, t > 0u);
    let half = {{ "all.x" if segmented else scan.join[op](T, "carry", "all.x") }};
    let led1 = {{ scan.join[op](T, "half", "left.y") }};
    let own = select(led1, left.y, heads[max(t, 1u) - 1u].y != 0u); //% if segmented
    let lead1 = select(half, own, t > 0u); //% same
    let lead1 = select(half, led1, t > 0u); //% else
//% for h in range(2)
    let far{{ h }}{{ j }} = {{ scan.join[op](T, "lead%d" % h, "run%d%d" % (h, j)) }}; //% for j in range(4)
    let done{{ h }}{{ j }} = {{ "select(run%d%d, far%d%d, %du < open%d)" % (h, j, h, j, j, h) if segmented else "far%d%d" % (h, j) }}; //% same
    if (at{{ h }} < end) {
      out[at{{ h }} / 4u] = {{ F }}(done{{ h }}0, done{{ h }}1, done{{ h }}2, done{{ h }}3);
    }
//% endfor
    carry = {{ scan.join[op](T, "half", "all.y") }};
    workgroupBarrier();
  }
//% endblock

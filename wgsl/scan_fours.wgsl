//# Scans rows in tiles of 8 neighbours a thread, read and written as vec4s: a workgroup takes a piece of a long row, or
//# (segmented) several short ones. Little workgroup memory, so that many workgroups share a core of the GPU.
//% extends "whole.wgsl"
//% import "scanning.wgsl" as scan
//% block shared
//% set T = wgsl(of, 1)
//# two halves that take turns, so that each round of the tree needs one barrier
var<workgroup> sums: array<{{ T }}, 512>;
//% if segmented
var<workgroup> heads: array<u32, 512>;
//% endif
//% endblock
//% block work
//% set T = wgsl(of, 1)
//% set F = wgsl(of, 4)
//% set empty = T ~ "(" ~ scan.start[op](T) ~ ")"
  let t = lid.x;
  let row = group / p.pieces;
//# the pieces read last by the launch before, which may still be in a cache, come first
  let piece = p.pieces - 1u - group % p.pieces;
  let first = row * p.stretch;
  let begin = min(first + piece * p.piece, p.size);
  let end = min(min(first + p.stretch, begin + p.piece), p.size);
  var carry = {{ empty }};
//% if carried
  for (var k = t; k < piece; k += 256u) {
    let other = in0[row * p.pieces + k];
    carry = {{ scan.join[op](T, "carry", "other") }};
  }
{{ scan.total(op, T, "carry") }}
//% endif
  for (var base = begin; base < end; base += 2048u) {
    let at = base + t * 8u;
    var four0 = {{ F }}({{ empty }});
    var four1 = {{ F }}({{ empty }});
    if (at < end) {
      four0 = values_at(at);
    }
    if (at + 4u < end) {
      four1 = values_at(at + 4u);
    }
//% if segmented
    var place = (at - first) % p.n;
    var open = 8u;
//% endif
    var run = {{ empty }};
//% for j in range(8)
    let next{{ j }} = four{{ j // 4 }}.{{ "xyzw"[j % 4] }};
//% if segmented
    if (place == 0u) {
      run = {{ empty }};
      open = min(open, {{ j }}u);
    }
    place = select(place + 1u, 0u, place + 1u == p.n);
//% endif
    run = {{ scan.join[op](T, "run", "next%d" % j) }};
    let run{{ j }} = run;
//% endfor
    sums[t] = run;
//% if segmented
    heads[t] = u32(open < 8u);
//% endif
    workgroupBarrier();
{{ scan.tree(op, T, segmented) }}
    let left = sums[max(t, 1u) - 1u];
    let led = {{ scan.join[op](T, "carry", "left") }};
    let lead = select(carry, led, t > 0u);
//% for j in range(8)
    let led{{ j }} = {{ scan.join[op](T, "lead", "run%d" % j) }};
    let done{{ j }} = {{ "select(run%d, led%d, %du < open)" % (j, j, j) if segmented else "led%d" % j }};
//% endfor
    if (at < end) {
      out[at / 4u] = {{ F }}(done0, done1, done2, done3);
    }
    if (at + 4u < end) {
      out[at / 4u + 1u] = {{ F }}(done4, done5, done6, done7);
    }
    let all = sums[255];
    carry = {{ scan.join[op](T, "carry", "all") }};
    workgroupBarrier();
  }
//% endblock

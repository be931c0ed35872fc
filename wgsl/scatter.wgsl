//# Rows of `in2` put into the rows that value_at gives: `in0` has the destinations sorted, `in1` the order that sorts them.
//# A thread makes one element of the result: it finds its run by halving, and joins it in order (or takes the last).
//# Parts of the longer runs have been joined before: in3 those of `chunk` neighbours each, in4 of chunk * chunk.
//% extends "whole.wgsl"
//% import "combine.wgsl" as combine
//% block work
//% set T = wgsl(dtypes[2], 1)
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  let row = i / p.width;
  let column = i % p.width;
  var low = 0u;
  var high = p.count;
  while (low < high) {
    let middle = (low + high) / 2u;
    if (u32(in0[middle]) {{ "<=" if join == "assign" else "<" }} row) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
//% if join == "assign"
  var result = value_at(i);
  if (low > 0u) {
    if (u32(in0[low - 1u]) == row) {
      result = {{ T.load("in2", "u32(in1[low - 1u]) * p.width + column", 1) }};
    }
  }
//% else
  var result = value_at(i);
  while (low < p.count) {
    if (u32(in0[low]) != row) {
      break;
    }
    var step = 1u;
    var source = 0u;
//% for level in range(levels)
    let span{{ level }} = {{ "p.chunk" if level == 0 else "p.chunk * p.chunk" }};
    if (low % span{{ level }} == 0u) {
      if (low + span{{ level }} <= p.count) {
        if (u32(in0[low + span{{ level }} - 1u]) == row) {
          step = span{{ level }};
          source = {{ level + 1 }}u;
        }
      }
    }
//% endfor
    var x: {{ T }};
    if (source == 0u) {
      x = {{ T.load("in2", "u32(in1[low]) * p.width + column", 1) }};
    }
//% for level in range(levels)
    if (source == {{ level + 1 }}u) {
      x = {{ T.load("in%d" % (level + 3), "low / span%d * p.width + column" % level, 1) }};
    }
//% endfor
    result = {{ combine.join[join](T, "result", "x") }};
    low += step;
  }
//% endif
  out[i] = {{ T.store("result") }};
//% endblock

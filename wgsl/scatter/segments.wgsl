//# Rows joined to the rows that value_at gives: `in0` has the order that sorts the destinations, `in2` where the run of
//# each row begins. A thread joins a run in order, for one column or for four neighbours.
//# Parts of the longer runs have been joined before: in3 those of `chunk` neighbours each, in4 of chunk * chunk.
//% extends "launch.wgsl"
//% import "lib/monoids.wgsl" as combine
//% block work
//% set T = wgsl(dtypes[1], out_width)
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  let row = i / p.width;
  let column = i % p.width;
  var low = in2[row];
  let end = in2[row + 1u];
  var result = {{ "values_at(i * 4u)" if out_width == 4 else "value_at(i)" }};
  while (low < end) {
    var step = 1u;
    var source = 0u;
    let span{{ level }} = {{ "p.chunk" if level == 0 else "p.chunk * p.chunk" }}; //% for level in range(levels)
    if ((low % span{{ level }} == 0u) & (low + span{{ level }} <= end)) { //% same
      step = span{{ level }};
      source = {{ level + 1 }}u;
    }
    var x: {{ T }};
    if (source == 0u) {
      x = in1[u32(in0[low]) * p.width + column];
    }
    if (source == {{ level + 1 }}u) { //% for level in range(levels)
      x = in{{ level + 3 }}[low / span{{ level }} * p.width + column];
    }
    result = {{ combine.join[join](T, "result", "x") }};
    low += step;
  }
  out[i] = result;
//% endblock

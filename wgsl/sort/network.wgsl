//# Rows of a few elements sorted in registers by the comparisons of a network, a thread a row, no barriers.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//% block work
  let row = group * {{ workgroup[0] }}u + lid.x;
  if (row >= p.rows) {
    return;
  }
  let start = row * p.n;
  var k{{ i }} = 0xffffffffu; //% for i in range(wide)
  var i{{ i }} = {{ i }}u; //% same
  if ({{ i }}u < p.n) { //% same
    let x = value_at(start + {{ i }}u);
    k{{ i }} = {{ sorting.key(T, "x", descending) }};
  }
  { //% for a, b in network
    let swap = (k{{ b }} < k{{ a }}) | ((k{{ b }} == k{{ a }}) & (i{{ b }} < i{{ a }}));
    let low = select(k{{ a }}, k{{ b }}, swap);
    k{{ b }} = select(k{{ b }}, k{{ a }}, swap);
    k{{ a }} = low;
    let first = select(i{{ a }}, i{{ b }}, swap);
    i{{ b }} = select(i{{ b }}, i{{ a }}, swap);
    i{{ a }} = first;
  }
  if ({{ i }}u < p.n) { //% for i in range(wide)
    out[start + {{ i }}u] = i32(i{{ i }});
  }
//% endblock

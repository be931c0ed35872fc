//# X with A X = B, A [n, n] triangular, B [n, cols]: a thread solves a column, with no barrier. n is at most `block`: the
//# column's results so far lie in workgroup memory.
//% extends "launch.wgsl"
//# an element of row r times the result that it meets, the j-th after `done`; nothing from the row itself on
{% macro product_of(j) -%}
  {% set place = "min(done + %du, step)" % j if j else "done" -%}
  {% set product = "in0[a + r * n + %s] * solved[%s * %du + lid.x]" % ("n - 1u - " ~ place if upper else place, place, workgroup[0]) -%}
  {{ "select(0.0, %s, done + %du < step)" % (product, j) if j else product }}{%- endmacro %}
//% block shared
var<workgroup> solved: array<f32, {{ block * workgroup[0] }}>;
//% endblock
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.count) {
    return;
  }
  let n = p.size;
  let a = (i / p.cols) * n * n;
  let b = (i / p.cols) * n * p.cols + i % p.cols;
  for (var step = 0u; step < n; step++) {
    let r = {{ "n - 1u - step" if upper else "step" }};
    // eight sums: each product waits for reads of its own
    var low = vec4<f32>(0.0);
    var high = vec4<f32>(0.0);
    for (var done = 0u; done < step; done += 8u) {
      {{ "low" if j < 4 else "high" }}[{{ j % 4 }}] += {{ product_of(j) }}; //% for j in range(8)
    }
    let sums = low + high;
    let x = (value_at(b + r * p.cols) - ((sums[0] + sums[1]) + (sums[2] + sums[3]))){{ " / in0[a + r * n + r]" if not unit }};
    solved[step * {{ workgroup[0] }}u + lid.x] = x;
    out[b + r * p.cols] = x;
  }
//% endblock

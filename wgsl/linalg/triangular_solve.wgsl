//# X with A X = B, A [n, n] triangular, B [n, cols]: a thread solves a column, with no barrier. n is at most `block`: the
//# column's results so far lie in workgroup memory.
//% extends "launch.wgsl"
//# an element of row r by the result that it meets, `j` further than `at`
{% macro factor(at, j) -%}
  {% set place = "%s + %du" % (at, j) if j else at -%}
  in0[a + r * n + {{ "n - 1u - (" ~ place ~ ")" if upper else place }}] * solved[({{ place }}) * {{ workgroup[0] }}u + lid.x]
{%- endmacro %}
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
    var done = 0u;
    for (; done + 8u <= step; done += 8u) {
//% for j in range(8)
      {{ "low" if j < 4 else "high" }}[{{ j % 4 }}] += {{ factor("done", j) }};
//% endfor
    }
    for (; done < step; done++) {
      low[0] += {{ factor("done", 0) }};
    }
    let sums = low + high;
    let x = (value_at(b + r * p.cols) - ((sums[0] + sums[1]) + (sums[2] + sums[3]))){{ " / in0[a + r * n + r]" if not unit }};
    solved[step * {{ workgroup[0] }}u + lid.x] = x;
    out[b + r * p.cols] = x;
  }
//% endblock

//# Four weights of a word, from bit `low` on, as floats: behind 2^23's bits an integer is a float that is as much
//# larger, and taking 2^23 away is cheaper than a conversion, of which GPUs do a quarter as many.
{% macro four(word, low, bits) -%}
  bitcast<vec4<f32>>(((vec4<u32>({{ word }}) >> vec4<u32>({{ low }}u, {{ low + bits }}u, {{ low + 2 * bits }}u, {{ low + 3 * bits }}u)) & vec4<u32>({{ 2 ** bits - 1 }}u)) | vec4<u32>(0x4b000000u)) - {{ 8388608 + 2 ** (bits - 1) }}.0
{%- endmacro %}
//# four neighbours of a cell from its e-th four on, as floats
{% macro unpacked(cell, e, bits) -%}
{{ four(cell ~ "." ~ "xyzw"[e // (8 // bits)], e % (8 // bits) * 16, bits) }}
{%- endmacro %}
//# The sums of a row's threads, added up for the first of them.
{% macro joined(vectors, lanes, lines) -%}
//% for v in range(vectors)
  sums[lid.x + {{ v * lanes * lines }}u] = acc{{ v }};
//% endfor
  for (var apart = {{ lanes // 2 }}u; apart > 0u; apart /= 2u) {
    workgroupBarrier();
    if (lane < apart) {
//% for v in range(vectors)
      acc{{ v }} += sums[lid.x + apart + {{ v * lanes * lines }}u];
      sums[lid.x + {{ v * lanes * lines }}u] = acc{{ v }};
//% endfor
    }
  }
{%- endmacro %}
//# Four rows' results for each vector, with a bias of type B.
{% macro written(vectors, B) -%}
  if (lane == 0u) {
//% for r in range(4)
    if (row + {{ r }}u < p.n) {
//% set bias = " + " + B.load("in3", "row + %du" % r, 1) if B else ""
//% for v in range(vectors)
      if (first + {{ v }}u < p.m) {
        out[(first + {{ v }}u) * p.n + row + {{ r }}u] = acc{{ v }}.{{ "xyzw"[r] }}{{ bias }};
      }
//% endfor
    }
//% endfor
  }
{%- endmacro %}

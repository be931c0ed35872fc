//# Four weights of a word, from bit `low` on, as floats: behind 2^23's bits an integer is a float that is as much
//# larger, and taking 2^23 away is cheaper than a conversion, of which GPUs do a quarter as many.
{% macro four(word, low, bits) -%}
  {%- set by = "%du, %du, %du, %du" % (low, low + bits, low + 2 * bits, low + 3 * bits) -%}
  bitcast<vec4<f32>>(((vec4<u32>({{ word }}) >> vec4<u32>({{ by }})) & vec4<u32>({{ 2 ** bits - 1 }}u)) | vec4<u32>(0x4b000000u))
  {{- " - %d.0" % (8388608 + 2 ** (bits - 1)) }}{%- endmacro %}
//# four neighbours of a cell from its e-th four on, as floats
{% macro unpacked(cell, e, bits) -%}
{{ four(cell ~ "." ~ "xyzw"[e // (8 // bits)], e % (8 // bits) * 16, bits) }}{%- endmacro %}
//# What cells of four rows add to the vectors' sums: of many, each weight is multiplied by its scale once for all.
{% macro cells(u, vectors, bits, lanes, ahead) -%}
//% set fours, often = 32 // bits, vectors > 4
      var part{{ v }} = vec4<f32>(); //% for v in range(vectors) if not often
//% for e in range(fours)
//% for r in range(4)
      let w{{ e }}_{{ r }} = {{ "(" if often }}{{ unpacked("cell%d_%d" % (u, r), e, bits) }}{{ ") * scales." ~ "xyzw"[r] if often }};
//% endfor
      let x{{ e }}_{{ v }} = sums[lane + {{ ((v * ahead + u) * fours + e) * (lanes + 1) }}u]; //% for v in range(vectors)
      {{ "acc" if often else "part" }}{{ v }} += vec4<f32>({% for r in range(4) %}dot(w{{ e }}_{{ r }}, x{{ e }}_{{ v }}), {% endfor %}); //% same
//% endfor
      acc{{ v }} = fma(part{{ v }}, scales, acc{{ v }}); //% for v in range(vectors) if not often
{%- endmacro %}
//# The sums of a row's threads, for some of the vectors, added up for the first of them.
{% macro joined(vectors, lanes, lines, first=0) -%}
  sums[lid.x + {{ v * lanes * lines }}u] = acc{{ first + v }}; //% for v in range(vectors)
  for (var apart = {{ lanes // 2 }}u; apart > 0u; apart /= 2u) {
    workgroupBarrier();
    if (lane < apart) {
      acc{{ first + v }} += sums[lid.x + apart + {{ v * lanes * lines }}u]; //% for v in range(vectors)
      sums[lid.x + {{ v * lanes * lines }}u] = acc{{ first + v }}; //% same
    }
  }{%- endmacro %}
//# Four rows' results for each vector, with a bias of type B; lead: vectors before them, as text to add to.
{% macro written(vectors, B, lead="") -%}
  if (lane == 0u) {
    if (row + {{ r }}u < p.n) { //% for r in range(4)
//% set bias = " + " + B.load("in3", "row + %du" % r, 1) if B else ""
      if (first + {{ v }}u < p.m) { //% for v in range(vectors)
        out[({{ lead }}first + {{ v }}u) * p.n + row + {{ r }}u] = acc{{ v }}.{{ "xyzw"[r] }}{{ bias }};
      }
    }
  }{%- endmacro %}

//# What the passes of a radix sort share: keys, pairs of (key, place), and sixteen counters as four vectors.
{% macro key(T, x, descending) %}{{ "~" if descending }}{{ T.call("sort_key") }}({{ x }}){% endmacro %}

//# the pair of element `at`: made of the input in the first pass, where `place` says where in its row it is
{% macro pair(T, at, place, descending, first) -%}
  {% if first %}vec2<u32>({{ key(T, "value_at(%s)" % at, descending) }}, {{ place }})
  {%- else %}in0[{{ at }}]{% endif %}{%- endmacro %}

//# 1 in the counter of digit `d`, as four vec4: lanes d = 0 4 8 12 of the first, and so on
{% macro is_digit(d, j) -%}
  vec4<u32>({{ d }}) == vec4<u32>({{ j * 4 }}u, {{ j * 4 + 1 }}u, {{ j * 4 + 2 }}u, {{ j * 4 + 3 }}u){%- endmacro %}

//# Counts of two digits share a word, 16 bits each: digits 0 to 7 are `low`, the others `high`.
//# one more of a digit, as a vector for its half
{% macro mark(digit) -%}
  select(vec4<u32>(0u), vec4<u32>(1u << (({{ digit }} & 1u) * 16u)), vec4<u32>(({{ digit }} >> 1u) & 3u) == vec4<u32>(0u, 1u, 2u, 3u)){%- endmacro %}

//# where the scanned counts have what comes before this piece: the table is inclusive, so it is the entry before
{% macro begin_of(digit, row, piece, table) -%}
  select({{ table }}[max(({{ row }} * 16u + {{ digit }}) * p.pieces + {{ piece }}, 1u) - 1u], 0u, ({{ digit }} + {{ piece }}) == 0u){%- endmacro %}

//# Four weights of a word, from bit `low` on, as floats: behind 2^23's bits an integer is a float that is as much
//# larger, and taking 2^23 away is cheaper than a conversion, of which GPUs do a quarter as many.
{% macro four(word, low, bits) -%}
  bitcast<vec4<f32>>(((vec4<u32>({{ word }}) >> vec4<u32>({{ low }}u, {{ low + bits }}u, {{ low + 2 * bits }}u, {{ low + 3 * bits }}u)) & vec4<u32>({{ 2 ** bits - 1 }}u)) | vec4<u32>(0x4b000000u)) - {{ 8388608 + 2 ** (bits - 1) }}.0
{%- endmacro %}

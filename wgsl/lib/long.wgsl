//# An element of 64 bits as two words: of what launch.wgsl traces (words side by side, or an i32 that has it all), or of
//# what an earlier launch wrote.
{% macro element(i, traced, narrow) -%}
{% if not traced %}in0[{{ i }}]{% elif narrow %}
vec2<u32>(u32(value_at({{ i }})), u32(value_at({{ i }}) >> 31u)){% else %}
vec2<u32>(value_at(2u * {{ i }}), value_at(2u * {{ i }} + 1u)){% endif %}{%- endmacro %}

//# What each reduction starts from and how two parts join.
{% macro add(T, a, b) %}{{ a }} + {{ b }}{% endmacro %}
{% macro multiply(T, a, b) %}{{ a }} * {{ b }}{% endmacro %}
{% macro larger(T, a, b) %}{{ T.call("nanmax") if T.kind == "f" else "max" }}({{ a }}, {{ b }}){% endmacro %}
{% macro smaller(T, a, b) %}{{ T.call("nanmin") if T.kind == "f" else "min" }}({{ a }}, {{ b }}){% endmacro %}
{% macro zero(T) %}{{ T.zero }}{% endmacro %}
{% macro one(T) %}1{% endmacro %}
{% macro lowest(T) %}{{ T.lowest }}{% endmacro %}
{% macro highest(T) %}{{ T.highest }}{% endmacro %}

//# Floats that one thread adds up go to sums of 8, those to sums of 128: a long sum takes in small numbers badly, and
//# equal ones always to the same side. `turn`: the number of what was added last, from 1 on
{% macro begin_blocks(T, name) -%}
  var {{ name }}_of_8 = {{ T }}(0);
  var {{ name }}_of_128 = {{ T }}(0);{%- endmacro %}
{% macro add_blocks(T, name, turn) -%}
    if ({{ turn }} % 8u == 0u) {
      {{ name }}_of_128 += {{ name }}_of_8;
      {{ name }}_of_8 = {{ T }}(0);
      if ({{ turn }} % 128u == 0u) {
        {{ name }} += {{ name }}_of_128;
        {{ name }}_of_128 = {{ T }}(0);
      }
    }{%- endmacro %}
{% macro end_blocks(name) -%}{{ name }} += {{ name }}_of_128 + {{ name }}_of_8;{%- endmacro %}

//% set join = {"sum": add, "prod": multiply, "max": larger, "min": smaller}
//% set start = {"sum": zero, "prod": one, "max": lowest, "min": highest}

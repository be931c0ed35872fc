//# What each reduction starts from and how two parts join.
{% macro add(T, a, b) %}{{ a }} + {{ b }}{% endmacro %}
{% macro multiply(T, a, b) %}{{ a }} * {{ b }}{% endmacro %}
{% macro larger(T, a, b) %}{{ T.call("nanmax") if T.kind == "f" else "max" }}({{ a }}, {{ b }}){% endmacro %}
{% macro smaller(T, a, b) %}{{ T.call("nanmin") if T.kind == "f" else "min" }}({{ a }}, {{ b }}){% endmacro %}
{% macro zero(T) %}{{ T.zero }}{% endmacro %}
{% macro one(T) %}1{% endmacro %}
{% macro lowest(T) %}{{ T.lowest }}{% endmacro %}
{% macro highest(T) %}{{ T.highest }}{% endmacro %}

//% set join = {"sum": add, "prod": multiply, "max": larger, "min": smaller}
//% set start = {"sum": zero, "prod": one, "max": lowest, "min": highest}

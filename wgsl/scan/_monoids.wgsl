//# What each scan keeps of an element until its place is known, makes of it there (its state), starts from,
//# joins, and leaves as its result.
//# Extremes carry vec2(key, place): the larger key wins, the later place among equals.
{% macro same(T, x, i) %}{{ x }}{% endmacro %}
{% macro placed(T, x, i) %}vec2<u32>({{ x }}, {{ i }}){% endmacro %}
{% macro rising(T, x) %}{{ T.call("sort_key") }}({{ x }}){% endmacro %}
{% macro falling(T, x) %}{{ T.call("falling_key") }}({{ x }}){% endmacro %}
{% macro plain(T, x) %}{{ x }}{% endmacro %}
{% macro add(T, a, b) %}{{ a }} + {{ b }}{% endmacro %}
{% macro multiply(T, a, b) %}{{ a }} * {{ b }}{% endmacro %}
{% macro log_add(T, a, b) %}{{ T.call("log_add") }}({{ a }}, {{ b }}){% endmacro %}
{% macro later(T, a, b) %}select({{ a }}, {{ b }}, ({{ b }}.x > {{ a }}.x) | (({{ b }}.x == {{ a }}.x) & ({{ b }}.y >= {{ a }}.y))){% endmacro %}
{% macro itself(T, s) %}{{ s }}{% endmacro %}
{% macro place(T, s) %}i32({{ s }}.y){% endmacro %}
{% macro zero(T) %}{{ T }}(0){% endmacro %}
{% macro one(T) %}{{ T }}(1){% endmacro %}
{% macro nothing(T) %}{{ T.lowest }}{% endmacro %}
{% macro lowest(T) %}vec2<u32>(0u){% endmacro %}

//% set keep = {"sum": plain, "prod": plain, "logsumexp": plain, "max": rising, "min": falling}
//% set lift = {"sum": same, "prod": same, "logsumexp": same, "max": placed, "min": placed}
//% set start = {"sum": zero, "prod": one, "logsumexp": nothing, "max": lowest, "min": lowest}
//% set join = {"sum": add, "prod": multiply, "logsumexp": log_add, "max": later, "min": later}
//% set result = {"sum": itself, "prod": itself, "logsumexp": itself, "max": place, "min": place}
{% macro state(op, T) %}{{ "vec2<u32>" if op in ("max", "min") else T }}{% endmacro %}
{% macro kept(op, T) %}{{ "u32" if op in ("max", "min") else T }}{% endmacro %}
{% macro made(op, T) %}{{ "i32" if op in ("max", "min") else T }}{% endmacro %}
//# the result in the type of what is kept, since both take turns in one array
{% macro store(op, T, s) %}{{ s ~ ".y" if op in ("max", "min") else s }}{% endmacro %}

//# join a variable over the workgroup, in a fixed order, by an array of 256
{% macro total(op, T, name, array="sums") -%}
  {{ array }}[lid.x] = {{ name }};
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (lid.x < half) {
      let one_side = {{ array }}[lid.x];
      let other_side = {{ array }}[lid.x + half];
      {{ array }}[lid.x] = {{ join[op](T, "one_side", "other_side") }};
    }
    workgroupBarrier();
  }
  {{ name }} = {{ array }}[0];
  workgroupBarrier();{%- endmacro %}

//# make `run`s of 256 threads the sums up to each, by `sums` (and, for several rows at once, `heads`): arrays of 512
{% macro tree(op, T, segmented) -%}
//% for round in range(8)
//% set reach, from = 2 ** round, 256 * (round % 2)
    let from{{ round }} = {{ from }}u + max(t, {{ reach }}u) - {{ reach }}u;
    let before{{ round }} = sums[from{{ round }}];
    let joined{{ round }} = {{ join[op](T, "before%d" % round, "run") }};
//% if segmented
    let own{{ round }} = heads[{{ from }}u + t];
//% set none_yet = "vec2<u32>(0u)" if T.width == 2 else "0u"
//% set far = "%s(t >= %du)" % ("vec2<bool>" if T.width == 2 else "", reach)
    run = select(run, joined{{ round }}, {{ far }} & (own{{ round }} == {{ none_yet }}));
    heads[{{ 256 - from }}u + t] = own{{ round }} | select({{ none_yet }}, heads[from{{ round }}], t >= {{ reach }}u);
//% else
    run = select(run, joined{{ round }}, t >= {{ reach }}u);
//% endif
    sums[{{ 256 - from }}u + t] = run;
    workgroupBarrier();
//% endfor
{%- endmacro %}

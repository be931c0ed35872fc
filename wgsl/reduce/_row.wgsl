//# What is done with a part of a row: its places, its values, and how lanes join what they have. A place is a mark,
//# which ends its names, and how far behind the lane's first element it lies.
//% import "lib/index.wgsl" as ix
//% import "lib/monoids.wgsl" as combine

//# k, the first element of a lane's read, and its coordinates; those of one past the end are of the first element
{% macro places(first, mark, ahead, lanes, width, length, along, sizes) -%}
//% set at = "k%s" % mark
//% if mark
    let {{ at }} = {{ sum_of(first, times(plus("lane", ahead), width) if lanes > 1 else "%du" % (ahead * width)) }};
    let is{{ mark }} = {{ at }} < p.{{ length }};
{{ ix.unravel("select(0u, %s, is%s)" % (at, mark), along | map("suffix", mark) | list, sizes, "from%s" % mark) }}
//% else
    let k = 0u; //% if not first
{{ ix.unravel(at, along, sizes) }}
//% endif
{%- endmacro %}

//# a function's value at a place; at the row's first for none
{% macro call(name, f, along, mark) -%}
  {{ name }}({% for v, d, w in f.arguments %}{{ v }}{{ mark if v in f.each }}, {% endfor %}
  {%- for c in f.coords %}{{ "0u" if mark is none and c in along else c ~ mark if c in along else c }}, {% endfor %})
{%- endmacro %}

{% macro empty(op, T) -%}{{ T }}({{ combine.start[op](T) }}){%- endmacro %}

//# whether a thread that has a row to itself adds it up in blocks
{% macro in_blocks(s, lanes, wgsl) -%}{{ "yes" if lanes == 1 and s.op == "sum" and not s.top and wgsl(s.dtype, 1).kind == "f" }}{%- endmacro %}

//# joins one more value to that of a lane
{% macro add(s, f, along, mark, wgsl, width, all="_all") -%}
//% set T = wgsl(s.dtype, width)
//% set x, value = s.name ~ "_x" ~ mark, call(s.function, f, along, mark)
    let {{ x }} = {{ "select(%s, %s, is%s)" % (empty(s.op, T), value, mark) if mark else value }};
    {{ s.name }}{{ all }} = {{ combine.join[s.op](T, s.name ~ all, x) }};{%- endmacro %}

//# a maximum of at least the lowest finite float, since a difference from -inf would be NaN; NaN stays NaN
{% macro finite(T, x) -%}{{ combine.larger(T, x, T ~ "(-3.4028234e38)") }}{%- endmacro %}

//# a sum of exp(x - maximum) after a turn: the sum so far is scaled if the maximum grew
{% macro follow(s, places, wgsl, width) -%}
//% set T = wgsl(s.dtype, width)
    let {{ s.name }}_to = {{ finite(T, s.top ~ "_all") }};
    {{ s.name }}_all *= {{ T.call("safe_exp") }}({{ s.name }}_from - {{ s.name }}_to);
    {{ s.name }}_all += {{ T.call("safe_exp") }}({{ s.top }}_x{{ mark }} - {{ s.name }}_to); //% for mark, _ in places
    {{ s.name }}_from = {{ s.name }}_to;{%- endmacro %}

//# the same after the maximum was joined across lanes: `from` is the maximum that the sum refers to
{% macro scale(s, sum, from, top, T) -%}
  {{ sum }} *= {{ T.call("safe_exp") }}({{ from }} - {{ finite(T, T ~ "(" ~ top ~ ")") }});{%- endmacro %}

//# four neighbours joined to one
{% macro narrow(s, wgsl, width) -%}
//% set S, all = wgsl(s.dtype, 1), s.name ~ "_all"
  let {{ s.name }}_low = {{ combine.join[s.op](S, all ~ ".x", all ~ ".y") }}; //% if width == 4
  let {{ s.name }}_high = {{ combine.join[s.op](S, all ~ ".z", all ~ ".w") }}; //% if width == 4
  var {{ s.name }} = {{ combine.join[s.op](S, s.name ~ "_low", s.name ~ "_high") if width == 4 else all }};{%- endmacro %}

//# joins a lane's value to those `lanes` further on, `count` of them
{% macro join_lanes(s, lanes, count, wgsl) -%}
    let {{ s.name }}_o{{ m }} = {{ s.partials }}[lid.x + {{ m * lanes }}u]; //% for m in range(1, count)
    {{ s.name }} = {{ combine.join[s.op](wgsl(s.dtype, 1), s.name, "%s_o%d" % (s.name, m)) }}; //% same
    {{ s.partials }}[lid.x] = {{ s.name }};{%- endmacro %}

//# the first value of a row's lanes, or one further on
{% macro first(s, m, across) -%}{{ s.partials }}[{{ sum_of("lid.x - lane" if across > 1, "%du" % m) }}]{%- endmacro %}

//# joins the values of a row's lanes; every thread passes the barriers. All threads join the last ones: with a branch for
//# lane 0 alone, NVIDIA's driver 580.159.04 let that lane write its first element to index 3 of the row
{% macro tree(reductions, steps, across, wgsl) -%}
  {{ s.partials }}[lid.x] = {{ s.name }}; //% for s in reductions
  workgroupBarrier(); //% for lanes, count in steps[:-1]
  if (lane < {{ lanes }}u) { //% same
{{ join_lanes(s, lanes, count, wgsl) }} //% for s in reductions
  }
  workgroupBarrier();
  {{ s.name }} = {{ first(s, 0, across) }}; //% for s in reductions
  {{ s.name }} = {{ combine.join[s.op](wgsl(s.dtype, 1), s.name, first(s, m, across)) }}; //% for s, m in product(reductions, range(1, steps[-1][1]))
{%- endmacro %}

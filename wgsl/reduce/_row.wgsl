//# What is done with a part of a row: its places, its values, and how lanes join what they have.
//% import "lib/index.wgsl" as ix
//% import "lib/monoids.wgsl" as combine

//# the places of the j-th read of a lane: `first` is what all lanes have behind them
{% macro places(first, j, lanes, width, length, along, sizes) -%}
    let k_{{ j }} = {{ first }}(lane + {{ j * lanes }}u) * {{ width }}u;
    let is_{{ j }} = k_{{ j }} < p.{{ length }};
    let a_{{ j }} = select(0u, k_{{ j }}, is_{{ j }});
{{ ix.unravel("a_%d" % j, along | map("suffix", "_%d" % j) | list, sizes) }}
{%- endmacro %}

//# a function's value at the j-th place; at the row's first for j = none
{% macro call(name, f, along, j) -%}
  {{ name }}({% for v, d, w in f.given %}{{ v }}{{ "_%d" % j if v in f.each }}, {% endfor %}
  {%- for c in f.coords %}{{ "0u" if j is none and c in along else c ~ "_%d" % j if c in along else c }}, {% endfor %})
{%- endmacro %}

{% macro empty(op, T) -%}{{ T }}({{ combine.start[op](T) }}){%- endmacro %}

//# whether a thread that has a row to itself adds it up in blocks
{% macro in_blocks(s, lanes, wgsl) -%}{{ "yes" if lanes == 1 and s.op == "sum" and not s.top and wgsl(s.dtype, 1).kind == "f" }}{%- endmacro %}

//# one more value joined to what a lane has
{% macro add(s, f, along, j, wgsl, width, all="_all") -%}
//% set T = wgsl(s.dtype, width)
    let {{ s.name }}_x{{ j }} = select({{ empty(s.op, T) }}, {{ call(s.function, f, along, j) }}, is_{{ j }});
    {{ s.name }}{{ all }} = {{ combine.join[s.op](T, s.name ~ all, "%s_x%d" % (s.name, j)) }};
{%- endmacro %}

//# the largest of what a lane has that is finite, so that no difference of it is NaN; of NaN it is NaN
{% macro finite(T, x) -%}{{ combine.larger(T, x, T ~ "(-3.4028234e38)") }}{%- endmacro %}

//# a sum of exponentials of what is below a maximum, after a turn: what it had is scaled where that grew
{% macro follow(s, reads, wgsl, width) -%}
//% set T = wgsl(s.dtype, width)
    let {{ s.name }}_to = {{ finite(T, s.top ~ "_all") }};
    {{ s.name }}_all *= {{ T.call("safe_exp") }}({{ s.name }}_from - {{ s.name }}_to);
    {{ s.name }}_all += {{ T.call("safe_exp") }}({{ s.top }}_x{{ j }} - {{ s.name }}_to); //% for j in range(reads)
    {{ s.name }}_from = {{ s.name }}_to;
{%- endmacro %}

//# the same after the maximum was joined further: `from` is what it was below before
{% macro scale(s, sum, from, top, T) -%}
  {{ sum }} *= {{ T.call("safe_exp") }}({{ from }} - {{ finite(T, T ~ "(" ~ top ~ ")") }});
{%- endmacro %}

//# four neighbours joined to one
{% macro narrow(s, wgsl, width) -%}
//% set S = wgsl(s.dtype, 1)
//% set all = s.name ~ "_all"
//% if width == 4
  let {{ s.name }}_low = {{ combine.join[s.op](S, all ~ ".x", all ~ ".y") }};
  let {{ s.name }}_high = {{ combine.join[s.op](S, all ~ ".z", all ~ ".w") }};
  var {{ s.name }} = {{ combine.join[s.op](S, s.name ~ "_low", s.name ~ "_high") }};
//% else
  var {{ s.name }} = {{ all }};
//% endif
{%- endmacro %}

//# what a lane has, joined to what lies `lanes` further, and as often as `count` says
{% macro join_lanes(s, lanes, count, wgsl) -%}
//% for m in range(1, count)
    let {{ s.name }}_o{{ m }} = {{ s.partials }}[lid.x + {{ m * lanes }}u];
    {{ s.name }} = {{ combine.join[s.op](wgsl(s.dtype, 1), s.name, "%s_o%d" % (s.name, m)) }};
//% endfor
    {{ s.partials }}[lid.x] = {{ s.name }};
{%- endmacro %}

//# what the lanes of a row have becomes what all of them have; barriers are passed by all threads
{% macro tree(reductions, steps, wgsl) -%}
  {{ s.partials }}[lid.x] = {{ s.name }}; //% for s in reductions
//% for lanes, count in steps
  workgroupBarrier();
  if (lane < {{ lanes }}u) {
{{ join_lanes(s, lanes, count, wgsl) }} //% for s in reductions
  }
//% endfor
  workgroupBarrier();
  {{ s.name }} = {{ s.partials }}[lid.x - lane]; //% for s in reductions
{%- endmacro %}

//# An operand of a contraction as a thread walks it: its own elements one after another, and along the summed dims.
//# s: the side (operand.OperandSpec); g: how it is shared out among threads (product.TileLoad).
//% import "lib/index.wgsl" as ix

//# coordinates of own index `first` under the suffix j; those after it are counted on
{% macro own(first, s, j) -%}
{{ ix.unravel(first, s.own.coords | map("suffix", "_%d" % j) | list, s.own.sizes[1:]) }}{%- endmacro %}

//# a<n>_<j>: where own element j begins in the buffer and in each test of padding
{% macro starts(s, j) -%}
  let {{ s.name }}{{ loop.index0 }}_{{ j }} = {{ start(place) }} + {{ index_of(place.own, "_%d" % j) }}; //% for place in s.places
{%- endmacro %}
{% macro start(place) -%}{{ "p.%s + " % place.offset if place.offset }}{{ index_of(place.batch) }}{%- endmacro %}

//# a<n>_<j> and those of the n - 1 elements after own index `first`, which is held inside
{% macro opened(s, first, n, j=0) -%}
  let {{ s.name }}_batch = batch; //% if j == 0
{{ ix.unravel(s.name ~ "_batch", s.batch.coords, s.batch.sizes[1:]) }} //% if j == 0
  let {{ s.name }}_first{{ j }} = min({{ first }}, p.{{ s.own.total }} - {{ 4 if s.wide and s.along == "free" else 1 }}u);
{{ own("%s_first%d" % (s.name, j), s, j) }}
{{ starts(s, j) }}
{{ ix.next(s.own.coords, s.own.sizes, i) }} //% for i in range(j + 1, j + (1 if s.wide and s.along == "free" else n))
{{ starts(s, i) }} //% same
{%- endmacro %}

//# the first place along the summed dims
{% macro sum_from(s, first) -%}
  var {{ s.name }}_k = {{ first }};
{{ ix.unravel(s.name ~ "_k", s.summed.coords | map("suffix", "_0") | list, s.summed.sizes[1:]) }}
  var {{ c }} = {{ c }}_0; //% for c in s.summed.coords
{%- endmacro %}

//# go on along the summed dims
{% macro advance(s, g) -%}
    {{ s.name }}_k += {{ g.advance }}u;
{{ count_on(c, s, g, loop.revindex0, loop.first) }} //% for c in s.summed.coords | reverse
{%- endmacro %}
{% macro count_on(c, s, g, at, is_last) -%}
    {{ c }} += p.{{ g.carries[at] }}{{ " + u32(carry%d)" % (at + 1) if not is_last }};
    let carry{{ at }} = {{ c }} >= p.{{ s.summed.sizes[at] }}; //% if at
    {{ c }} -= select(0u, p.{{ s.summed.sizes[at] }}, carry{{ at }}); //% same
{%- endmacro %}

//# how far it is along the innermost summed dim, as text to add
{% macro further(s, place, far) -%}
{% for c, stride in place.summed.terms if far and c == s.summed.coords[-1] %} + {{ far }}u{{ " * p." ~ stride if stride != "1" }}{% endfor %}
{%- endmacro %}

//# the side's expression at own element j and summed place c, `far` further; zero past the end of the summed dims
{% macro value(s, j, c, T, ragged, far=0) -%}
  {{ "select(%s(0), " % T if ragged }}{{ s.name }}({% for n in s.stats %}{{ n }}_{{ j }}, {% endfor %}
  {%- for place in s.places %}{{ "select(0u, " if ragged }}
  {{- "%s%d_%d + k%d_%d" % (s.name, loop.index0, j, loop.index0, c) }}{{ further(s, place, far) }}
  {{- ", ok%d)" % c if ragged }}, {% endfor %}0u){{ ", ok%d)" % c if ragged }}{%- endmacro %}

//# four neighbours of the side's own elements from j on; read at once where they lie side by side
{% macro own_four(s, j, wgsl, ragged, far=0) -%}
{% if s.wide %}{{ value(s, j, 0, wgsl(s.dtype, 4), ragged, far) }}
{%- else %}{{ wgsl(s.dtype, 4) }}({% for i in range(4) %}{{ value(s, j + i, 0, wgsl(s.dtype, 1), ragged, far) }}, {% endfor %}){% endif %}
{%- endmacro %}

//# four neighbours along the summed dims, of own element j
{% macro summed_four(s, j, wgsl, ragged) -%}
{% if s.wide %}{{ value(s, j, 0, wgsl(s.dtype, 4), ragged) }}
{%- else %}{{ wgsl(s.dtype, 4) }}({% for c in range(4) %}{{ value(s, j, c, wgsl(s.dtype, 1), ragged) }}, {% endfor %}){% endif %}
{%- endmacro %}

//# k<n>_<c>: what the summed dims add to each position, at the c-th of four neighbours along them
{% macro along(s, c, ragged) -%}
    let {{ k }}_0 = {{ k }}; //% for k in s.summed.coords if c == 0
{{ ix.next(s.summed.coords, s.summed.sizes, c) }} //% if c
    let k{{ loop.index0 }}_{{ c }} = {{ index_of(place.summed, "_%d" % c) }}; //% for place in s.places
    let ok{{ c }} = {{ s.name }}_k + {{ c }}u < end; //% if ragged
{%- endmacro %}

//# Fusion: a function whose every line is one step of the lowered expression. A step s has a macro of its kind; T: its type.
//% import "lib/index.wgsl" as ix

{% macro function(name, f, wgsl) -%}
struct {{ f.result }} { //% if f.results
  {{ result }}: {{ wgsl(dtype, f.width) }}, //% for result, dtype in f.results
}
fn {{ name }}({% for v, d, w in f.arguments %}{{ v }}: {{ wgsl(d, w) }}, {% endfor %}
{%- for c in f.coords %}{{ c }}: u32, {% endfor %}) -> {{ f.result if f.results else wgsl(f.dtype, f.width) }} {
{{ step[s.kind](s, f, wgsl, wgsl(s.dtype, f.width)) }} //% for s in f.steps
  return {{ f.result }}{% for result, dtype in f.results %}{{ "(" if loop.first }}{{ result }}{{ ")" if loop.last else ", " }}{% endfor %};
}{%- endmacro %}

//# one element (or four neighbours) of a buffer, splatted where the others of the vector share it
{% macro load(s, f, wgsl, T) -%}
  let {{ s.var }}_ok = {{ within(s.tests) }}; //% if s.tests
  let {{ s.var }}_at = select(0u, {{ index_of(s.index) }}, {{ s.var }}_ok); //% same
  let {{ s.var }} = select({{ T }}({{ T.zero }}), {{ T.load(s.name, s.var + "_at", s.extra[0]) }}, {{ s.var }}_ok); //% same
  let {{ s.var }} = {{ T.load(s.name, index_of(s.index), s.extra[0]) }}; //% else
{%- endmacro %}

//# the sum of pieces that lie one behind the other, each as large as the whole result; extra: the width of a read, the
//# size of a piece and that of all
{% macro pieces(s, f, wgsl, T) -%}
  let {{ s.var }}_n = p.{{ s.extra[1] }};
  var {{ s.var }} = {{ T }}({{ T.zero }});
  var {{ s.var }}_at = {{ index_of(s.index) }};
  for (; {{ s.var }}_at + 3u * {{ s.var }}_n < p.{{ s.extra[2] }}; {{ s.var }}_at += 4u * {{ s.var }}_n) {
    let {{ s.var }}_{{ j }} = {{ T.load(s.name, "%s_at + %du * %s_n" % (s.var, j, s.var), s.extra[0]) }}; //% for j in range(4)
    {{ s.var }} += {{ s.var }}_{{ j }}; //% for j in range(4)
  }
  for (; {{ s.var }}_at < p.{{ s.extra[2] }}; {{ s.var }}_at += {{ s.var }}_n) {
    {{ s.var }} += {{ T.load(s.name, s.var ~ "_at", s.extra[0]) }};
  }{%- endmacro %}

//# an element by its place along a dim; four neighbours at once where they share the place, else each by its own
{% macro gather(s, f, wgsl, T) -%}
//% set n, stride, read = s.extra
//% set U = wgsl("u32", 4 if read == "each" else 1)
//% set place = s.args[0] ~ (".x" if f.width == 4 and U.width == 1 else "")
  let {{ s.var }}_w = min({{ U }}({{ place }}), {{ U.of("p.%s - 1u" % n) if U.width == 4 else "p.%s - 1u" % n }});
  let {{ s.var }}_a = {{ index_of(s.index) }} + {{ s.var }}_w * p.{{ stride }}{{ neighbours(s, f) if U.width == 4 }};
  let {{ s.var }}_ok = {{ within(s.tests) }}; //% if s.tests
  let {{ s.var }} = select({{ T }}({{ T.zero }}), {{ gathered(s, T, read, inside_place(s, U)) }}, {{ s.var }}_ok); //% same
  let {{ s.var }} = {{ gathered(s, T, read, s.var ~ "_a") }}; //% else
{%- endmacro %}
{% macro inside_place(s, U) -%}select({{ "%s()" % U if U.width == 4 else "0u" }}, {{ s.var }}_a, {{ s.var }}_ok){%- endmacro %}

//# how far four neighbours lie from the first
{% macro neighbours(s, f) -%}
  {% for c, stride in s.index.terms if c == f.coords[-1] %} + vec4<u32>(0u, 1u, 2u, 3u){{ " * p." ~ stride if stride != "1" }}{% endfor %}
{%- endmacro %}

{% macro gathered(s, T, read, at) -%}
{% if read != "each" %}{{ T.load(s.name, at, 4 if read == "four" else 1) }}
{%- else %}{{ T }}({% for c in "xyzw" %}{{ T.scalar.load(s.name, "(%s).%s" % (at, c), 1) }}{{ ", " if not loop.last }}{% endfor %}){% endif %}
{%- endmacro %}

{% macro scalar(s, f, wgsl, T) -%}let {{ s.var }} = {{ T.of("p." + s.name) }};{%- endmacro %}

//# a place as a number; neighbours of fours are a stride apart
{% macro iota(s, f, wgsl, T) -%}
//% set first = index_of(s.index) if T.dtype.kind == "u" else "i32(%s)" % index_of(s.index)
  let {{ s.var }} = {{ T }}({{ T }}({{ first }}) + {{ T }}(0, 1, 2, 3){{ times_stride(s, T) }}); //% if in_fours(s, f)
  let {{ s.var }} = {{ first if T == "i32" else "%s(%s)" % (T, first) }}; //% else
{%- endmacro %}
{% macro times_stride(s, T) -%}{{ " * %s(i32(p.%s))" % (T, s.index.terms[-1][1]) if s.index.terms[-1][1] != "1" }}{%- endmacro %}
{% macro in_fours(s, f) -%}{{ "yes" if f.width == 4 and s.index.terms and s.index.terms[-1][0] == f.coords[-1] }}{%- endmacro %}

{% macro random(s, f, wgsl, T) -%}
//% set key = "vec4<u32>(p." ~ s.extra | join(", p.") ~ ")"
  let {{ s.var }} = {{ T.scalar.call("philox") }}({{ key }}, {{ over(index_of(s.index), 4) }}); //% if in_fours(s, f)
  let {{ s.var }} = {{ T }}({{ T.scalar.call("philox_word") }}({{ key }}, {{ index_of(s.index) }})); //% else
{%- endmacro %}

{% macro op(s, f, wgsl, T) -%}
  let {{ s.var }} = {{ T.wrap(elementwise(s.name)(T, *s.args)) }};{%- endmacro %}

//# an index as a place: src/flambeau/core/faults.py
{% macro inside(s, f, wgsl, T) -%}
  let {{ s.var }} = {{ wgsl(s.extra[0], f.width).call(s.name) }}({{ s.args | join(", ") }}{% for word in s.extra[1:] %}, p.{{ word }}{% endfor %});
{%- endmacro %}

{% macro settle(s, f, wgsl, T) -%}let {{ s.var }} = {{ T.settle(s.args[0]) }};{%- endmacro %}

{% macro guard(s, f, wgsl, T) -%}
  let {{ s.var }} = select({{ T }}({{ T.zero }}), {{ s.args[0] }}, {{ within(s.tests) }});{%- endmacro %}

//# the result of a reduction of the same row, for every element
{% macro stat(s, f, wgsl, T) -%}
  let {{ s.var }} = {{ "%s(%s)" % (wgsl(s.dtype, 4), s.name) if f.width == 4 else s.name }};{%- endmacro %}

//% set reads = {"load": load, "pieces": pieces, "gather": gather, "scalar": scalar, "iota": iota, "random": random}
//% set computes = {"op": op, "inside": inside, "settle": settle, "guard": guard, "stat": stat}
//% set step = dict(reads, **computes)

//# Fusion: a function whose every line is one step of the lowered expression.
//% import "lib/index.wgsl" as ix

{% macro function(name, f, wgsl) -%}
struct {{ f.result }} { //% if f.results
  {{ result }}: {{ wgsl(dtype, f.width) }}, //% for result, dtype in f.results
}
fn {{ name }}({% for v, d, w in f.arguments %}{{ v }}: {{ wgsl(d, w) }}, {% endfor %}
{%- for c in f.coords %}{{ c }}: u32, {% endfor %}) -> {{ f.result if f.results else wgsl(f.dtype, f.width) }} {
{{ step[s.kind](s, f, wgsl) }} //% for s in f.steps
  return {{ f.result }}{% for result, dtype in f.results %}{{ "(" if loop.first }}{{ result }}{{ ")" if loop.last else ", " }}{% endfor %};
}{%- endmacro %}

//# one element (or four neighbours) of a buffer, splatted where the others of the vector share it
{% macro load(s, f, wgsl) -%}
//% set T, at = wgsl(s.dtype, f.width), index_of(s.index)
//% if s.tests
  let {{ s.var }}_ok = {{ within(s.tests) }};
  let {{ s.var }}_at = select(0u, {{ at }}, {{ s.var }}_ok);
  let {{ s.var }} = select({{ T }}({{ T.zero }}), {{ T.load(s.name, s.var + "_at", s.extra[0]) }}, {{ s.var }}_ok);
//% else
  let {{ s.var }} = {{ T.load(s.name, at, s.extra[0]) }};
//% endif
{%- endmacro %}

//# the sum of pieces that lie one behind the other, each as large as the whole result
{% macro pieces(s, f, wgsl) -%}
//% set T = wgsl(s.dtype, f.width)
//% set width, size, all = s.extra
  let {{ s.var }}_n = p.{{ size }};
  var {{ s.var }} = {{ T }}({{ T.zero }});
  var {{ s.var }}_at = {{ index_of(s.index) }};
  for (; {{ s.var }}_at + 3u * {{ s.var }}_n < p.{{ all }}; {{ s.var }}_at += 4u * {{ s.var }}_n) {
    let {{ s.var }}_{{ j }} = {{ T.load(s.name, "%s_at + %du * %s_n" % (s.var, j, s.var), width) }}; //% for j in range(4)
    {{ s.var }} += {{ s.var }}_{{ j }}; //% for j in range(4)
  }
  for (; {{ s.var }}_at < p.{{ all }}; {{ s.var }}_at += {{ s.var }}_n) {
    {{ s.var }} += {{ T.load(s.name, s.var ~ "_at", width) }};
  }{%- endmacro %}

//# an element by its place along a dim; four neighbours at once where they share the place, else each by its own
{% macro gather(s, f, wgsl) -%}
//% set n, stride, read = s.extra
//% set each = read == "each"
//% set U = wgsl("u32", 4 if each else 1)
//% set T = wgsl(s.dtype, f.width)
//% set place = s.args[0] ~ (".x" if f.width == 4 and not each else "")
//% set last = "p." ~ n ~ " - 1u"
  let {{ s.var }}_w = min({{ U }}({{ place }}), {{ U.of(last) if each else last }});
  let {{ s.var }}_a = {{ index_of(s.index) }} + {{ s.var }}_w * p.{{ stride }}{{ neighbours(s, f) if each }};
//% if s.tests
  let {{ s.var }}_ok = {{ within(s.tests) }};
//% set at = "select(%s, %s_a, %s_ok)" % (U ~ "()" if each else "0u", s.var, s.var)
  let {{ s.var }} = select({{ T }}({{ T.zero }}), {{ gathered(s, T, read, at) }}, {{ s.var }}_ok);
//% else
  let {{ s.var }} = {{ gathered(s, T, read, s.var ~ "_a") }};
//% endif
{%- endmacro %}

//# how far four neighbours lie from the first
{% macro neighbours(s, f) -%}
  {% for c, stride in s.index.terms if c == f.coords[-1] %} + vec4<u32>(0u, 1u, 2u, 3u){{ " * p." ~ stride if stride != "1" }}{% endfor %}
{%- endmacro %}

{% macro gathered(s, T, read, at) -%}
//% if read == "each"
{{ T }}({% for c in "xyzw" %}{{ T.scalar.load(s.name, "(%s).%s" % (at, c), 1) }}{{ ", " if not loop.last }}{% endfor %})
//%- else
{{ T.load(s.name, at, 4 if read == "four" else 1) }}
//%- endif
{%- endmacro %}

{% macro scalar(s, f, wgsl) -%}let {{ s.var }} = {{ wgsl(s.dtype, f.width).of("p." + s.name) }};{%- endmacro %}

{% macro iota(s, f, wgsl) -%}
//% set T = wgsl(s.dtype, f.width)
//% set last = s.index.terms[-1] if s.index.terms else ("", "")
//% set first = index_of(s.index) if T.dtype.kind == "u" else "i32(%s)" % index_of(s.index)
//% if f.width == 4 and last[0] == f.coords[-1]
//% set by = " * " ~ T ~ "(i32(p." ~ last[1] ~ "))" if last[1] != "1" else ""
  let {{ s.var }} = {{ T }}({{ T }}({{ first }}) + {{ T }}(0, 1, 2, 3){{ by }});
//% else
  let {{ s.var }} = {{ first if T == "i32" else "%s(%s)" % (T, first) }};
//% endif
{%- endmacro %}

{% macro random(s, f, wgsl) -%}
//% set T = wgsl(s.dtype, f.width)
//% set last = s.index.terms[-1] if s.index.terms else ("", "")
//% set key = "vec4<u32>(p." ~ s.extra | join(", p.") ~ ")"
//% if f.width == 4 and last[0] == f.coords[-1]
  let {{ s.var }} = {{ T.scalar.call("philox") }}({{ key }}, {{ over(index_of(s.index), 4) }});
//% else
  let {{ s.var }} = {{ T }}({{ T.scalar.call("philox_word") }}({{ key }}, {{ index_of(s.index) }}));
//% endif
{%- endmacro %}

{% macro op(s, f, wgsl) -%}
//% set T = wgsl(s.dtype, f.width)
  let {{ s.var }} = {{ T.wrap(elementwise(s.name)(T, *s.args)) }};{%- endmacro %}

//# an index as a place: src/flambeau/core/faults.py
{% macro inside(s, f, wgsl) -%}
  let {{ s.var }} = {{ wgsl(s.extra[0], f.width).call(s.name) }}({{ s.args | join(", ") }}{% for word in s.extra[1:] %}, p.{{ word }}{% endfor %});
{%- endmacro %}

{% macro settle(s, f, wgsl) -%}let {{ s.var }} = {{ wgsl(s.dtype, f.width).settle(s.args[0]) }};{%- endmacro %}

{% macro guard(s, f, wgsl) -%}
//% set T = wgsl(s.dtype, f.width)
  let {{ s.var }} = select({{ T }}({{ T.zero }}), {{ s.args[0] }}, {{ within(s.tests) }});{%- endmacro %}

//# the result of a reduction of the same row, for every element
{% macro stat(s, f, wgsl) -%}
  let {{ s.var }} = {{ "%s(%s)" % (wgsl(s.dtype, 4), s.name) if f.width == 4 else s.name }};{%- endmacro %}

//% set reads = {"load": load, "pieces": pieces, "gather": gather, "scalar": scalar, "iota": iota, "random": random}
//% set computes = {"op": op, "inside": inside, "settle": settle, "guard": guard, "stat": stat}
//% set step = dict(reads, **computes)

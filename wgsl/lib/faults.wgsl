//# Indices as places in 0..n: src/flambeau/core/faults.py. One compare tells, of negative ones too. There is no early return:
//# software adapters run both sides of a branch.
{% macro checked(T, name, wraps, known) %}
//% set I = T.i
fn {{ T.fn(name) }}(i: {{ T }}, n: u32, site: u32{{ ", none: i32" if known }}) -> {{ I }} {
//% if wraps and T.kind == "i"
  let w = select(i, i + {{ I }}(i32(n)), i < {{ I }}(0));
//% else
  let w = {{ I }}(i);
//% endif
  let outside = {{ T.u }}(w) >= {{ T.u }}(n);
  let bad = outside{{ " & (w != %s(none))" % I if known }};
//% if T.width == 4
  if (any(bad)) {
    {{ T.scalar.call("noted") }}(select(select(select(i.w, i.z, bad.z), i.y, bad.y), i.x, bad.x), n, site);
  }
//% else
  if (bad) {
    {{ T.call("noted") }}(i, n, site);
  }
//% endif
//% if known
  return select(w, {{ I }}(-1), outside);
//% elif T.kind == "u"
  return {{ I }}(min(i, {{ T }}(n - 1u)));
//% else
  return clamp(w, {{ I }}(0), {{ I }}(i32(n) - 1));
//% endif
}
{% endmacro %}
{% macro inside(T) %}{{ checked(T, "inside", false, false) }}{% endmacro %}
{% macro wrapped(T) %}{{ checked(T, "wrapped", true, false) }}{% endmacro %}
{% macro known(T) %}{{ checked(T, "known", false, true) }}{% endmacro %}
//# the threads of a kernel differ in the index alone: any of theirs will do
{% macro noted(T) %}
fn {{ T.fn("noted") }}(i: {{ T }}, n: u32, site: u32) {
  faults[0] = vec4<u32>({{ "2u" if T.kind == "u" else "1u" }}, site, u32(i), n);
}
{% endmacro %}

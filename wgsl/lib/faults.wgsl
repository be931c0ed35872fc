//# Indices as places in 0..n: src/flambeau/core/faults.py. One compare tells, of negative ones too. There is no early return:
//# software adapters run both sides of a branch. wide: the kind (i or u) of a 64-bit index; i is that index clamped to 32 bits,
//# and the fault reports its two words.
{% macro checked(T, name, wraps, known, wide="") %}
//% set I = T.i
//% set words = ["low", "high"] if wide else ["i"]
fn {{ T.fn(name) }}(i: {{ T }}, {{ "low: %s, high: %s, " % (T.u, T.u) if wide }}n: u32, site: u32{{ ", none: i32" if known }}) -> {{ I }} {
  let w = select(i, i + {{ I }}(i32(n)), i < {{ I }}(0)); //% if wraps and T.kind == "i"
  let w = {{ I }}(i); //% if not (wraps and T.kind == "i")
  let outside = {{ T.u }}(w) >= {{ T.u }}(n);
  let bad = outside{{ " & (w != %s(none))" % I if known }};
  if (any(bad)) { //% if T.width == 4
    let {{ v }}_bad = select(select(select({{ v }}.w, {{ v }}.z, bad.z), {{ v }}.y, bad.y), {{ v }}.x, bad.x); //% for v in words
    {{ T.scalar.call("noted" ~ wide) }}({% for v in words %}{{ v }}_bad, {% endfor %}n, site);
  }
  if (bad) { //% if T.width != 4
    {{ T.call("noted" ~ wide) }}({{ words | join(", ") }}, n, site);
  }
  return select(w, {{ I }}(-1), outside); //% if known
  return {{ I }}(min(i, {{ T }}(n - 1u))); //% elif T.kind == "u"
  return clamp(w, {{ I }}(0), {{ I }}(i32(n) - 1)); //% else
}{% endmacro %}
{% macro inside(T) %}{{ checked(T, "inside", false, false) }}{% endmacro %}
{% macro wrapped(T) %}{{ checked(T, "wrapped", true, false) }}{% endmacro %}
{% macro known(T) %}{{ checked(T, "known", false, true) }}{% endmacro %}
{% macro inside_i64(T) %}{{ checked(T, "inside_i64", false, false, "_i64") }}{% endmacro %}
{% macro wrapped_i64(T) %}{{ checked(T, "wrapped_i64", true, false, "_i64") }}{% endmacro %}
{% macro known_i64(T) %}{{ checked(T, "known_i64", false, true, "_i64") }}{% endmacro %}
{% macro inside_u64(T) %}{{ checked(T, "inside_u64", false, false, "_u64") }}{% endmacro %}
{% macro wrapped_u64(T) %}{{ checked(T, "wrapped_u64", false, false, "_u64") }}{% endmacro %}
{% macro known_u64(T) %}{{ checked(T, "known_u64", false, true, "_u64") }}{% endmacro %}
//# the threads of a kernel differ in the index alone: any of theirs will do
{% macro noted(T) %}
fn {{ T.fn("noted") }}(i: {{ T }}, n: u32, site: u32) {
  faults[0] = vec4<u32>({{ "0x20000u" if T.kind == "u" else "0x10000u" }} | site, u32(i), {{ "0u" if T.kind == "u" else "u32(i >> 31u)" }}, n);
}{% endmacro %}
{% macro noted_words(T, name, kind) %}
fn {{ T.fn(name) }}(low: u32, high: u32, n: u32, site: u32) {
  faults[0] = vec4<u32>({{ kind }} | site, low, high, n);
}{% endmacro %}
{% macro noted_i64(T) %}{{ noted_words(T, "noted_i64", "0x10000u") }}{% endmacro %}
{% macro noted_u64(T) %}{{ noted_words(T, "noted_u64", "0x20000u") }}{% endmacro %}

//# Numbers as keys: u32 that sort as the numbers do, -0 beside 0, NaN above all.
{% macro sort_key(T) %}
fn {{ T.fn("sort_key") }}(x: {{ T }}) -> u32 {
  let bits = bitcast<u32>(x); //% if T.kind == "f"
  let size = bits & 0x7fffffffu; //% same
  let key = select(bits | 0x80000000u, ~bits, (bits >> 31u) == 1u); //% same
  return select(select(key, 0x80000000u, size == 0u), 0xffffffffu, size > 0x7f800000u); //% same
  return bitcast<u32>(x) ^ 0x80000000u; //% elif T.kind == "i"
  return select(0u, 1u, x); //% elif T.kind == "b"
  return x; //% else
}{% endmacro %}
//# the same with the smallest number highest, and NaN above it
{% macro falling_key(T) %}
fn {{ T.fn("falling_key") }}(x: {{ T }}) -> u32 {
  let key = {{ T.call("sort_key") }}(x);
  return select(~key, key, key == 0xffffffffu); //% if T.kind == "f"
  return ~key; //% if T.kind != "f"
}{% endmacro %}
//# log(exp(a) + exp(b)), also of infinities
{% macro log_add(T) %}
fn {{ T.fn("log_add") }}(a: {{ T }}, b: {{ T }}) -> {{ T }} {
  let sum = max(a, b) + {{ T.call("log1p") }}(exp(-abs(a - b)));
  let settled = select(sum, {{ T.call("nan_operand") }}(a, b), {{ T.call("either_nan") }}(a, b));
  return select(settled, a + {{ T }}(0.6931472), bitcast<{{ T.u }}>(a) == bitcast<{{ T.u }}>(b));
}{% endmacro %}

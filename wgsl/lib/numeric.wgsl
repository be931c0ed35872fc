//# Functions of numbers as floats are built: their bits, powers of two, lengths, common divisors.
//# the next float from x towards y: floats count as their bits do, away from zero
{% macro next_float(T) %}
fn {{ T.fn("next_float") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let bits = bitcast<{{ T.u }}>(x);
  let size = bits & {{ T.u }}(0x7fffffffu);
  let sign_of_y = bitcast<{{ T.u }}>(y) & {{ T.u }}(0x80000000u);
  let outward = ((bits >> {{ T.u }}(31u)) == {{ T.u }}(1u)) == (y < x);
  let next = select(bits - {{ T.u }}(1u), bits + {{ T.u }}(1u), outward);
  let moved = select(next, sign_of_y | {{ T.u }}(1u), size == {{ T.u }}(0u));
  let nan = {{ T.u }}(0x7fc00000u) | (bits & {{ T.u }}(0u));
  let found = select(moved, bitcast<{{ T.u }}>(y), x == y);
  return bitcast<{{ T }}>(select(found, nan, {{ T.call("either_nan") }}(x, y)));
}{% endmacro %}
//# scaled by the larger, so that no square overflows; an infinite side is infinite whatever the other is
{% macro hypotenuse(T) %}
fn {{ T.fn("hypotenuse") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let a = max(abs(x), abs(y));
  let ratio = min(abs(x), abs(y)) / select(a, {{ T }}(1), a == {{ T }}(0));
  let infinity = {{ T.infinity }};
  let length = a * sqrt({{ T }}(1) + ratio * ratio);
  let finite = select(length, {{ T.call("nan_operand") }}(x, y), {{ T.call("either_nan") }}(x, y));
  return select(finite, infinity, (abs(x) == infinity) | (abs(y) == infinity));
}{% endmacro %}
//# x * 2^e by four factors, each a float: the products before the last are exact unless they overflow
{% macro times_power_of_two(T) %}
fn {{ T.fn("times_power_of_two") }}(x: {{ T }}, e: {{ T.i }}) -> {{ T }} {
  let n = clamp(e, {{ T.i }}(-400), {{ T.i }}(400));
  let a = n / {{ T.i }}(4);
  let b = n - {{ T.i }}(3) * a;
  let quarter = bitcast<{{ T }}>((a + {{ T.i }}(127)) << {{ T.u }}(23u));
  return x * quarter * quarter * quarter * bitcast<{{ T }}>((b + {{ T.i }}(127)) << {{ T.u }}(23u));
}{% endmacro %}
//# e of x = m * 2^e with m in [0.5, 1), as an integer T; denormals count as the zeros that adapters make them
{% macro float_exponent(T) %}
fn {{ T.fn("float_exponent") }}(x: {{ "f32" if T.width == 1 else "vec4<f32>" }}) -> {{ T }} {
  let biased = {{ T }}((bitcast<{{ T.u }}>(x) >> {{ T.u }}(23u)) & {{ T.u }}(255u));
  return select(biased - {{ T }}(126), {{ T }}(0), (biased == {{ T }}(0)) | (biased == {{ T }}(255)));
}{% endmacro %}
//# Euclid's algorithm: a u32 pair takes at most 47 steps
{% macro greatest_divisor(T) %}
fn {{ T.fn("greatest_divisor") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  var a = {{ "x" if T.kind == "u" else T.u ~ "(abs(x))" }};
  var b = {{ "y" if T.kind == "u" else T.u ~ "(abs(y))" }};
  for (var i = 0; i < 47; i++) {
    let left = b != {{ T.u }}(0u);
    let divisor = select({{ T.u }}(1u), b, left);
    let rest = a - (a / divisor) * divisor;
    a = select(a, b, left);
    b = select(b, rest, left);
  }
  return {{ T }}(a);
}{% endmacro %}
//# log(exp(x) + exp(y)): the larger plus what the other adds; equal infinities are themselves
{% macro log_of_sum(T) %}
fn {{ T.fn("log_of_sum") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let top = max(x, y);
  let sum = top + {{ T.call("log1p") }}(exp(-abs(x - y)));
  let settled = select(sum, x, (x == y) & (abs(x) > {{ T }}(3e38)));
  return select(settled, {{ T.call("nan_operand") }}(x, y), {{ T.call("either_nan") }}(x, y));
}{% endmacro %}

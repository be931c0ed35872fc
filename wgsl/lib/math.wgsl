//# WGSL functions that the language lacks or drivers get wrong; each is added to a kernel only when it is called.
//# WGSL has no constants for these, and naga and Tint reject an expression that folds to one.
{% macro constant(T, name, bits, meaning) %}
// {{ meaning }}: its bits go through a variable, since WGSL rejects a constant expression that is not finite
fn {{ T.fn(name) }}() -> f32 {
  var bits = {{ bits }}u;
  return bitcast<f32>(bits);
}{% endmacro %}
{% macro infinity(T) %}{{ constant(T, "infinity", "0x7f800000", "infinity") }}{% endmacro %}
{% macro minus_infinity(T) %}{{ constant(T, "minus_infinity", "0xff800000", "minus infinity") }}{% endmacro %}
{% macro not_a_number(T) %}{{ constant(T, "not_a_number", "0x7fc00000", "NaN") }}{% endmacro %}
{% macro nanmax(T) %}
fn {{ T.fn("nanmax") }}(a: {{ T }}, b: {{ T }}) -> {{ T }} {
  let kept = select(max(a, b), a, (bitcast<{{ T.u }}>(a) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u));
  return select(kept, b, (bitcast<{{ T.u }}>(b) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u));
}{% endmacro %}
{% macro nanmin(T) %}
fn {{ T.fn("nanmin") }}(a: {{ T }}, b: {{ T }}) -> {{ T }} {
  let kept = select(min(a, b), a, (bitcast<{{ T.u }}>(a) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u));
  return select(kept, b, (bitcast<{{ T.u }}>(b) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u));
}{% endmacro %}
//# 0 for what is negative, by its bits: those from behind -0 to -inf; NaN of either sign lies outside
{% macro rectified(T) %}
fn {{ T.fn("rectified") }}(x: {{ T }}) -> {{ T }} {
  return select(x, {{ T }}(0), bitcast<{{ T.u }}>(x) - {{ T.u }}(0x80000001u) < {{ T.u }}(0x7f800000u));
}{% endmacro %}
//# tanh overflows to NaN on some drivers, and 1 - 2 / (exp(2x) + 1) loses what is small: a short series near 0, and of
//# NaN, of which no comparison is true
{% macro safe_tanh(T) %}
fn {{ T.fn("safe_tanh") }}(x: {{ T }}) -> {{ T }} {
  let s = x * x;
  let near = x * ({{ T }}(1) + s * ({{ T }}(-0.33333334) + s * ({{ T }}(0.13333334) + s * ({{ T }}(-0.05396825) + s * {{ T }}(0.021869488)))));
  let far = {{ T }}(1) - {{ T }}(2) / (exp({{ T }}(2) * min(x, {{ T }}(15))) + {{ T }}(1));
  return select(near, far, abs(x) >= {{ T }}(0.3));
}{% endmacro %}
//# log(0) is -inf, log of a negative and of NaN is NaN on every driver; both are made at run time, for WGSL has none
{% macro safe_log(T) %}
fn {{ T.fn("safe_log") }}(x: {{ T }}) -> {{ T }} {
  let zero = bitcast<{{ T }}>(bitcast<{{ T.u }}>(x) & {{ T.u }}(0x7fffffffu)) == {{ T }}(0);
  let minus_infinity = {{ T.minus_infinity }};
  let nan = {{ T.nan }};
  return select(select(log(x), nan, bitcast<{{ T.u }}>(x) > {{ T.u }}(0x7f800000u)), minus_infinity, zero);
}{% endmacro %}
//# log(1 + x) = 2 atanh(x / (2 + x)) by its series up to 0.5, where rounding 1 + x would lose digits
{% macro log1p(T) %}
fn {{ T.fn("log1p") }}(x: {{ T }}) -> {{ T }} {
  let r = x / (x + {{ T }}(2));
  let s = r * r;
  let sum = s * ({{ T }}(0.33333334) + s * ({{ T }}(0.2) + s * ({{ T }}(0.14285715) + s * ({{ T }}(0.11111111) + s * {{ T }}(0.09090909)))));
  return select({{ T.call("safe_log") }}({{ T }}(1) + x), {{ T }}(2) * (r + r * sum), abs(x) < {{ T }}(0.5));
}{% endmacro %}
{% macro expm1(T) %}
fn {{ T.fn("expm1") }}(x: {{ T }}) -> {{ T }} {
  let s = x * ({{ T }}(1) + x * ({{ T }}(0.5) + x * ({{ T }}(0.16666667) + x * ({{ T }}(0.041666668) + x * ({{ T }}(0.008333334) + x
      * {{ T }}(0.0013888889))))));
  return select({{ T.call("safe_exp") }}(x) - {{ T }}(1), s, abs(x) < {{ T }}(0.4));
}{% endmacro %}
{% macro hyperbolic_sine(T) %}
fn {{ T.fn("hyperbolic_sine") }}(x: {{ T }}) -> {{ T }} {
  let s = x * x;
  let near = x * ({{ T }}(1) + s * ({{ T }}(0.16666667) + s * ({{ T }}(0.008333334) + s * {{ T }}(0.0001984127))));
  return select((exp(x) - exp(-x)) * {{ T }}(0.5), near, abs(x) < {{ T }}(0.5));
}{% endmacro %}
{% macro inverse_sinh(T) %}
fn {{ T.fn("inverse_sinh") }}(x: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let near = {{ T.call("log1p") }}(a + a * a / ({{ T }}(1) + sqrt(a * a + {{ T }}(1))));
  let y = sign(x) * select(near, {{ T.call("safe_log") }}(a) + {{ T }}(0.6931472), a > {{ T }}(1e4));
  return select(y, x, x == {{ T }}(0));
}{% endmacro %}
{% macro inverse_cosh(T) %}
fn {{ T.fn("inverse_cosh") }}(x: {{ T }}) -> {{ T }} {
  let t = x - {{ T }}(1);
  let near = {{ T.call("log1p") }}(t + sqrt(t) * sqrt(t + {{ T }}(2)));
  return select(near, {{ T.call("safe_log") }}(x) + {{ T }}(0.6931472), x > {{ T }}(1e4));
}{% endmacro %}
//# erf: a series near 0, else 1 - exp(-x^2) times a rational fit (Numerical Recipes, 2nd ed., erfc; error 1.2e-7)
{% macro error_function(T) %}
fn {{ T.fn("error_function") }}(x: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let s = x * x;
  let near = x * ({{ T }}(1.1283792) + s * ({{ T }}(-0.37612638) + s * ({{ T }}(0.11283792) + s * ({{ T }}(-0.026866170) + s
      * {{ T }}(0.0052239776)))));
  let t = {{ T }}(1) / ({{ T }}(1) + a * {{ T }}(0.5));
  let fit = {{ T }}(-1.26551223) + t * ({{ T }}(1.00002368) + t * ({{ T }}(0.37409196) + t * ({{ T }}(0.09678418) + t
      * ({{ T }}(-0.18628806) + t * ({{ T }}(0.27886807) + t * ({{ T }}(-1.13520398) + t * ({{ T }}(1.48851587) + t * ({{ T }}(-0.82215223)
      + t * {{ T }}(0.17087277)))))))));
  let tail = {{ T }}(1) - t * exp(fit - s);
  return select(select(tail, -tail, x < {{ T }}(0)), near, a < {{ T }}(0.4));
}{% endmacro %}
//# pow is not defined for negative x in WGSL: take the size, then the sign that a whole y gives. Small whole powers are
//# products, which are exact where the result can be
{% macro power(T) %}
fn {{ T.fn("power") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let infinity = {{ T.infinity }};
  let nan = {{ T.nan }};
  let whole = floor(y) == y;
  var squared = a;
  var product = {{ T }}(1);
  var bits = {{ T.u }}(min(abs(y), {{ T }}(64)));
  for (var i = 0; i < 6; i++) {
    product = select(product, product * squared, (bits & {{ T.u }}(1u)) == {{ T.u }}(1u));
    squared *= squared;
    bits = bits >> {{ T.u }}(1u);
  }
  let counted = select(product, {{ T }}(1) / product, y < {{ T }}(0));
  let finite = select(select(pow(a, y), counted, whole & (abs(y) < {{ T }}(64))), {{ T }}(1), a == {{ T }}(1));
  let shrinks = (a < {{ T }}(1)) == (y > {{ T }}(0));
  let extreme = (a == {{ T }}(0)) | (a == infinity) | ((abs(y) == infinity) & (a != {{ T }}(1)));
  let size = select(finite, select(infinity, {{ T }}(0), shrinks), extreme);
  let odd = whole & (floor(y * {{ T }}(0.5)) * {{ T }}(2) != y);
  let below = (bitcast<{{ T.u }}>(x) >> {{ T.u }}(31u)) == {{ T.u }}(1u);
  let signed = select(size, -size, odd & below);
  let real = select(signed, nan, ((x < {{ T }}(0)) & (a < infinity) & !whole) | {{ T.call("either_nan") }}(x, y));
  return select(real, {{ T }}(1), (y == {{ T }}(0)) | (x == {{ T }}(1)));
}{% endmacro %}
{% macro either_nan(T) %}
fn {{ T.fn("either_nan") }}(a: {{ T }}, b: {{ T }}) -> {{ T.b }} {
  return max(bitcast<{{ T.u }}>(a) & {{ T.u }}(0x7fffffffu), bitcast<{{ T.u }}>(b) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u);
}{% endmacro %}
//# the operand that is NaN: drivers fold the sum of a number and its negative to 0
{% macro nan_operand(T) %}
fn {{ T.fn("nan_operand") }}(a: {{ T }}, b: {{ T }}) -> {{ T }} {
  return select(b, a, {{ T.call("either_nan") }}(a, a));
}{% endmacro %}
//# exp of NaN is NaN on every driver
{% macro safe_exp(T) %}
fn {{ T.fn("safe_exp") }}(x: {{ T }}) -> {{ T }} {
  return select(exp(x), x, (bitcast<{{ T.u }}>(x) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u));
}{% endmacro %}

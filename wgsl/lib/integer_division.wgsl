//# Powers of integers, quotients and remainders with the signs of Python, whatever the language leaves undefined.
//# only 1 and -1 have negative powers that are not 0
{% macro integer_power(T) %}
fn {{ T.fn("integer_power") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  var base = select(x, select({{ T }}(0), x, {{ "abs(x)" if T.kind == "i" else "x" }} == {{ T }}(1)), y < {{ T }}(0));
  var left = {{ "abs(y)" if T.kind == "i" else "y" }};
  var result = {{ T }}(1);
  for (var i = 0; i < 31; i++) {
    result = select(result, result * base, (left & {{ T }}(1)) == {{ T }}(1));
    base *= base;
    left = left >> {{ T.u }}(1u);
  }
  return result;
}{% endmacro %}
//# x / y, which no driver takes for 1 where both are the same: the sign of y is turned by its bit
{% macro plain_quotient(T) %}
fn {{ T.fn("plain_quotient") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  return -(x / bitcast<{{ T }}>(bitcast<{{ T.u }}>(y) ^ {{ T.u }}(0x80000000u)));
}{% endmacro %}
//# GL leaves % of negative integers undefined: x - x / y * y is defined everywhere
{% macro truncated_remainder(T) %}
fn {{ T.fn("truncated_remainder") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let q = trunc({{ T.call("plain_quotient") }}(x, y)); //% if T.kind == "f"
  let left = {{ T.call("what_is_left") }}(x, q, y); //% same
  var r = select(left, left + sign(x) * abs(y), left * x < {{ T }}(0)); //% same
  let far = (abs(q) >= {{ T }}(4096)) & (abs(x) <= {{ T }}(3.4028234e38)) & (y != {{ T }}(0)); //% same
  if ({{ "any(far)" if T.width > 1 else "far" }}) { //% same
    r = select(r, {{ T.call("long_remainder") }}(x, y), far);
  }
  let zero = bitcast<{{ T }}>(bitcast<{{ T.u }}>(x) & {{ T.u }}(0x80000000u)); //% same
  return select(select(r, zero, r == {{ T }}(0)), x, abs(x) < abs(y)); //% same
  return select(x - (x / y) * y, {{ T }}(0), y == {{ T }}(0)); //% else
}{% endmacro %}
//# of large quotients, exact: the 24 bits of x divided by those of y, 8 binary places at a time
{% macro long_remainder(T) %}
//% set U = T.u
fn {{ T.fn("long_remainder") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let a = bitcast<{{ U }}>(x);
  let b = bitcast<{{ U }}>(y);
  let divisor = (b & {{ U }}(0x7fffffu)) | {{ U }}(0x800000u);
  let scale = {{ T.i }}((b >> {{ U }}(23u)) & {{ U }}(255u));
  var r = ((a & {{ U }}(0x7fffffu)) | {{ U }}(0x800000u)) % divisor;
  var places = {{ T.i }}((a >> {{ U }}(23u)) & {{ U }}(255u)) - scale;
  for (var i = 0; i < 32 && {{ "any(places > %s(0))" % T.i if T.width > 1 else "places > 0" }}; i++) {
    let s = clamp(places, {{ T.i }}(0), {{ T.i }}(8));
    r = (r << {{ U }}(s)) % divisor;
    places -= s;
  }
  let size = {{ T.call("times_power_of_two") }}({{ T }}(r), scale - {{ T.i }}(150));
  return select(size, -size, x < {{ T }}(0));
}{% endmacro %}
{% macro float_remainder(T) %}
fn {{ T.fn("float_remainder") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let r = {{ T.call("truncated_remainder") }}(x, y);
  return select(r, r + y, (r != {{ T }}(0)) & ((r < {{ T }}(0)) != (y < {{ T }}(0))));
}{% endmacro %}
{% macro integer_remainder(T) %}
fn {{ T.fn("integer_remainder") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let r = {{ T.call("truncated_remainder") }}(x, y);
  return {{ "r" if T.kind == "u" else "select(r, r + y, (r != %s(0)) & ((r < %s(0)) != (y < %s(0))))" % (T, T, T) }};
}{% endmacro %}
//# x // 0 is 0, as NumPy has it: nothing may trap
{% macro integer_floor_divide(T) %}
fn {{ T.fn("integer_floor_divide") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let q = x / y;
  let floored = {{ "q" if T.kind == "u" else "select(q, q - %s(1), (q * y != x) & ((x < %s(0)) != (y < %s(0))))" % (T, T, T) }};
  return select(floored, {{ T }}(0), y == {{ T }}(0));
}{% endmacro %}
//# x - q * y by halves of y, whose products with q below 2^12 are exact: no adapter need fuse its fma
{% macro what_is_left(T) %}
fn {{ T.fn("what_is_left") }}(x: {{ T }}, q: {{ T }}, y: {{ T }}) -> {{ T }} {
  let high = bitcast<{{ T }}>(bitcast<{{ T.u }}>(y) & {{ T.u }}(0xfffff000u));
  return (x - q * high) - q * (y - high);
}{% endmacro %}
//# a quotient that was rounded up to a whole number is one too many: what is left then has not the sign of y
{% macro float_floor_divide(T) %}
fn {{ T.fn("float_floor_divide") }}(x: {{ T }}, y: {{ T }}) -> {{ T }} {
  let q = floor({{ T.call("plain_quotient") }}(x, y));
  let r = select({{ T.call("what_is_left") }}(x, q, y), x, q == {{ T }}(0));
  let nan = {{ T.nan }};
  let whole = select(q, q - {{ T }}(1), (r != {{ T }}(0)) & ((r < {{ T }}(0)) != (y < {{ T }}(0))));
  return select(whole, nan, (abs(x) > {{ T }}(3.4028234e38)) & (y != {{ T }}(0)));
}{% endmacro %}

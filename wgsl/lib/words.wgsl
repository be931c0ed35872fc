//# 64-bit numbers as two words: the functions that no single word computes. T is u32 or four of them; the second of a pair is the
//# high word.
{% macro product_high(T) %}
fn {{ T.fn("product_high") }}(a: {{ T }}, b: {{ T }}) -> {{ T }} {
  let a0 = a & {{ T }}(0xffffu);
  let a1 = a >> {{ T.u }}(16u);
  let b0 = b & {{ T }}(0xffffu);
  let b1 = b >> {{ T.u }}(16u);
  let low = a0 * b0;
  let middle = a1 * b0 + (low >> {{ T.u }}(16u));
  let other = a0 * b1 + (middle & {{ T }}(0xffffu));
  return a1 * b1 + (middle >> {{ T.u }}(16u)) + (other >> {{ T.u }}(16u));
}{% endmacro %}
{% macro long_product(T) %}
fn {{ T.fn("long_product") }}(a: array<{{ T }}, 2>, b: array<{{ T }}, 2>) -> array<{{ T }}, 2> {
  return array<{{ T }}, 2>(a[0] * b[0], {{ T.call("product_high") }}(a[0], b[0]) + a[0] * b[1] + a[1] * b[0]);
}{% endmacro %}
{% macro long_power(T) %}
fn {{ T.fn("long_power") }}(a0: {{ T }}, a1: {{ T }}, b0: {{ T }}, b1: {{ T }}) -> array<{{ T }}, 2> {
  var base = array<{{ T }}, 2>(a0, a1);
  var result = array<{{ T }}, 2>({{ T }}(1), {{ T }}(0));
  for (var i = 0u; i < 64u; i++) {
    let word = select(b1, b0, {{ "vec4<bool>(i < 32u)" if T.width > 1 else "i < 32u" }});
    let bit = ((word >> {{ T.u }}(i & 31u)) & {{ T }}(1)) == {{ T }}(1);
    let next = {{ T.call("long_product") }}(result, base);
    result[0] = select(result[0], next[0], bit);
    result[1] = select(result[1], next[1], bit);
    base = {{ T.call("long_product") }}(base, base);
  }
  return result;
}{% endmacro %}
//# bit by bit; x / 0 is 0, as NumPy has it
{% macro long_quotient(T) %}
fn {{ T.fn("long_quotient") }}(a0: {{ T }}, a1: {{ T }}, b0: {{ T }}, b1: {{ T }}) -> array<{{ T }}, 2> {
  var q0 = a0;
  var q1 = a1;
  var r0 = {{ T }}(0);
  var r1 = {{ T }}(0);
  for (var i = 0u; i < 64u; i++) {
    let over = (r1 >> {{ T.u }}(31u)) == {{ T }}(1);
    r1 = (r1 << {{ T.u }}(1u)) | (r0 >> {{ T.u }}(31u));
    r0 = (r0 << {{ T.u }}(1u)) | (q1 >> {{ T.u }}(31u));
    q1 = (q1 << {{ T.u }}(1u)) | (q0 >> {{ T.u }}(31u));
    q0 = q0 << {{ T.u }}(1u);
    let fits = over | (r1 > b1) | ((r1 == b1) & (r0 >= b0));
    let borrow = select({{ T }}(0), {{ T }}(1), r0 < b0);
    r1 = select(r1, r1 - b1 - borrow, fits);
    r0 = select(r0, r0 - b0, fits);
    q0 = q0 | select({{ T }}(0), {{ T }}(1), fits);
  }
  let none = (b0 | b1) == {{ T }}(0);
  return array<{{ T }}, 2>(select(q0, {{ T }}(0), none), select(q1, {{ T }}(0), none));
}{% endmacro %}
//# Stein's: the larger less the smaller, halved until it is odd; at most a bit of either goes in each turn
{% macro long_divisor(T) %}
fn {{ T.fn("long_divisor") }}(a0: {{ T }}, a1: {{ T }}, b0: {{ T }}, b1: {{ T }}) -> array<{{ T }}, 2> {
  let a_is_none = (a0 | a1) == {{ T }}(0);
  let b_is_none = (b0 | b1) == {{ T }}(0);
  var x0 = select(a0, b0, a_is_none);
  var x1 = select(a1, b1, a_is_none);
  var y0 = select(b0, x0, b_is_none);
  var y1 = select(b1, x1, b_is_none);
  var twos = {{ T }}(0);
  for (var i = 0u; i < 128u; i++) {
    let x_even = (x0 & {{ T }}(1)) == {{ T }}(0);
    let y_even = (y0 & {{ T }}(1)) == {{ T }}(0);
    let halve_x = x_even;
    let halve_y = y_even;
    twos += select({{ T }}(0), {{ T }}(1), x_even & y_even & ((x0 | x1) != {{ T }}(0)));
    let odd = !x_even & !y_even;
    let larger = (x1 > y1) | ((x1 == y1) & (x0 >= y0));
    let same = (x0 == y0) & (x1 == y1);
    let d0 = select(y0 - x0, x0 - y0, larger);
    let d1 = select(y1 - x1 - select({{ T }}(0), {{ T }}(1), y0 < x0), x1 - y1 - select({{ T }}(0), {{ T }}(1), x0 < y0), larger);
    let next_x0 = select(x0, (x0 >> {{ T.u }}(1u)) | (x1 << {{ T.u }}(31u)), halve_x);
    let next_x1 = select(x1, x1 >> {{ T.u }}(1u), halve_x);
    let next_y0 = select(y0, (y0 >> {{ T.u }}(1u)) | (y1 << {{ T.u }}(31u)), halve_y);
    let next_y1 = select(y1, y1 >> {{ T.u }}(1u), halve_y);
    let h0 = (d0 >> {{ T.u }}(1u)) | (d1 << {{ T.u }}(31u));
    let h1 = d1 >> {{ T.u }}(1u);
    x0 = select(next_x0, h0, odd & larger & !same);
    x1 = select(next_x1, h1, odd & larger & !same);
    y0 = select(next_y0, h0, odd & !larger & !same);
    y1 = select(next_y1, h1, odd & !larger & !same);
  }
  let far = twos >= {{ T }}(32);
  let s = twos & {{ T }}(31);
  let carried = select({{ T }}(0), x0 >> (({{ T }}(32) - s) & {{ T }}(31)), s > {{ T }}(0));
  return array<{{ T }}, 2>(select(x0 << s, {{ T }}(0), far), select((x1 << s) | carried, x0 << s, far));
}{% endmacro %}
//# the highest 24 bits, rounded by what is below them, halves to even, and then a power of 2: exact
{% macro rounded_whole(T) %}
//% set U = T.u
fn {{ T.fn("rounded_whole") }}(low: {{ U }}, high: {{ U }}) -> {{ T }} {
  let upper = high != {{ U }}(0);
  let top = select(low, high, upper);
  let zeros = countLeadingZeros(top) & {{ U }}(31);
  let rest = select({{ U }}(0), low, upper);
  let moved = select({{ U }}(0), rest >> (({{ U }}(32) - zeros) & {{ U }}(31)), zeros > {{ U }}(0));
  let a = (top << zeros) | moved;
  let b = rest << zeros;
  let kept = a >> {{ U }}(8u);
  let lost = a & {{ U }}(255);
  let more = (lost > {{ U }}(128)) | ((lost == {{ U }}(128)) & ((b != {{ U }}(0)) | ((kept & {{ U }}(1)) == {{ U }}(1))));
  let size = {{ T }}(kept + select({{ U }}(0), {{ U }}(1), more));
  let power = select({{ U }}(8), {{ U }}(40), upper) - zeros + {{ U }}(127);
  return size * bitcast<{{ T }}>(power << {{ U }}(23u));
}{% endmacro %}
{% macro long_sum(T) %}
fn {{ T.fn("long_sum") }}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + u32(low < b.x));
}{% endmacro %}
{% macro long_max_i(T) %}
fn {{ T.fn("long_max_i") }}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, bitcast<i32>(b.y) > bitcast<i32>(a.y) || (b.y == a.y && b.x > a.x));
}{% endmacro %}
{% macro long_min_i(T) %}
fn {{ T.fn("long_min_i") }}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, bitcast<i32>(b.y) < bitcast<i32>(a.y) || (b.y == a.y && b.x < a.x));
}{% endmacro %}
{% macro long_max_u(T) %}
fn {{ T.fn("long_max_u") }}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, b.y > a.y || (b.y == a.y && b.x > a.x));
}{% endmacro %}
{% macro long_min_u(T) %}
fn {{ T.fn("long_min_u") }}(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, b.y < a.y || (b.y == a.y && b.x < a.x));
}{% endmacro %}

//# Sines, cosines and their inverses: drivers are exact only near 0, so the reductions are ours.
//# sin and cos are exact to 1e-7 only near 0 on some drivers: take whole quarter turns out first, by a sum of three
//# numbers so short that their products are exact where fma is not fused (Cody and Waite, 1980)
{% macro quarter_turns(T) %}
fn {{ T.fn("quarter_turns") }}(x: {{ T }}) -> {{ T }} {
  return round(x * {{ T }}(0.6366197723675814));
}{% endmacro %}
//# 32 bits each of 2/pi, two bits down
{% macro bits_of_two_over_pi(T) %}
fn {{ T.fn("bits_of_two_over_pi") }}(word: {{ T.i }}) -> {{ T.u }} {
  var bits = {{ T.u }}(0u);
//% for w in ("0x28be60dbu", "0x9391054au", "0x7f09d5f4u", "0x7d4d3770u", "0x36d8a566u", "0x4f10e410u")
  bits = select(bits, {{ T.u }}({{ w }}), word == {{ T.i }}({{ loop.index0 }}));
//% endfor
  return bits;
}{% endmacro %}
{% macro high_word(T) %}
fn {{ T.fn("high_word") }}(a: {{ T.u }}, b: {{ T.u }}) -> {{ T.u }} {
  let half = {{ T.u }}(0xffffu);
  let s = {{ T.u }}(16u);
  let mid = (a >> s) * (b & half) + (((a & half) * (b & half)) >> s);
  let more = (a & half) * (b >> s) + (mid & half);
  return (a >> s) * (b >> s) + (mid >> s) + (more >> s);
}{% endmacro %}
//# far from 0, where those three are too short: the 24 bits of x times the 96 of 2/pi that make a part of a turn
//# (Payne and Hanek, 1983). `turns`: the quarter turns, of which the last two bits count
{% macro far_angle(T) %}
//% set U, word = T.u, T.call("bits_of_two_over_pi")
//% set high = T.call("high_word")
fn {{ T.fn("far_angle") }}(x: {{ T }}, turns: ptr<function, {{ T.i }}>) -> {{ T }} {
  let bits = bitcast<{{ U }}>(x);
  let m = (bits << {{ U }}(8u)) | {{ U }}(0x80000000u);
  let e = ((bits >> {{ U }}(23u)) & {{ U }}(255u)) - {{ U }}(126u);
  let at = {{ T.i }}(e >> {{ U }}(5u));
  let s = e & {{ U }}(31u);
  let back = {{ U }}(31u) - s;
  let w1 = {{ word }}(at);
  let w2 = {{ word }}(at + {{ T.i }}(1));
  let c0 = ({{ word }}(at - {{ T.i }}(1)) << s) | ((w1 >> {{ U }}(1u)) >> back);
  let c1 = (w1 << s) | ((w2 >> {{ U }}(1u)) >> back);
  let c2 = (w2 << s) | (({{ word }}(at + {{ T.i }}(2)) >> {{ U }}(1u)) >> back);
  let carried = {{ high }}(m, c2);
  var low = m * c1 + carried;
  let over = select({{ U }}(0u), {{ U }}(1u), low < carried);
  var part = m * c0 + {{ high }}(m, c1) + over;
  let quarter = part >> {{ U }}(30u);
  part = part & {{ U }}(0x3fffffffu);
  let up = part >= {{ U }}(0x20000000u);
  let borrow = select({{ U }}(1u), {{ U }}(0u), low == {{ U }}(0u));
  part = select(part, {{ U }}(0x40000000u) - part - borrow, up);
  low = select(low, {{ U }}(0u) - low, up);
  let size = ({{ T }}(part) * {{ T }}(9.3132257e-10) + {{ T }}(low) * {{ T }}(2.1684043e-19)) * {{ T }}(1.5707964);
  let below = x < {{ T }}(0);
  let q = {{ T.i }}(quarter) + select({{ T.i }}(0), {{ T.i }}(1), up);
  *turns = select(q, -q, below);
  return select(size, -size, up != below);
}{% endmacro %}
{% macro wave(T) %}
fn {{ T.fn("wave") }}(x: {{ T }}, shift: {{ T.i }}) -> {{ T }} {
  let near = {{ T.call("quarter_turns") }}(x);
  var r = fma(near, {{ T }}(-7.5497900e-8), fma(near, {{ T }}(-4.8375130e-4), fma(near, {{ T }}(-1.5703125), x)));
  var turns = {{ T.i }}(near);
  let far = (abs(x) > {{ T }}(8192)) & ((bitcast<{{ T.u }}>(x) & {{ T.u }}(0x7f800000u)) < {{ T.u }}(0x7f800000u));
  if ({{ "any(far)" if T.width > 1 else "far" }}) {
    var whole = {{ T.i }}(0);
    r = select(r, {{ T.call("far_angle") }}(x, &whole), far);
    turns = select(turns, whole, far);
  }
  let q = (turns + shift) & {{ T.i }}(3);
  let s = r * r;
  let sine = r * ({{ T }}(1) + s * ({{ T }}(-0.16666667) + s * ({{ T }}(0.008333331) + s * ({{ T }}(-0.00019840874) + s * {{ T }}(2.7525562e-6)))));
  let cosine = {{ T }}(1) + s * ({{ T }}(-0.5) + s * ({{ T }}(0.041666664) + s * ({{ T }}(-0.0013888837) + s * {{ T }}(2.4760495e-5))));
  let y = select(sine, cosine, (q & {{ T.i }}(1)) == {{ T.i }}(1));
  return select(y, -y, (q & {{ T.i }}(2)) == {{ T.i }}(2));
}{% endmacro %}
{% macro sine(T) %}
fn {{ T.fn("sine") }}(x: {{ T }}) -> {{ T }} {
  return select({{ T.call("wave") }}(x, {{ T.i }}(0)), x, x == {{ T }}(0));
}{% endmacro %}
{% macro cosine(T) %}
fn {{ T.fn("cosine") }}(x: {{ T }}) -> {{ T }} {
  return {{ T.call("wave") }}(x, {{ T.i }}(1));
}{% endmacro %}
//# atan by its reduction to [0, 0.4143] and a polynomial (Cephes atanf)
{% macro arctangent(T) %}
fn {{ T.fn("arctangent") }}(x: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let big = a > {{ T }}(2.4142135);
  let mid = a > {{ T }}(0.41421357);
  let r = select(select(a, (a - {{ T }}(1)) / (a + {{ T }}(1)), mid), {{ T }}(-1) / a, big);
  let start = select(select({{ T }}(0), {{ T }}(0.7853982), mid), {{ T }}(1.5707964), big);
  let s = r * r;
  let y = start + r + r * s * ({{ T }}(-0.33332950) + s * ({{ T }}(0.19977711) + s * ({{ T }}(-0.13877685) + s * {{ T }}(0.080537446))));
  return select(select(y, -y, x < {{ T }}(0)), x, x == {{ T }}(0));
}{% endmacro %}
//# the angle in the first half quadrant, mirrored as the sizes and the sign bits (of zeros too) say
{% macro arctangent2(T) %}
fn {{ T.fn("arctangent2") }}(y: {{ T }}, x: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let b = abs(y);
  let equal = a == b;
  let ratio = select(min(a, b) / max(a, b), select({{ T }}(1), a, a == {{ T }}(0)), equal);
  let half = {{ T.call("arctangent") }}(ratio);
  let upper = select(half, {{ T }}(1.5707964) - half, b > a);
  let angle = select(upper, {{ T }}(3.1415927) - upper, (bitcast<{{ T.u }}>(x) >> {{ T.u }}(31u)) == {{ T.u }}(1u));
  let turned = select(angle, -angle, (bitcast<{{ T.u }}>(y) >> {{ T.u }}(31u)) == {{ T.u }}(1u));
  return select(turned, {{ T.call("nan_operand") }}(x, y), {{ T.call("either_nan") }}(x, y));
}{% endmacro %}
//# asin by Cephes asinf: a polynomial to 0.5, and the half-angle form above it
{% macro arcsine(T) %}
fn {{ T.fn("arcsine") }}(x: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let high = a > {{ T }}(0.5);
  let z = select(a * a, ({{ T }}(1) - a) * {{ T }}(0.5), high);
  let r = select(a, sqrt(max(z, {{ T }}(0))), high);
  let y = r + r * z * ({{ T }}(0.16666752) + z * ({{ T }}(0.07495300) + z * ({{ T }}(0.045470025) + z * ({{ T }}(0.024181311) + z
      * {{ T }}(0.042163200)))));
  let w = select(y, {{ T }}(1.5707964) - y - y, high);
  let bad = a > {{ T }}(1);
  return select(select(select(w, -w, x < {{ T }}(0)), x, x == {{ T }}(0)), sqrt({{ T }}(1) - a), bad);
}{% endmacro %}
{% macro arccosine(T) %}
fn {{ T.fn("arccosine") }}(x: {{ T }}) -> {{ T }} {
  let near_one = x > {{ T }}(0.5);
  let half = {{ T }}(2) * {{ T.call("arcsine") }}(sqrt(({{ T }}(1) - x) * {{ T }}(0.5)));
  return select({{ T }}(1.5707964) - {{ T.call("arcsine") }}(x), half, near_one);
}{% endmacro %}

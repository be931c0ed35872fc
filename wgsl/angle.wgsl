//# Sines, cosines and their inverses: drivers are exact only near 0, so the reductions are ours.
//# sin and cos are exact to 1e-7 only near 0 on some drivers: take whole quarter turns out first, by a sum of three
//# numbers so short that their products are exact where fma is not fused (Cody and Waite, 1980)
{% macro quarter_turns(T) %}
fn {{ T.fn("quarter_turns") }}(x: {{ T }}) -> {{ T }} {
  return round(x * {{ T }}(0.6366197723675814));
}
{% endmacro %}
{% macro wave(T) %}
fn {{ T.fn("wave") }}(x: {{ T }}, shift: {{ T.i }}) -> {{ T }} {
  let turns = {{ T.call("quarter_turns") }}(x);
  let r = fma(turns, {{ T }}(-7.5497900e-8), fma(turns, {{ T }}(-4.8375130e-4), fma(turns, {{ T }}(-1.5703125), x)));
  let q = ({{ T.i }}(turns) + shift) & {{ T.i }}(3);
  let s = r * r;
  let sine = r * ({{ T }}(1) + s * ({{ T }}(-0.16666667) + s * ({{ T }}(0.008333331) + s * ({{ T }}(-0.00019840874) + s * {{ T }}(2.7525562e-6)))));
  let cosine = {{ T }}(1) + s * ({{ T }}(-0.5) + s * ({{ T }}(0.041666664) + s * ({{ T }}(-0.0013888837) + s * {{ T }}(2.4760495e-5))));
  let y = select(sine, cosine, (q & {{ T.i }}(1)) == {{ T.i }}(1));
  return select(y, -y, (q & {{ T.i }}(2)) == {{ T.i }}(2));
}
{% endmacro %}
{% macro sine(T) %}
fn {{ T.fn("sine") }}(x: {{ T }}) -> {{ T }} {
  return {{ T.call("wave") }}(x, {{ T.i }}(0));
}
{% endmacro %}
{% macro cosine(T) %}
fn {{ T.fn("cosine") }}(x: {{ T }}) -> {{ T }} {
  return {{ T.call("wave") }}(x, {{ T.i }}(1));
}
{% endmacro %}
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
  return select(y, -y, x < {{ T }}(0));
}
{% endmacro %}
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
  return select(turned, x + y, {{ T.call("either_nan") }}(x, y));
}
{% endmacro %}
//# asin by Cephes asinf: a polynomial to 0.5, and the half-angle form above it
{% macro arcsine(T) %}
fn {{ T.fn("arcsine") }}(x: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let high = a > {{ T }}(0.5);
  let z = select(a * a, ({{ T }}(1) - a) * {{ T }}(0.5), high);
  let r = select(a, sqrt(max(z, {{ T }}(0))), high);
  let y = r + r * z * ({{ T }}(0.16666752) + z * ({{ T }}(0.07495300) + z * ({{ T }}(0.045470025) + z * ({{ T }}(0.024181311) + z * {{ T }}(0.042163200)))));
  let w = select(y, {{ T }}(1.5707964) - y - y, high);
  let bad = a > {{ T }}(1);
  return select(select(w, -w, x < {{ T }}(0)), sqrt({{ T }}(1) - a), bad);
}
{% endmacro %}
{% macro arccosine(T) %}
fn {{ T.fn("arccosine") }}(x: {{ T }}) -> {{ T }} {
  let near_one = x > {{ T }}(0.5);
  let half = {{ T }}(2) * {{ T.call("arcsine") }}(sqrt(({{ T }}(1) - x) * {{ T }}(0.5)));
  return select({{ T }}(1.5707964) - {{ T.call("arcsine") }}(x), half, near_one);
}
{% endmacro %}

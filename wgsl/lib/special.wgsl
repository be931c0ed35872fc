//# Special functions: fits whose error is below a float32's step, in the spans where they were made.
{% macro horner(T, x, coefficients) -%}
{% for c in coefficients[:-1] %}({{ T }}({{ c }}) + {{ x }} * {% endfor %}{{ T }}({{ coefficients[-1] }}){{ ")" * (coefficients | length - 1) }}
{%- endmacro %}
//% set erfc_fit = [-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277]
//# erfc(x) exp(x^2) for x >= 0 (Numerical Recipes, 2nd ed., erfc; error 1.2e-7)
{% macro scaled_tail(T) %}
fn {{ T.fn("scaled_tail") }}(a: {{ T }}) -> {{ T }} {
  let t = {{ T }}(1) / ({{ T }}(1) + a * {{ T }}(0.5));
  return t * exp({{ horner(T, "t", erfc_fit) }});
}{% endmacro %}
//# exp(-x^2) by halves of x: rounding x^2 itself would cost a digit
{% macro bell(T) %}
fn {{ T.fn("bell") }}(x: {{ T }}) -> {{ T }} {
  let a = min(abs(x), {{ T }}(20));
  let high = bitcast<{{ T }}>(bitcast<{{ T.u }}>(a) & {{ T.u }}(0xfffff000u));
  return exp(-high * high) * exp((high - a) * (high + a));
}{% endmacro %}
{% macro error_complement(T) %}
fn {{ T.fn("error_complement") }}(x: {{ T }}) -> {{ T }} {
  let tail = {{ T.call("scaled_tail") }}(abs(x)) * {{ T.call("bell") }}(x);
  let wide = select(tail, {{ T }}(2) - tail, x < {{ T }}(0));
  return select(wide, {{ T }}(1) - {{ T.call("error_function") }}(x), abs(x) < {{ T }}(0.4));
}{% endmacro %}
{% macro scaled_complement(T) %}
fn {{ T.fn("scaled_complement") }}(x: {{ T }}) -> {{ T }} {
  let tail = {{ T.call("scaled_tail") }}(abs(x));
  return select(tail, {{ T }}(2) * exp(x * x) - tail, x < {{ T }}(0));
}{% endmacro %}
//# x of erfinv, w = -log(1 - x^2) (Giles, Approximating the erfinv function, 2010); what lies nearer to 1 than a float
//# can, the tails of ndtri, by what is between it and sqrt(w)
{% macro inverse_error(T) %}
fn {{ T.fn("inverse_error") }}(x: {{ T }}, w: {{ T }}) -> {{ T }} {
  let m = w - {{ T }}(2.5);
  let s = sqrt(max(w, {{ T }}(5))) - {{ T }}(3);
  let near = {{ horner(T, "m", [1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06, -3.5233877e-06,
      3.43273939e-07, 2.81022636e-08]) }};
  let far = {{ horner(T, "s", [2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844, 0.00134934322,
      0.000100950558, -0.000200214257]) }};
  let infinity = {{ T.infinity }};
  let l = s - {{ T }}(3.5);
  let tail = s + {{ T }}(3) + {{ horner(T, "l", [-0.135406721, 0.00910981254, -0.000510432577, -1.1538707e-05, 1.14474555e-05,
      -2.56411732e-06, 5.8428218e-07, -1.6452899e-07, 2.24451227e-08]) }};
  let y = x * select(select(far, near, w < {{ T }}(5)), tail, w > {{ T }}(16));
  let inside = select(y, select(infinity, -infinity, x < {{ T }}(0)), w >= infinity);
  return select(inside, w, {{ T.call("either_nan") }}(x, w));
}{% endmacro %}
//# log(gamma(x)): a fit about 2, products to reach it up to 8, Stirling's series above, reflection below 0
{% macro log_gamma(T) %}
fn {{ T.fn("log_gamma") }}(x: {{ T }}) -> {{ T }} {
  let a = abs(x);
  let low = a < {{ T }}(1.5);
  let least = a < {{ T }}(0.5);
  var z = select(a, {{ T }}(2.5), a > {{ T }}(8));
  var product = {{ T }}(1);
  for (var i = 0; i < 6; i++) {
    let high = z > {{ T }}(2.5);
    z = select(z, z - {{ T }}(1), high);
    product = select(product, product * z, high);
  }
  let t = select(select(z - {{ T }}(2), a - {{ T }}(1), low), a, least);
  let fit = t * {{ horner(T, "t", [0.422784335, 0.322467034, -0.0673523014, 0.0205807883, -0.00738553314, 0.00289095619, -0.00119305607,
      0.000505657421, -0.000220863593, 0.000115003556, -5.27972034e-05]) }};
  let far = {{ T.call("safe_log") }}(select(a, product, a <= {{ T }}(8)));
  let fall = select({{ T.call("log1p") }}(t), {{ T.call("safe_log") }}(a) + {{ T.call("log1p") }}(a), least);
  let r = {{ T }}(1) / a;
  let series = {{ T }}(0.41893853) + r * ({{ T }}(0.083333336) + r * r * ({{ T }}(-0.0027777778) + r * r * {{ T }}(0.0007936508)));
  let near = fit + select(far, -fall, low);
  let y = select(near, (a - {{ T }}(0.5)) * (far - {{ T }}(1)) + series, a > {{ T }}(8));
  let wave = abs({{ T.call("sine") }}({{ T }}(3.1415927) * (a - round(a))));
  let mirrored = {{ T.call("safe_log") }}({{ T }}(3.1415927) / wave) - {{ T.call("safe_log") }}(a) - y;
  let infinity = {{ T.infinity }};
  let below = select(mirrored, infinity, floor(a) == a);
  return select(select(y, below, x <= {{ T }}(0)), x * x, a >= infinity);
}{% endmacro %}
//# the slope of log_gamma: its recurrence up by six, then the asymptotic series (Abramowitz and Stegun, 6.3.18)
{% macro digamma_function(T) %}
fn {{ T.fn("digamma_function") }}(x: {{ T }}) -> {{ T }} {
  let mirrored = x < {{ T }}(0);
  let a = select(x, {{ T }}(1) - x, mirrored);
  var sum = {{ T }}(0);
  for (var i = 0; i < 6; i++) {
    sum += {{ T }}(1) / (a + {{ T }}(f32(i)));
  }
  let r = {{ T }}(1) / (a + {{ T }}(6));
  let s = r * r;
  let y = {{ T.call("safe_log") }}(a + {{ T }}(6)) - r * {{ T }}(0.5) - s * ({{ T }}(0.083333336) - s * ({{ T }}(0.008333334) - s
      * {{ T }}(0.003968254))) - sum;
  let turn = {{ T }}(3.1415927) * (x - round(x));
  let below = y - {{ T }}(3.1415927) * {{ T.call("cosine") }}(turn) / {{ T.call("sine") }}(turn);
  let infinity = {{ T.infinity }};
  let nan = {{ T.nan }};
  let pole = select(-infinity, infinity, (bitcast<{{ T.u }}>(x) >> {{ T.u }}(31u)) == {{ T.u }}(1u));
  let sided = select(y, select(below, nan, floor(x) == x), mirrored);
  return select(sided, pole, x == {{ T }}(0));
}{% endmacro %}
//# x^a e^-x / gamma(a + 1); from 10 on by Stirling, since logarithms of that size lose what is small
{% macro gamma_scale(T) %}
fn {{ T.fn("gamma_scale") }}(a: {{ T }}, x: {{ T }}) -> {{ T }} {
  let few = a * {{ T.call("safe_log") }}(x) - x - {{ T.call("log_gamma") }}(a + {{ T }}(1));
  let d = (x - a) / a;
  let many = a * ({{ T.call("log1p") }}(d) - d) - {{ T }}(0.5) * {{ T.call("safe_log") }}({{ T }}(6.2831853) * a) - {{ T }}(0.083333336) / a;
  return exp(select(few, many, a >= {{ T }}(10)));
}{% endmacro %}
//# the lower share of gamma's integral times what the scale leaves: its series, for x below a + 1
{% macro gamma_series(T) %}
fn {{ T.fn("gamma_series") }}(a: {{ T }}, x: {{ T }}) -> {{ T }} {
  var term = {{ T }}(1);
  var total = {{ T }}(1);
  for (var i = 1; i < 1000; i++) {
    term *= x / (a + {{ T }}(f32(i)));
    total += term;
    if (all(term < total * {{ T }}(3e-8))) {
      break;
    }
  }
  return total;
}{% endmacro %}
//# the upper share of gamma's integral over the scale: its continued fraction (Lentz), for x from a + 1 on
{% macro gamma_fraction(T) %}
fn {{ T.fn("gamma_fraction") }}(a: {{ T }}, x: {{ T }}) -> {{ T }} {
  var b = x + {{ T }}(1) - a;
  var c = {{ T }}(1e30);
  var d = {{ T }}(1) / b;
  var h = d;
  for (var i = 1; i < 1000; i++) {
    let n = {{ T }}(f32(i));
    b += {{ T }}(2);
    d = {{ T }}(1) / (n * (a - n) * d + b);
    c = b + n * (a - n) / c;
    h *= c * d;
    if (all(abs(c * d - {{ T }}(1)) < {{ T }}(1e-7))) {
      break;
    }
  }
  return a * h;
}{% endmacro %}
//# the share for a from 1e4 on and x within a tenth of it, where both would take thousands of terms: uniform in x / a (Temme; DLMF 8.12)
{% macro gamma_wide(T) %}
fn {{ T.fn("gamma_wide") }}(a: {{ T }}, x: {{ T }}, lower: {{ T }}) -> {{ T }} {
  let m = (x - a) / a;
  let eta = m * {{ horner(T, "m", [1, -0.33333334, 0.19444445, -0.13518518, 0.10270062]) }};
  let s = eta * sqrt(a * {{ T }}(0.5));
  let rest = exp(-s * s) / sqrt({{ T }}(6.2831853) * a) * {{ horner(T, "eta", [-0.33333334, 0.083333336, -0.014814815, 0.0011574074]) }};
  let side = select({{ T }}(1), {{ T }}(-1), lower > {{ T }}(0));
  return {{ T }}(0.5) * {{ T.call("error_complement") }}(side * s) + side * rest;
}{% endmacro %}
//# (the share that the series or the fraction gives, which of both in what is outside of it): see lower_gamma
{% macro gamma_share(T) %}
fn {{ T.fn("gamma_share") }}(a: {{ T }}, x: {{ T }}, lower: {{ T }}) -> {{ T }} {
  let is_wide = (a >= {{ T }}(1e4)) & (abs(x - a) <= a * {{ T }}(0.1));
  let near = (x < a + {{ T }}(1)) | is_wide;
  let scale = {{ T.call("gamma_scale") }}(a, x);
  let series = scale * {{ T.call("gamma_series") }}(a, select({{ T }}(0), x, near & !is_wide));
  let fraction = scale * {{ T.call("gamma_fraction") }}(select(a, {{ T }}(1), near), select(x, {{ T }}(4), near));
  let under = select({{ T }}(1) - fraction, series, near);
  let over = select(fraction, {{ T }}(1) - series, near);
  let infinity = {{ T.infinity }};
  let nan = {{ T.nan }};
  let none = (x == {{ T }}(0)) | (a >= infinity);
  let whole = (a == {{ T }}(0)) | (x >= infinity);
  let found = select(select(over, under, lower > {{ T }}(0)), {{ T.call("gamma_wide") }}(a, x, lower), is_wide);
  let share = select(select(found, {{ T }}(1) - lower, none), lower, whole & !none);
  let outside = (a < {{ T }}(0)) | (x < {{ T }}(0)) | (none & whole) | {{ T.call("either_nan") }}(a, x);
  return select(share, nan, outside);
}{% endmacro %}
{% macro lower_gamma(T) %}
fn {{ T.fn("lower_gamma") }}(a: {{ T }}, x: {{ T }}) -> {{ T }} {
  return {{ T.call("gamma_share") }}(a, x, {{ T }}(1));
}{% endmacro %}
{% macro upper_gamma(T) %}
fn {{ T.fn("upper_gamma") }}(a: {{ T }}, x: {{ T }}) -> {{ T }} {
  return {{ T.call("gamma_share") }}(a, x, {{ T }}(0));
}{% endmacro %}
//# sum of (q + k)^-s over k >= 0, by Euler and Maclaurin after eight terms
{% macro hurwitz_zeta(T) %}
fn {{ T.fn("hurwitz_zeta") }}(s: {{ T }}, q: {{ T }}) -> {{ T }} {
  var sum = {{ T }}(0);
  for (var i = 0; i < 8; i++) {
    sum += pow(q + {{ T }}(f32(i)), -s);
  }
  let a = q + {{ T }}(8);
  let last = pow(a, -s);
  let u = s / a;
  let v = (s + {{ T }}(1)) * (s + {{ T }}(2)) / (a * a);
  let w = (s + {{ T }}(3)) * (s + {{ T }}(4)) / (a * a);
  let rest = last * ({{ T }}(0.5) + u * ({{ T }}(0.083333336) - v * ({{ T }}(0.0013888889) - w * {{ T }}(3.3068783e-5))));
  let tail = pow(a, {{ T }}(1) - s) / (s - {{ T }}(1)) + select(rest, {{ T }}(0), last == {{ T }}(0));
  let infinity = {{ T.infinity }};
  let nan = {{ T.nan }};
  let pole = (s == {{ T }}(1)) | ((q <= {{ T }}(0)) & (floor(q) == q));
  let outside = (s < {{ T }}(1)) | (q < {{ T }}(0)) | {{ T.call("either_nan") }}(s, q);
  return select(select(select(sum + tail, {{ T }}(0), q >= infinity), nan, outside), infinity, pole & (s >= {{ T }}(1))
      & !{{ T.call("either_nan") }}(s, q));
}{% endmacro %}

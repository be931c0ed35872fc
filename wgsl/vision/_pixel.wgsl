//# One pixel of an augmented image, from its coordinates (x, y) in the output: its position in the input
//# image, the colours read there, and the operations on them. Its sample's row of numbers is t0, t1, ...
//# a position outside a stage's image: elements that a stage after the first cuts off are lost for later stages
{% macro ruled(s, k, last) %}
//% if s.rule == "edge"
    x = clamp(x, 0.0, p.w{{ k }} - 1.0);
    y = clamp(y, 0.0, p.h{{ k }} - 1.0);
//% elif s.rule in ("reflect", "symmetric")
    x = {{ "reflected" if s.rule == "reflect" else "mirrored" }}(x, p.w{{ k }});
    y = {{ "reflected" if s.rule == "reflect" else "mirrored" }}(y, p.h{{ k }});
//% elif s.rule == "box"
    let left = {{ s.numbers[2] }} - 0.5 * {{ s.numbers[0] }} + 0.5;
    let top = {{ s.numbers[5] }} - 0.5 * {{ s.numbers[4] }} + 0.5;
    x = clamp(x, left, left + {{ s.numbers[0] }} * p.w{{ k + 1 }} - 1.0);
    y = clamp(y, top, top + {{ s.numbers[4] }} * p.h{{ k + 1 }} - 1.0);
//% elif not last
    lost = lost || x < -0.5 || y < -0.5 || x > p.w{{ k }} - 0.5 || y > p.h{{ k }} - 0.5;
//% endif
{% endmacro %}

//# the image at (x, y): 0 outside; shares of what lies inside are summed up for the fill
{% macro tap(T, channels, x, y, weight) %}
  {
    let tx = {{ x }};
    let ty = {{ y }};
    let inside = !lost && tx >= 0.0 && ty >= 0.0 && tx < p.w0 && ty < p.h0;
    let weight = select(0.0, {{ weight }}, inside);
    let at = first + select(0u, u32(ty) * u32(p.w0) + u32(tx), inside);
    kept += weight;
    v{{ c }} += weight * f32({{ T.load("in0", "at + %du * area" % c, 1) }}); //% for c in range(channels)
  }{% endmacro %}

//# a x + b y + c, without what is 0 or 1 in all samples
{% macro moved(a, b, c) -%}
{{ "" if a == "0.0" else "x" if a == "1.0" else a ~ " * x" }}
{{- " + " if a != "0.0" and b != "0.0" }}
{{- "" if b == "0.0" else "y" if b == "1.0" else b ~ " * y" }}
{{- "" if c == "0.0" else " + " ~ c }}{%- endmacro %}

{% macro read(T, g) %}
  var lost = false;
  { //% for s in g.stages | reverse
    let x1 = {{ moved(s.numbers[0], s.numbers[1], s.numbers[2]) }};
    y = {{ moved(s.numbers[3], s.numbers[4], s.numbers[5]) }};
    x = x1;
{{ ruled(s, g.stages | length - loop.index, loop.last) }}
  }
  let area = u32(p.w0) * u32(p.h0);
  let first = sample * area * {{ g.channels }}u;
  var kept = 0.0;
  var v{{ c }} = 0.0; //% for c in range(g.channels)
//% if g.bilinear
  let x0 = floor(x);
  let y0 = floor(y);
  let fx = x - x0;
  let fy = y - y0;
{{ tap(T, g.channels, "x0", "y0", "(1.0 - fx) * (1.0 - fy)") }}
{{ tap(T, g.channels, "x0 + 1.0", "y0", "fx * (1.0 - fy)") }}
{{ tap(T, g.channels, "x0", "y0 + 1.0", "(1.0 - fx) * fy") }}
{{ tap(T, g.channels, "x0 + 1.0", "y0 + 1.0", "fx * fy") }}
//% endif
{{ tap(T, g.channels, "round(x)", "round(y)", "1.0") }} //% if not g.bilinear
//% for value in g.fill
  v{{ loop.index0 }} += (1.0 - kept) * f32({{ value }}); //% if value
//% endfor
{% endmacro %}

{% macro gray(n) -%}{{ "(0.2989 * v0 + 0.587 * v1 + 0.114 * v2)" if n == 3 else "v0" }}{%- endmacro %}

{% macro scale(s, channels, mean) %}
    v{{ c }} *= {{ s.constants[0] }}; //% for c in range(channels)
{% endmacro %}
{% macro brightness(s, channels, mean) %}
    v{{ c }} = clamp(v{{ c }} * {{ s.numbers[0] }}, 0.0, {{ s.constants[0] }}); //% for c in range(channels)
{% endmacro %}
{% macro mixed(s, channels, mean) %}
    let other = (1.0 - {{ s.numbers[0] }}) * {{ gray(channels) if s.kind == "saturation" else mean }};
    v{{ c }} = clamp(v{{ c }} * {{ s.numbers[0] }} + other, 0.0, {{ s.constants[0] }}); //% for c in range(channels)
{% endmacro %}
{% macro hue(s, channels, mean) %}
    let turned = hue(vec3<f32>(v0, v1, v2) / {{ s.constants[0] }}, {{ s.numbers[0] }}) * {{ s.constants[0] }};
    v0 = turned.x;
    v1 = turned.y;
    v2 = turned.z;{% endmacro %}
{% macro grayed(s, channels, mean) %}
    let level = {{ gray(channels) }};
    v{{ c }} = level; //% for c in range(channels)
{% endmacro %}
{% macro normalize(s, channels, mean) %}
    v{{ c }} = (v{{ c }} - {{ s.constants[c] }}) / {{ s.constants[channels + c] }}; //% for c in range(channels)
{% endmacro %}
{% macro erase(s, channels, mean) %}
    let below = py >= {{ s.numbers[0] }} && py < {{ s.numbers[2] }};
    let erased = below && px >= {{ s.numbers[1] }} && px < {{ s.numbers[3] }};
    v{{ c }} = select(v{{ c }}, {{ s.constants[c] }}, erased); //% for c in range(channels)
{% endmacro %}

{% macro toned(tones, channels, mean) %}
//% set kinds = dict(scale=scale, brightness=brightness, saturation=mixed, contrast=mixed, hue=hue, gray=grayed, normalize=normalize, erase=erase)
  { //% for s in tones
{{ kinds[s.kind](s, channels, mean) }}
  }
{% endmacro %}

{% macro library() %}
fn reflected(x: f32, n: f32) -> f32 {
  let period = max(2.0 * (n - 1.0), 1.0);
  let m = x - floor(x / period) * period;
  return min(min(m, period - m), n - 1.0);
}
fn mirrored(x: f32, n: f32) -> f32 {
  let m = x + 0.5 - floor((x + 0.5) / (2.0 * n)) * 2.0 * n;
  return clamp(min(m, 2.0 * n - m) - 0.5, 0.0, n - 1.0);
}
//# the hue turned by a part of the circle; a colour's hue is a piecewise linear function of its channels
fn hue(v: vec3<f32>, turn: f32) -> vec3<f32> {
  let high = max(v.x, max(v.y, v.z));
  let span = high - min(v.x, min(v.y, v.z));
  let away = (vec3<f32>(high) - v) / select(span, 1.0, span == 0.0);
  let h = select(select(4.0 + away.y - away.x, 2.0 + away.x - away.z, high == v.y), away.z - away.y, high == v.x);
  let place = select(h, 0.0, span == 0.0) / 6.0 + turn;
  let ramp = abs(fract(vec3<f32>(place) + vec3<f32>(1.0, 0.66666666, 0.33333333)) * 6.0 - 3.0) - 1.0;
  return high - span * (1.0 - clamp(ramp, vec3<f32>(0.0), vec3<f32>(1.0)));
}{% endmacro %}

//# Jacobi rotations: all pairs of `size` (even) indices in size - 1 rounds of size / 2 disjoint pairs.
//# A launch does rounds start to stop of some sweeps. Two words after the state carry on what is known of it:
//# how much was turned in the sweep that is under way, and whether a sweep has turned nothing.
{% macro declarations(threads) %}
var<workgroup> turned: array<u32, {{ threads }}>;
var<workgroup> going: u32;

fn pair_of(t: u32, round: u32) -> vec2<u32> {
  let around = p.size - 1u;
  if (t == 0u) {
    return vec2<u32>(round, around);
  }
  return vec2<u32>((round + t) % around, (round + around - t) % around);
}

//# sine, sine / (1 + cosine), tangent: with them values stay more exact than with sine and cosine (Rutishauser, 1966)
fn rotation(zeta: f32) -> vec3<f32> {
  var tangent = 0.5 / zeta;
  if (abs(zeta) < 1e8) {
    tangent = select(1.0, -1.0, zeta < 0.0) / (abs(zeta) + sqrt(1.0 + zeta * zeta));
  }
  let cosine = 1.0 / sqrt(1.0 + tangent * tangent);
  let sine = tangent * cosine;
  return vec3<f32>(sine, sine / (1.0 + cosine), tangent);
}

fn rotated(x: f32, y: f32, by: vec3<f32>) -> vec2<f32> {
  return vec2<f32>(x - by.x * (y + by.y * x), y + by.x * (x - by.y * y));
}{% endmacro %}

{% macro begin(first) %}
  let done = false; //% if first
  let before = 0u; //% same
  let before = select(u32(in0[base + last]), 0u, p.start == 0u); //% else
  let done = (in0[base + last + 1u] != 0.0) | ((p.start == 0u) & (in0[base + last] == 0.0)); //% same
  let sweeps = select(p.sweeps, 0u, done);{% endmacro %}

{% macro agree(threads) %}
    turned[lid.x] = turns;
    workgroupBarrier();
    if (lid.x == 0u) {
      going = before;
      for (var s = 0u; s < {{ threads }}u; s++) {
        going += turned[s];
      }
    }
    if (workgroupUniformLoad(&going) == 0u) {
      break;
    }{% endmacro %}

{% macro end() %}
  if (lid.x == 0u) {
    out[base + last] = f32(going);
    out[base + last + 1u] = select(0.0, 1.0, done);
  }{% endmacro %}

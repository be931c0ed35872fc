//# Fourier transforms of rows of complex numbers, in workgroup memory: Stockham's passes, each of one radix, which
//# need no reordering (Govindaraju et al., 2008). in0: the n roots of 1, conjugated for one direction.
//% extends "launch.wgsl"
//% block shared
var<workgroup> ping: array<vec2<f32>, {{ most }}>;
var<workgroup> pong: array<vec2<f32>, {{ most }}>;

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn root(i: u32) -> vec2<f32> {
  return vec2<f32>(in0[2u * i], in0[2u * i + 1u]);
}
//% endblock
//% block work
  let n = p.size;
  let first = group * p.each;
  if (first >= p.count) {
    return;
  }
  let held = min(p.each, p.count - first) * n;
  for (var i = lid.x; i < held; i += {{ workgroup[0] }}u) {
    ping[i] = vec2<f32>(value_at((first * n + i) * 2u), value_at((first * n + i) * 2u + 1u));
  }
  workgroupBarrier();
  var span = 1u;
//% for r in radices
//% set from = "ping" if loop.index0 % 2 == 0 else "pong"
//% set to = "pong" if loop.index0 % 2 == 0 else "ping"
  for (var i = lid.x; i < held / {{ r }}u; i += {{ workgroup[0] }}u) {
    let m = n / {{ r }}u;
    let j = i % m;
    let row = (i / m) * n;
    let k = j % span;
    let turn = k * (m / span);
    let x0 = {{ from }}[row + j];
    let x{{ q }} = times({{ from }}[row + j + {{ q }}u * m], root({{ q }}u * turn)); //% for q in range(1, r)
    let at = row + (j / span) * span * {{ r }}u + k;
//% if r == 4
    let even = x0 + x2;
    let odd = x1 + x3;
    let low = x0 - x2;
    let high = vec2<f32>(x3.y - x1.y, x1.x - x3.x){{ " * -1.0" if not inverse }};
    {{ to }}[at] = even + odd;
    {{ to }}[at + span] = low + high;
    {{ to }}[at + 2u * span] = even - odd;
    {{ to }}[at + 3u * span] = low - high;
//% else
//% for s in range(r)
    {{ to }}[at + {{ s }}u * span] = x0{% for q in range(1, r) %} + times(x{{ q }}, vec2<f32>({{ roots[r][q * s % r] }})){% endfor %};
//% endfor
//% endif
  }
  span *= {{ r }}u;
  workgroupBarrier();
//% endfor
  for (var i = lid.x; i < held; i += {{ workgroup[0] }}u) {
    let y = {{ "ping" if radices | length % 2 == 0 else "pong" }}[i];
    out[(first * n + i) * 2u] = y.x;
    out[(first * n + i) * 2u + 1u] = y.y;
  }
//% endblock

//# A car in a valley that is too weak to drive straight up (Moore, 1990).
//% extends "rl/environment.wgsl"
//% block dynamics
fn begin(i: u32) -> State {
  return State(0.2 * random(0u, i) - 0.6, 0.0);
}
fn observe(s: State) -> array<f32, 2> {
  return array<f32, 2>(s.x, s.speed);
}
{% if not first %}
fn advance(s: ptr<function, State>, i: u32) -> Outcome {
  let pull = {{ T.call("cosine") }}(3.0 * s.x) * p.gravity;
  let speed = clamp(s.speed + f32(in1[i] - 1) * p.force - pull, -p.most_speed, p.most_speed);
  let x = clamp(s.x + speed, p.least_x, p.most_x);
  // the wall on the left stops it
  *s = State(x, select(speed, 0.0, x == p.least_x && speed < 0.0));
  return Outcome(-1.0, x >= p.goal && s.speed >= 0.0);
}
{% endif %}
//% endblock

//# A pole on a cart that is pushed to the left or to the right (Barto, Sutton and Anderson, 1983).
//% extends "rl/environment.wgsl"
//% block dynamics
fn begin(i: u32) -> State {
  return State(0.1 * random(0u, i) - 0.05, 0.1 * random(1u, i) - 0.05, 0.1 * random(2u, i) - 0.05, 0.1 * random(3u, i) - 0.05);
}
fn observe(s: State) -> array<f32, 4> {
  return array<f32, 4>(s.x, s.speed, s.angle, s.turning);
}
{% if not first %}
fn advance(s: ptr<function, State>, i: u32) -> Outcome {
  let now = *s;
  let force = select(-p.force, p.force, in1[i] == 1);
  let sine = {{ T.call("sine") }}(now.angle);
  let cosine = {{ T.call("cosine") }}(now.angle);
  let pole = p.pole_mass * p.half_length;
  let total = p.cart_mass + p.pole_mass;
  let push = (force + pole * now.turning * now.turning * sine) / total;
  let pull = (p.gravity * sine - cosine * push) / (p.half_length * (4.0 / 3.0 - p.pole_mass * cosine * cosine / total));
  let acceleration = push - pole * pull * cosine / total;
  *s = State(
    now.x + p.seconds * now.speed,
    now.speed + p.seconds * acceleration,
    now.angle + p.seconds * now.turning,
    now.turning + p.seconds * pull,
  );
  return Outcome(1.0, abs(s.x) > p.most_x || abs(s.angle) > p.most_angle);
}
{% endif %}
//% endblock

//# A pendulum to swing up and to hold by a limited torque.
//% extends "rl/environment.wgsl"
//% block dynamics
fn begin(i: u32) -> State {
  return State(p.pi * (2.0 * random(0u, i) - 1.0), 2.0 * random(1u, i) - 1.0);
}
fn observe(s: State) -> array<f32, 3> {
  return array<f32, 3>({{ T.call("cosine") }}(s.angle), {{ T.call("sine") }}(s.angle), s.turning);
}
{% if not first %}
fn advance(s: ptr<function, State>, i: u32) -> Outcome {
  let torque = clamp(in1[i], -p.most_torque, p.most_torque);
  let turns = (s.angle + p.pi) / (2.0 * p.pi);
  let from_top = (turns - floor(turns)) * 2.0 * p.pi - p.pi;
  let cost = from_top * from_top + 0.1 * s.turning * s.turning + 0.001 * torque * torque;
  let pull = 1.5 * p.gravity / p.length * {{ T.call("sine") }}(s.angle) + 3.0 / (p.mass * p.length * p.length) * torque;
  s.turning = clamp(s.turning + pull * p.seconds, -p.most_turning, p.most_turning);
  s.angle += s.turning * p.seconds;
  return Outcome(-cost, false);
}
{% endif %}
//% endblock

//# Two links that hang from a joint and are driven at the joint between them (Sutton and Barto's equations, 1998).
//% extends "rl/environment.wgsl"
//% block dynamics
//% set sin, cos = T.call("sine"), T.call("cosine")
fn begin(i: u32) -> State {
  return State(0.2 * random(0u, i) - 0.1, 0.2 * random(1u, i) - 0.1, 0.2 * random(2u, i) - 0.1, 0.2 * random(3u, i) - 0.1);
}
fn observe(s: State) -> array<f32, 6> {
  return array<f32, 6>({{ cos }}(s.angle1), {{ sin }}(s.angle1), {{ cos }}(s.angle2), {{ sin }}(s.angle2), s.turning1, s.turning2);
}
{% if not first %}
//# the derivatives of both angles and of their speeds: links of length and mass 1, centres of mass half way
fn derivatives(s: vec4<f32>, torque: f32) -> vec4<f32> {
  let cosine2 = {{ cos }}(s.y);
  let sine2 = {{ sin }}(s.y);
  let d1 = 0.25 + (1.25 + cosine2) + 2.0;
  let d2 = 0.25 + 0.5 * cosine2 + 1.0;
  // cos(a - pi / 2) is sin(a)
  let pull2 = 0.5 * p.gravity * {{ sin }}(s.x + s.y);
  let pull1 = -0.5 * s.w * s.w * sine2 - s.w * s.z * sine2 + 1.5 * p.gravity * {{ sin }}(s.x) + pull2;
  let turning2 = (torque + d2 / d1 * pull1 - 0.5 * s.z * s.z * sine2 - pull2) / (1.25 - d2 * d2 / d1);
  return vec4<f32>(s.z, s.w, -(d2 * turning2 + pull1) / d1, turning2);
}
fn wrapped(angle: f32) -> f32 {
  let turns = (angle + p.pi) / (2.0 * p.pi);
  return (turns - floor(turns)) * 2.0 * p.pi - p.pi;
}
fn advance(s: ptr<function, State>, i: u32) -> Outcome {
  let torque = f32(in1[i] - 1);
  let now = vec4<f32>(s.angle1, s.angle2, s.turning1, s.turning2);
  // one step of Runge and Kutta's fourth order
  let k1 = derivatives(now, torque);
  let k2 = derivatives(now + 0.5 * p.seconds * k1, torque);
  let k3 = derivatives(now + 0.5 * p.seconds * k2, torque);
  let k4 = derivatives(now + p.seconds * k3, torque);
  let then = now + p.seconds / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
  *s = State(
    wrapped(then.x),
    wrapped(then.y),
    clamp(then.z, -4.0 * p.pi, 4.0 * p.pi),
    clamp(then.w, -9.0 * p.pi, 9.0 * p.pi),
  );
  let height = -{{ cos }}(s.angle1) - {{ cos }}(s.angle2 + s.angle1);
  let up = height > 1.0;
  return Outcome(select(-1.0, 0.0, up), up);
}
{% endif %}
//% endblock

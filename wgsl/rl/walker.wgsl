//# A planar walker of six points of mass: a trunk from head to hip, and two legs with knees. Links keep their lengths and feet
//# their contact by impulses, in several rounds (Catto, "Fast and simple physics using sequential impulses", 2006).
//% extends "rl/environment.wgsl"
//% block dynamics
//% set masses = dict(masses)
//% set points = masses
fn begin(i: u32) -> State {
  return State(
{% for x, y in places %}
    {{ x }}, {{ y }}, 0.2 * random({{ 2 * loop.index0 }}u, i) - 0.1, 0.2 * random({{ 2 * loop.index0 + 1 }}u, i) - 0.1,
{% endfor %}
  );
}
fn observe(s: State) -> array<f32, 23> {
  return array<f32, 23>(
    s.hip_y,
    s.{{ name }}_x - s.hip_x, s.{{ name }}_y - s.hip_y, //% for name in points if name != "hip"
    s.{{ name }}_vx, s.{{ name }}_vy, //% for name in points
  );
}
{% if not first %}
fn across(a: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(-a.y, a.x);
}
//# the forces on the outer points a and c of a joint at b: its motor, and a spring where the sine of its angle
//# leaves its range
fn joint(a: vec2<f32>, b: vec2<f32>, c: vec2<f32>, va: vec2<f32>, vb: vec2<f32>, vc: vec2<f32>,
         motor: f32, low: f32, high: f32) -> vec4<f32> {
  let upper = b - a;
  let lower = c - b;
  let upper2 = dot(upper, upper);
  let lower2 = dot(lower, lower);
  let sine = (upper.x * lower.y - upper.y * lower.x) / sqrt(upper2 * lower2);
  let turning = dot(across(lower), vc - vb) / lower2 - dot(across(upper), vb - va) / upper2;
  let beyond = sine - clamp(sine, low, high);
  let torque = motor - p.stiffness * beyond - select(p.friction, p.damping, beyond != 0.0) * turning;
  return torque * vec4<f32>(across(upper) / upper2, across(lower) / lower2);
}
//# the impulse along a link from a to b that keeps its length
fn link(a: vec2<f32>, b: vec2<f32>, va: vec2<f32>, vb: vec2<f32>, span: f32, lightness: f32) -> vec2<f32> {
  let apart = b - a;
  let distance = length(apart);
  let along = apart / distance;
  let parting = dot(vb - va, along) + p.correction * (distance - span) / p.seconds;
  return parting / lightness * along;
}
fn advance(s: ptr<function, State>, i: u32) -> Outcome {
  var {{ name }} = vec2<f32>(s.{{ name }}_x, s.{{ name }}_y); //% for name in points
  var v_{{ name }} = vec2<f32>(s.{{ name }}_vx, s.{{ name }}_vy); //% for name in points
  let from_x = hip.x;
  let motor_{{ k }} = clamp(in1[{{ k }}u * p.count + i], -1.0, 1.0) * {{ joints[k][5] }}; //% for k in range(4)
  for (var part = 0u; part < 4u; part++) {
    // motors and gravity
{% for a, b, c, low, high, _ in joints %}
    let turn_{{ loop.index0 }} = joint({{ a }}, {{ b }}, {{ c }}, v_{{ a }}, v_{{ b }}, v_{{ c }}, motor_{{ loop.index0 }}, {{ low }}, {{ high }});
{% endfor %}
{% for a, b, c, _, _, _ in joints %}
    v_{{ a }} += p.seconds * turn_{{ loop.index0 }}.xy / {{ masses[a] }};
    v_{{ b }} -= p.seconds * (turn_{{ loop.index0 }}.xy + turn_{{ loop.index0 }}.zw) / {{ masses[b] }};
    v_{{ c }} += p.seconds * turn_{{ loop.index0 }}.zw / {{ masses[c] }};
{% endfor %}
    v_{{ name }}.y -= p.seconds * p.gravity; //% for name in points
    // links and contacts
    var left_push = 0.0;
    var right_push = 0.0;
    for (var round = 0u; round < 8u; round++) {
{% for a, b, span in links %}
      let pull_{{ loop.index0 }} = link({{ a }}, {{ b }}, v_{{ a }}, v_{{ b }}, {{ span }}, {{ 1 / masses[a] + 1 / masses[b] }});
      v_{{ a }} += pull_{{ loop.index0 }} / {{ masses[a] }};
      v_{{ b }} -= pull_{{ loop.index0 }} / {{ masses[b] }};
{% endfor %}
{% for side in ["left", "right"] %}
{% set foot, mass = side ~ "_foot", masses[side ~ "_foot"] %}
      // above the ground a foot may fall as far as it; below the slack it is lifted
      let room_{{ side }} = max({{ foot }}.y, 0.0) + p.correction * min({{ foot }}.y + p.slack, 0.0);
      let push_{{ side }} = max({{ side }}_push - {{ mass }} * (v_{{ foot }}.y + room_{{ side }} / p.seconds), 0.0);
      let grip_{{ side }} = p.grip * push_{{ side }} / {{ mass }};
      v_{{ foot }}.x -= clamp(v_{{ foot }}.x, -grip_{{ side }}, grip_{{ side }});
      v_{{ foot }}.y += (push_{{ side }} - {{ side }}_push) / {{ mass }};
      {{ side }}_push = push_{{ side }};
{% endfor %}
    }
    {{ name }} += p.seconds * v_{{ name }}; //% for name in points
  }
  *s = State(
    {{ name }}.x, {{ name }}.y, v_{{ name }}.x, v_{{ name }}.y, //% for name in points
  );
  var effort = 0.0;
  effort += motor_{{ k }} * motor_{{ k }} / {{ joints[k][5] ** 2 }}; //% for k in range(4)
  let fallen = hip.y < p.least_hip || head.y < hip.y + p.least_head;
  let reward = (hip.x - from_x) / (4.0 * p.seconds) + p.alive - p.effort * effort;
  return Outcome(reward, fallen);
}
{% endif %}
//% endblock

//# One step of many environments, a thread for each. The rows of `in0` and `out` are those of
//# src/flambeau/rl/environment.py: state, age, return so far, observation, next observation, and what happened.
//# An environment's own template defines `begin` (a first state), `advance` (physics, reward, end) and `observe`.
//% extends "launch.wgsl"
//% block shared
struct State {
  {{ name }}: f32, //% for name in state
}
struct Outcome {
  reward: f32,
  terminated: bool,
}
//# a uniform number of [0, 1): `k` counts those of one environment and step
fn random(k: u32, i: u32) -> f32 {
  return value_at(k * p.count + i);
}
{% block dynamics %}{% endblock %}
{% if not first %}
fn load_state(i: u32) -> State {
  return State(
    in0[{{ loop.index0 }}u * p.count + i], //% for name in state
  );
}
{% endif %}
//% endblock
//% block work
//% set age = state | length
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.count) {
//% if first
    var s = begin(i);
    let age = 0.0;
    let total = 0.0;
    let seen = observe(s);
    let next = seen;
    let outcome = Outcome(0.0, false);
    let truncated = false;
//% else
    // advance
    var s = load_state(i);
    let outcome = advance(&s, i);
    var age = in0[{{ age }}u * p.count + i] + 1.0;
    var total = in0[{{ age + 1 }}u * p.count + i] + outcome.reward;
    let next = observe(s);
    let truncated = !outcome.terminated && age >= p.most_steps;
    let ended = outcome.terminated || truncated;
    let ended_total = select(0.0, total, ended);
    let ended_age = select(0.0, age, ended);
    // begin again where an episode ended
    if (ended) {
      s = begin(i);
      age = 0.0;
      total = 0.0;
    }
    let seen = observe(s);
//% endif
    // store
    out[{{ loop.index0 }}u * p.count + i] = s.{{ name }}; //% for name in state
    out[{{ age }}u * p.count + i] = age;
    out[{{ age + 1 }}u * p.count + i] = total;
//% for k in range(observations)
    out[{{ age + 2 + k }}u * p.count + i] = seen[{{ k }}];
    out[{{ age + 2 + observations + k }}u * p.count + i] = next[{{ k }}];
//% endfor
//% set last = age + 2 + 2 * observations
    out[{{ last }}u * p.count + i] = outcome.reward;
    out[{{ last + 1 }}u * p.count + i] = select(0.0, 1.0, outcome.terminated);
    out[{{ last + 2 }}u * p.count + i] = select(0.0, 1.0, truncated);
    out[{{ last + 3 }}u * p.count + i] = {{ "0.0" if first else "ended_total" }};
    out[{{ last + 4 }}u * p.count + i] = {{ "0.0" if first else "ended_age" }};
  }
//% endblock

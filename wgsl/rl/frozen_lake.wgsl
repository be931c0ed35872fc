//# A walk over ice from the first field of a grid to the last one: holes end it. Ice that is slippery turns a third
//# of the steps to either side.
//% extends "rl/environment.wgsl"
//% block dynamics
fn begin(i: u32) -> State {
  return State(0.0);
}
//# the field, as a vector of zeros and a one
fn observe(s: State) -> array<f32, {{ observations }}> {
  var seen: array<f32, {{ observations }}>;
  seen[{{ k }}] = select(0.0, 1.0, s.field == {{ k }}.0); //% for k in range(observations)
  return seen;
}
{% if not first %}
fn advance(s: ptr<function, State>, i: u32) -> Outcome {
  let width = i32(p.width);
  let field = i32(s.field);
  var turn = i32(in1[i]);
  turn = (turn + i32(floor(3.0 * random(0u, i))) + 3) % 4; //% if slippery
  // left, down, right, up: a wall stops the step
  let column = clamp(field % width + i32(turn == 2) - i32(turn == 0), 0, width - 1);
  let row = clamp(field / width + i32(turn == 1) - i32(turn == 3), 0, i32(p.height) - 1);
  let next = u32(row * width + column);
  s.field = f32(next);
  let word = select(p.holes_low, p.holes_high, next > 31u);
  let hole = ((word >> (next % 32u)) & 1u) == 1u;
  let goal = next == p.width * p.height - 1u;
  return Outcome(select(0.0, 1.0, goal), hole || goal);
}
{% endif %}
//% endblock

//# Rows, computed where they are written, into a longer table at a place that is on the device; `only` where the rest of it is
//# there already. Cells are elements, or four of them. A row before the first wraps to one that is past the end. each: lines
//# have places of their own, `share` lines one.
//% extends "launch.wgsl"
//% block work
//% set cell = "values_at((%s) * 4u)" if out_width == 4 else "value_at(%s)"
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.size) { //% if only
    let row = i / p.width % p.rows + u32(in0[{{ "i / p.width / p.rows / p.share" if each else "0" }}]);
    if (row < p.length) {
      let x = {{ cell % "i" }};
      out[(i / p.width / p.rows * p.length + row) * p.width + i % p.width] = {{ Out.store("x") }};
    }
  }
  if (i < p.size) { //% if not only
    let row = i / p.width % p.length - u32(in1[{{ "i / p.width / p.length / p.share" if each else "0" }}]);
    if (row < p.rows) {
      let x = {{ cell % "(i / p.width / p.length * p.rows + row) * p.width + i % p.width" }};
      out[i] = {{ Out.store("x") }};
    } else {
      out[i] = in0[i];
    }
  }
//% endblock

//# Up to seven tensors one after another, as their part of a row of the result: a thread copies one element.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  // the element of this thread, and the input that has it
  let row = i / p.width;
  let at = i % p.width;
  var x = {{ T }}({{ T.zero }});
//% for n in range(count)
  {{ "} else " if not loop.first }}if (at < p.end{{ n }}) {
    x = {{ T.load("in%d" % n, "row * p.width%d + at - %s" % (n, "p.end%d" % (n - 1) if n else "0u"), 1) }};
//% endfor
  }
  out[row * p.whole + p.before + at] = {{ T.store("x") }};
//% endblock

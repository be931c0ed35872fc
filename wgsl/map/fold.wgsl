//# The adjoint of taking windows: each element gathers the taps of the windows that it was part of.
//% extends "kernel.wgsl"
//% block body
  let i = (wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u)) * {{ workgroup[0] }}u + lid.x;
  if (i >= p.{{ size }}) {
    return;
  }
  var rest = i;
  let at{{ a }} = rest % p.{{ size_ }} + p.{{ before }}; //% for a, size_, positions, kernel, stride, dilation, before in axes | reverse
  rest /= p.{{ size_ }}; //% same
{{ ix.unravel("rest", lead, dims) }}
  var total = {{ wgsl(acc, 1) }}(0);
//% for a, size_, positions, kernel, stride, dilation, before in axes
//% if dilation
  for (var k{{ a }} = 0u; k{{ a }} < p.{{ kernel }}; k{{ a }}++) {
    let from{{ a }} = at{{ a }} - k{{ a }} * p.{{ dilation }};
    let w{{ a }} = from{{ a }} / p.{{ stride }};
    if (k{{ a }} * p.{{ dilation }} > at{{ a }} || w{{ a }} >= p.{{ positions }} || w{{ a }} * p.{{ stride }} != from{{ a }}) {
      continue;
    }
//% else
// from the first window that reaches so far to the last that begins before
  let low{{ a }} = select(0u, (at{{ a }} - p.{{ kernel }}) / p.{{ stride }} + 1u, at{{ a }} >= p.{{ kernel }});
  let high{{ a }} = min(at{{ a }} / p.{{ stride }} + 1u, p.{{ positions }});
  for (var w{{ a }} = low{{ a }}; w{{ a }} < high{{ a }}; w{{ a }}++) {
    let k{{ a }} = at{{ a }} - w{{ a }} * p.{{ stride }};
//% endif
//% endfor
    total += value({{ functions["value"].coords | join(", ") }});
  } //% for axis in axes
{{ ix.unravel("i", finish.coords, e_dims, "e") }} //% if finish
  out[i] = {{ Out.store("finish(%s)" % (["total"] + finish.coords | list) | join(", ") if finish else "total") }};
//% endblock

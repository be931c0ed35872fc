//# Two words an element, side by side: a thread makes both, of one element or of several neighbours.
//% extends "kernel.wgsl"
//% macro write()
{{ ix.unravel("i", functions["values"].coords, dims[1:]) }}
  let y = values({{ functions["values"].coords | join(", ") }});
  out[i] = {{ wgsl(out_dtype, 2) }}(y.{{ words[0] }}, y.{{ words[1] }});
//% endmacro
//% block body
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
//% set place = "group * %du + lid.x" % workgroup[0]
//% set first = "i" if several == 1 else "first"
  let {{ first }} = {{ place if several == 1 else "(%s) * %du" % (place, several) }};
  if ({{ first }} >= p.{{ size }}) {
    return;
  }
{{ write() }} //% if several == 1
  for (var j = 0u; j < {{ several }}u; j++) { //% if several != 1
    let i = first + j;
{{ write() }}
  }
//% endblock

//# Two words an element, side by side: a thread makes both, of one element or of several neighbours.
//% extends "kernel.wgsl"
//% macro write()
  // both words of element i
{{ ix.unravel("i", functions["values"].coords, dims[1:]) }}
  let y = values({{ functions["values"].coords | join(", ") }});
  out[i] = {{ wgsl(out_dtype, 2) }}(y.{{ words[0] }}, y.{{ words[1] }});
//% endmacro
//% block body
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
  let i = group * {{ workgroup[0] }}u + lid.x; //% if several == 1
  let first = (group * {{ workgroup[0] }}u + lid.x) * {{ several }}u; //% if several != 1
  if ({{ "i" if several == 1 else "first" }} >= p.{{ size }}) {
    return;
  }
{{ write() }} //% if several == 1
  for (var j = 0u; j < {{ several }}u; j++) { //% if several != 1
    let i = first + j;
{{ write() }}
  }
//% endblock

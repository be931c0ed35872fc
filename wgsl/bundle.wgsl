//# Several kernels side by side: each has a range of the workgroups, and its own text, see codegen/render.py.
//% extends "kernel.wgsl"
//% block declarations
{{ text }} //% for text in texts
//% endblock
//% block body
  // the kernel in whose range this workgroup is, and its place there
  let place = wid.x;
  if ((place >= {{ begin }}) & (place < p.{{ end }})) { //% for begin, end in ranges
    let group = vec3<u32>(place - {{ begin }}, 0u, 0u);
    main{{ loop.index0 }}(group, lid);
  }
//% endblock

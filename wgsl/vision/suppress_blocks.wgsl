//# Non-maximum suppression without barriers: a launch for each block of boxes, in pairs. `opening` clears the boxes of a block
//# that kept boxes of earlier blocks overlap, a thread each; then one thread decides on the block in order. in1 has a bit for
//# each kept box of the blocks so far.
//% extends "launch.wgsl"
//% block work
//% if opening
  let k = group * {{ workgroup[0] }}u + lid.x;
  if (k < p.length) {
    let j = p.first + k;
    var found = 0u;
    for (var word = 0u; word < p.before; word++) {
      found |= in0[word * p.count + j] & in1[word];
    }
    out[k] = u32(found == 0u);
  }
//% else
  if (group == 0u && lid.x == 0u) {
    for (var word = 0u; word < p.before; word++) { //% if reads_earlier
      out[word] = in2[word];
    }
    var word_bits = 0u;
    for (var k = 0u; k < p.length; k++) {
      let j = p.first + k;
      let own = p.before + k / 32u;
      var found = in0[own * p.count + j] & word_bits;
      for (var word = p.before; word < own; word++) {
        found |= in0[word * p.count + j] & out[word];
      }
      let is_open = {{ "in1[k] == 1u" if reads_earlier else "true" }};
      if (is_open && found == 0u) {
        word_bits |= 1u << (k & 31u);
      }
      if ((k & 31u) == 31u || k + 1u == p.length) {
        out[own] = word_bits;
        word_bits = 0u;
      }
    }
  }
//% endif
//% endblock

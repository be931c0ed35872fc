//# Non-maximum suppression of the bits of overlaps.wgsl: a bit for each box that no better kept box overlaps. One workgroup.
//# For each word, all threads look for kept boxes that overlap its 32 boxes; then one thread decides on these in order.
//% extends "launch.wgsl"
//% block shared
var<workgroup> own: array<u32, 32>;
var<workgroup> taken: array<atomic<u32>, 32>;
//% endblock
//% block work
  let column = lid.x & 31u;
  for (var word = 0u; word < p.words; word++) {
    let j = word * 32u + column;
    if (lid.x < 32u) {
      own[column] = 0u;
      atomicStore(&taken[column], 1u);
      if (j < p.count) {
        own[column] = in0[word * p.count + j];
        atomicStore(&taken[column], 0u);
      }
    }
    workgroupBarrier();
    if (j < p.count) {
      var found = 0u;
      for (var before = lid.x / 32u; before < word; before += {{ workgroup[0] // 32 }}u) {
        found |= in0[before * p.count + j] & out[before];
      }
      if (found != 0u) {
        atomicStore(&taken[column], 1u);
      }
    }
    workgroupBarrier();
    if (lid.x == 0u) {
      var bits = 0u;
      for (var k = 0u; k < 32u; k++) {
        if (atomicLoad(&taken[k]) == 0u && (own[k] & bits) == 0u) {
          bits |= 1u << k;
        }
      }
      out[word] = bits;
    }
    storageBarrier();
  }
//% endblock

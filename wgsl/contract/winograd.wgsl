//# Convolution with 3 x 3 windows as products at 16 frequencies (Winograd's F(2 x 2, 3 x 3)): a workgroup makes 2 x 2 results
//# of some tiles and filters. Patches of the image are transformed on their way to its memory, filters were before.
//# w: the shape (winograd.WinogradTile).
//# A workgroup makes 64 filters x 32 tiles (or 32 x 32) of all 16 frequencies: 16 threads a frequency, 8 x 16 sums
//# each. For 8 channels at a time (4 where memory is small) patches of 4 x 4, one a thread, are read into registers
//# while the last ones are multiplied. Rows and columns outside the image are held inside, and zeros put in after
//# they are read, so no load waits for a test. Sums go back through workgroup memory, and a thread makes the 2 x 2
//# results of a tile, with the epilogue.
//% extends "kernel.wgsl"
//% import "lib/index.wgsl" as ix
//% import "contract/_tile.wgsl" as tile
//% import "contract/_winograd.wgsl" as steps
//# the results of this thread's tile by the filters of a pass that it takes r-th
{% macro results(pass, r, finish) -%}
//% set quads = w.tiles // 4
  {
    let slot = t / {{ w.tiles }}u + {{ r * w.threads // w.tiles }}u;
    let at = slot * {{ quads }}u + (spot / 4u + slot / {{ w.at_once }}u * {{ w.skew }}u) % {{ quads }}u;
    let m{{ f // 4 }}_{{ f % 4 }} = memory[at + {{ f * w.down * w.at_once * quads }}u][spot % 4u]; //% for f in range(16)
{{ steps.inverse() }}
//% set filter = "(slot / %du + %du) * 4u + %du + slot %% %du" % (w.at_once, pass // 4 * w.down, pass % 4, w.at_once)
    let row_0 = block * {{ w.filters }}u + {{ filter }};
    if ((own < p.{{ count }}) & (row_0 < p.{{ rows.total }})) {
{{ tile.own_four("row", "", rows, 0, 1, false) }}
      let line = {{ index_of(out_places[0]) }} + {{ index_of(out_places[1], "_0") }};
//% for j in range(4)
//% set down = ["top + 1u < p." ~ size[0]] if odd[0] and j // 2 else []
//% set ends = down + (["left + 1u < p." ~ size[1]] if odd[1] and j % 2 else [])
      {{ "if ((%s)) " % (ends | join(") & (")) if ends }}{
//% set y = tile.result(finish, "y%d" % j, rows, columns, 0, j)
        {{ tile.store(wgsl(out_dtype, 1), "line + " ~ index_of(out_places[2], "_%d" % j), y) }}
      }
//% endfor
    }
  }{%- endmacro %}
//% block declarations
var<workgroup> memory: array<vec4<f32>, {{ w.memory // 16 }}>;
//% endblock
//% block body
//% set V, quads = wgsl("f32", 4), w.tiles // 4
//% set patches = 4 * w.step * w.filters
  let t = lid.x;
  let group = wid.x + wid.y * p.{{ groups }};
  if (group >= p.{{ all }}) {
    return;
  }
  let block = group % p.{{ blocks }};
// this thread's tile, both of the patches that it transforms and of the results that it stores
  let spot = t % {{ w.tiles }}u;
  let own = (group / p.{{ blocks }}) * {{ w.tiles }}u + spot;
  let held = min(own, p.{{ count }} - 1u);
  let band = held / p.{{ across }};
  let image = band / p.{{ down }};
  let top = (band % p.{{ down }}) * 2u;
  let left = (held % p.{{ across }}) * 2u;
  let channel = t / {{ w.tiles }}u;
{{ steps.cells(place, edges) }}
  let filters_at = block * p.{{ turns }} * {{ patches }}u + t;
  var u{{ i }} = {{ V }}(0); //% for i in range(w.pieces)
  var d{{ i }}_{{ j }} = 0.0; //% for i, j in product(range(4), range(4))
  {
    let next = 0u;
{{ steps.fetch(place, w, filters, image, channels) }}
  }
{{ steps.stage(w, edges) }}
// the frequency of the products that this thread adds up, and which filters and tiles
  let frequency = t / {{ w.lanes }}u;
  let fx = t % {{ w.down }}u;
  let tx = (t % {{ w.lanes }}u) / {{ w.down }}u;
  let ua = frequency * {{ w.step * w.filters // 4 }}u + fx;
  let va = {{ patches }}u + frequency * {{ w.step * quads }}u + tx;
  var acc{{ i }}_{{ j }} = {{ V }}(0); //% for i, j in product(range(w.high), range(w.wide // 4))
  workgroupBarrier();
//# The last step is fetched and put once more, for nothing: loads under a condition are moved by compilers to where
//# their values are used, behind the products that should hide them.
  for (var turn = 1u; turn <= p.{{ turns }}; turn++) {
    {
    let next = min(turn, p.{{ turns }} - 1u);
{{ steps.fetch(place, w, filters, image, channels) }}
    }
//% for k in range(w.step)
    {
      let a{{ i }} = memory[ua + {{ k * w.filters // 4 + i * w.down }}u]; //% for i in range(w.high // 4)
      let b{{ j }} = memory[va + {{ k * quads + j * w.beside }}u]; //% for j in range(w.wide // 4)
//% for i, j in product(range(w.high), range(w.wide // 4))
      acc{{ i }}_{{ j }} = {{ tile.multiply_add(V, "a%d.%s" % (i // 4, "xyzw"[i % 4]), "b%d" % j, "acc%d_%d" % (i, j)) }};
//% endfor
    }
//% endfor
    workgroupBarrier();
{{ steps.stage(w, edges) }}
    workgroupBarrier();
  }
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
  let first = (image * p.{{ size[0] }} + top) * p.{{ size[1] }} + left;
{{ tile.own_four("column", "first%s%s" % (" + p.%s" % size[1] if j // 2 else "", " + 1u" if j % 2 else ""), columns, j, 1) }} //% for j in range(4)
// some filters of each thread at a time: the 16 frequencies of a result come together in memory, and go back
//% for pass in range(0, w.high, w.at_once)
//% for i, j in product(range(w.at_once), range(w.wide // 4))
//% set line = "((frequency * %du + fx) * %du + %du) * %du" % (w.down, w.at_once, i, quads)
//% set place = "(tx + %du + fx * %du) %% %du" % (j * w.beside, w.skew, quads)
  memory[{{ line }} + {{ place }}] = acc{{ pass + i }}_{{ j }};
//% endfor
  workgroupBarrier();
{{ results(pass, r, functions.get("finish")) }} //% for r in range(w.wide * w.at_once // 16)
  workgroupBarrier(); //% if pass + w.at_once < w.high
//% endfor
//% endblock

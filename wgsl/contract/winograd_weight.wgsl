//# The gradient of a convolution by weights of 3 x 3 taps, as products at 16 frequencies (Winograd's F(3 x 3, 2 x 2)): a
//# workgroup sums 3 x 3 taps of some filters and channels over a piece of the tiles. A tile is 2 x 2 elements of the
//# gradient and the patch of 4 x 4 of the image that they meet.
//# w: the shape (winograd.WinogradTile), whose `tiles` are channels here, and whose steps are `step` tiles of the sum.
//# 16 threads a frequency (or 8), 8 x 16 sums each, as in winograd.wgsl. For each step a thread reads one patch
//# of the image and `w.filters / w.tiles` of the gradient into registers while the last ones are multiplied.
//# Neighbouring threads read neighbouring tiles; in workgroup memory those lie far apart, so that each line of vec4s
//# is shuffled (`turned`) for unlike banks.
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
//% import "contract/_winograd.wgsl" as steps
//% set quads, rows, places = w.tiles // 4, w.filters // 4, w.filters // w.tiles
//# read the patches of this thread's tile into registers, and go on to the next
{% macro fetch() -%}
    top = row * 2u;
    left = column * 2u;
    is_summed = at < end;
    {
      let image = min(picture, p.{{ images }} - 1u);
{{ steps.edge("y", "top", edges[0], of_image.y) }}
{{ steps.edge("x", "left", edges[1], of_image.x) }}
      let plane = {{ "p." ~ of_image.offset if of_image.offset else "0u" }}{{ steps.times("image", of_image.image) }}
        {{- steps.times("channel", of_image.channel) }};
//% for i in range(4)
      let line{{ i }} = plane + y{{ i }};
      d{{ i }}_{{ j }} = {{ source }}[line{{ i }} + x{{ j }}]; //% for j in range(4)
//% endfor
      let down1 = min(top + 1u, p.{{ size[0] }} - 1u);
      let right1 = min(left + 1u, p.{{ size[1] }} - 1u);
//% for i, a, b in product(range(places), range(2), range(2))
      g{{ i }}_{{ a }}{{ b }} = a({% for place in of_gradient %}
      {{- "p." ~ place.offset if place.offset else "0u" }}{{ steps.times("image", place.image) }}{{ steps.times("filter%d" % i, place.channel) }}
      {{- steps.times("down1" if a else "top", place.y) }}{{ steps.times("right1" if b else "left", place.x) }}, {% endfor %}0u);
//% endfor
    }
    at += {{ w.step }}u;
    column += p.{{ advance[2] }};
    let is_next_row = column >= p.{{ across }};
    column -= select(0u, p.{{ across }}, is_next_row);
    row += p.{{ advance[1] }} + u32(is_next_row);
    let is_next_image = row >= p.{{ down }};
    row -= select(0u, p.{{ down }}, is_next_image);
    picture += p.{{ advance[0] }} + u32(is_next_image);{%- endmacro %}
//# the i-th patch of the gradient, transformed
{% macro gradient(i) -%}
      {
      let a00 = select(0.0, g{{ i }}_00, is_summed);
      let a01 = select(0.0, g{{ i }}_01, is_summed & is_right);
      let a10 = select(0.0, g{{ i }}_10, is_down);
      let a11 = select(0.0, g{{ i }}_11, is_down & is_right);
      let h0_{{ b }} = a0{{ b }}; //% for b in range(2)
      let h1_{{ b }} = 0.5 * (a0{{ b }} + a1{{ b }}); //% same
      let h2_{{ b }} = 0.5 * (a0{{ b }} - a1{{ b }}); //% same
      let h3_{{ b }} = a1{{ b }}; //% same
//% for y in range(4)
//% for text in ("h{0}_0", "0.5 * (h{0}_0 + h{0}_1)", "0.5 * (h{0}_0 - h{0}_1)", "h{0}_1")
      memory[gradient_at{{ i }} + {{ (y * 4 + loop.index0) * w.step * rows }}u][line % 4u] = {{ text.format(y) }};
//% endfor
//% endfor
      }{%- endmacro %}
//# put them into memory, transformed: B^T d B of the image, G g G^T of the gradient
{% macro stage() -%}
    {
{{ steps.edge("y", "top", edges[0], of_image.y) }}
{{ steps.edge("x", "left", edges[1], of_image.x) }}
      let to = image_at;
      let e = line % 4u;
{{ steps.transformed(w, edges) }}
    }
    {
      let is_down = is_summed & (top + 1u < p.{{ size[0] }});
      let is_right = left + 1u < p.{{ size[1] }};
{{ gradient(i) }} //% for i in range(places)
    }{%- endmacro %}
//# the 3 x 3 taps of one filter and channel of a pass, the r-th that this thread takes
{% macro results(pass, r) -%}
  {
    let slot = t / {{ w.tiles }}u + {{ r * w.threads // w.tiles }}u;
    let spot = t % {{ w.tiles }}u;
    let from_line = slot * {{ quads }}u + (spot / 4u + slot / {{ w.at_once }}u * {{ w.skew }}u) % {{ quads }}u;
    let m{{ f // 4 }}_{{ f % 4 }} = memory[from_line + {{ f * w.down * w.at_once * quads }}u][spot % 4u]; //% for f in range(16)
    let s0_{{ j }} = m0_{{ j }} + m1_{{ j }} + m2_{{ j }}; //% for j in range(4)
    let s1_{{ j }} = m1_{{ j }} - m2_{{ j }}; //% same
    let s2_{{ j }} = m1_{{ j }} + m2_{{ j }} - m3_{{ j }}; //% same
    let of_filter = first_filter + (slot / {{ w.at_once }}u + {{ pass // 4 * w.down }}u) * 4u + {{ pass % 4 }}u + slot % {{ w.at_once }}u;
    let of_channel = first_channel + spot;
    if ((of_filter < p.{{ filters }}) & (of_channel < p.{{ channels }})) {
      let to = piece * p.{{ results_size }}{{ steps.times("of_filter", out_place.image) }}{{ steps.times("of_channel", out_place.channel) }};
//% for y in range(3)
//% for text in ("s{0}_0 + s{0}_1 + s{0}_2", "s{0}_1 - s{0}_2", "s{0}_1 + s{0}_2 - s{0}_3")
      out[to{{ steps.times("%du" % y, out_place.y) if y }}{{ steps.times("%du" % loop.index0, out_place.x) if loop.index0 }}] = {{ text.format(y) }};
//% endfor
//% endfor
    }
  }{%- endmacro %}
//% block declarations
var<workgroup> memory: array<vec4<f32>, {{ w.memory // 16 }}>;
//% endblock
//% block body
//% set V, patches = wgsl("f32", 4), 4 * w.step * w.filters
//% set turned = 8 // w.step
  let t = lid.x;
  let group = wid.x + wid.y * p.{{ groups }};
  if (group >= p.{{ all }}) {
    return;
  }
// the filters, channels and tiles of this workgroup
  let block = group % p.{{ blocks }};
  let piece = group / p.{{ blocks }};
  let first_filter = (block % p.{{ filter_blocks }}) * {{ w.filters }}u;
  let first_channel = (block / p.{{ filter_blocks }}) * {{ w.tiles }}u;
// of this thread: its tile of a step, and the channel and filters whose patches it transforms
  let own = t % {{ w.step }}u;
  let line = t / {{ w.step }}u;
  let channel = min(first_channel + line, p.{{ channels }} - 1u);
  let filter{{ i }} = min(first_filter + line + {{ i * w.tiles }}u, p.{{ filters }} - 1u); //% for i in range(places)
  let gradient_at{{ i }} = own * {{ rows }}u + ((line / 4u + {{ i * quads }}u) ^ (own * {{ turned }}u)); //% for i in range(places)
  let image_at = {{ patches }}u + own * {{ quads }}u + ((line / 4u) ^ (own * {{ turned }}u % {{ quads }}u));
  var at = piece * p.{{ long }} + own;
  let end = min((piece + 1u) * p.{{ long }}, p.{{ count }});
  var column = at % p.{{ across }};
  var row = at / p.{{ across }} % p.{{ down }};
  var picture = at / p.{{ across }} / p.{{ down }};
  var top = 0u;
  var left = 0u;
  var is_summed = false;
  var d{{ i }}_{{ j }} = 0.0; //% for i, j in product(range(4), range(4))
  var g{{ i }}_{{ a }}{{ b }} = 0.0; //% for i, a, b in product(range(places), range(2), range(2))
  {
{{ fetch() }}
  }
{{ stage() }}
// the frequency of the products that this thread adds up, and which filters and channels
  let frequency = t / {{ w.lanes }}u;
  let fx = t % {{ w.down }}u;
  let tx = (t % {{ w.lanes }}u) / {{ w.down }}u;
  let ua = frequency * {{ w.step * rows }}u;
  let va = {{ patches }}u + frequency * {{ w.step * quads }}u;
  var acc{{ i }}_{{ j }} = {{ V }}(0); //% for i, j in product(range(w.high), range(w.wide // 4))
  workgroupBarrier();
//# The last step is fetched and put once more, for nothing, as in winograd.wgsl: it lies past the end, so it adds zeros.
  for (var turn = 1u; turn <= p.{{ turns }}; turn++) {
    {
{{ fetch() }}
    }
//% for k in range(w.step)
//% set s = k * turned
    {
//% for i in range(w.high // 4)
//% set over = i * w.down - i * w.down % 8
      let a{{ i }} = memory[ua + {{ k * rows + over }}u + ((fx + {{ i * w.down - over }}u) ^ {{ s }}u)];
//% endfor
      let b{{ j }} = memory[va + {{ k * quads }}u + ((tx + {{ j * w.beside }}u) ^ {{ s % quads }}u)]; //% for j in range(w.wide // 4)
//% for i, j in product(range(w.high), range(w.wide // 4))
      acc{{ i }}_{{ j }} = {{ tile.multiply_add(V, "a%d.%s" % (i // 4, "xyzw"[i % 4]), "b%d" % j, "acc%d_%d" % (i, j)) }};
//% endfor
    }
//% endfor
    workgroupBarrier();
{{ stage() }}
    workgroupBarrier();
  }
// some filters of each thread at a time: the 16 frequencies of a sum come together in memory, and go back
//% for pass in range(0, w.high, w.at_once)
//% for i, j in product(range(w.at_once), range(w.wide // 4))
//% set to_line = "(frequency * %du + fx) * %du + %du) * %du" % (w.down, w.at_once, i, quads)
//% set place = "(tx + %du + fx * %du) %% %du" % (j * w.beside, w.skew, quads)
  memory[({{ to_line }} + {{ place }}] = acc{{ pass + i }}_{{ j }};
//% endfor
  workgroupBarrier();
{{ results(pass, r) }} //% for r in range(w.wide * w.at_once // 16)
  workgroupBarrier(); //% if pass + w.at_once < w.high
//% endfor
//% endblock

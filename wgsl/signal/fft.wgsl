//# Fourier transforms of lines of complex numbers, by Stockham's passes, which need no reordering (Govindaraju et al.,
//# 2008): a thread transforms a few numbers in registers, and workgroup memory turns them between passes.
//# An inverse transform is one of swapped real and imaginary parts, whose parts are swapped back. Lines of other
//# lengths are convolved with a chirp (Bluestein, 1970): a transform, a product with a table, an inverse transform.
//% extends "launch.wgsl"
//% import "signal/_butterfly.wgsl" as butterfly
//# the b-th butterfly of a thread in a pass: its line and its place there; neighbours are of a line, or across lines
{% macro place(pass, b, across) -%}
//% set i, mark = plus("lid.x", b * workgroup[0]), "%d_%d" % (pass.number, b)
  let line{{ mark }} = {{ modulo(i, each) if across else over(i, pass.apart) }};
  let j{{ mark }} = {{ over(i, each) if across else modulo(i, pass.apart) }};
  let on{{ mark }} = (first + line{{ mark }} < p.count){{ " & (%s < %du)" % (i, each * pass.apart) if pass.idle }};
  var {{ name }} = vec2<f32>(); //% for name in pass.names[b]
{%- endmacro %}
{% macro cell(line, pos) -%}cell({{ sum_of(times(pos, each), line) if columns else sum_of(times(line, size), pos) }}){%- endmacro %}
//# where the s-th result of a butterfly belongs
{% macro target(pass, b, s) -%}
//% set j = "j%d_%d" % (pass.number, b)
{{ sum_of(times(over(j, pass.span), pass.span * pass.radix), modulo(j, pass.span), "%du" % (s * pass.span)) }}
{%- endmacro %}
{% macro stored(pass, part) -%}
//% for b in range(pass.each)
//% set mark = "%d_%d" % (pass.number, b)
  if (on{{ mark }}) {
    box[{{ cell("line" ~ mark, target(pass, b, s)) }}] = {{ pass.names[b][pass.order[s]] }}{{ part }}; //% for s in range(pass.radix)
  }
//% endfor
{%- endmacro %}
{% macro fetched(pass, part) -%}
//% for b in range(pass.each)
//% set mark = "%d_%d" % (pass.number, b)
  if (on{{ mark }}) {
    {{ name }}{{ part }} = box[{{ cell("line" ~ mark, plus("j" ~ mark, loop.index0 * pass.apart)) }}]; //% for name in pass.names[b]
  }
//% endfor
{%- endmacro %}
//# powers of a root, by which the inputs of a later pass are multiplied
{% macro twiddled(pass, b) -%}
  {
    let w1 = root({{ modulo("j%d_%d" % (pass.number, b), pass.span) }}, {{ pass.span * pass.radix }}u);
    let w{{ q }} = times(w{{ q // 2 }}, w{{ q - q // 2 }}); //% for q in range(2, pass.radix)
    {{ pass.names[b][q] }} = times({{ pass.names[b][q] }}, w{{ q }}); //% for q in range(1, pass.radix)
  }
{%- endmacro %}
//# the inputs of the first pass
{% macro begun(pass) -%}
//% for b in range(pass.each)
  if (on0_{{ b }}) {
//% set read = "chirped_at" if chirp else "number_at"
    {{ name }} = {{ read }}(first + line0_{{ b }}, {{ plus("j0_%d" % b, loop.index0 * pass.apart) }}); //% for name in pass.names[b]
  }
//% endfor
{%- endmacro %}
//# the results of a pass become inputs of the next
{% macro exchanged(before, pass) -%}
//% for part in parts
  workgroupBarrier(); //% if not (loop.first and pass.number == 1)
{{ stored(before, part) }}
  workgroupBarrier();
{{ fetched(pass, part) }}
//% endfor
{{ twiddled(pass, b) }} //% for b in range(pass.each)
{%- endmacro %}
//# the results of the first transform, times the table, are the inputs of the inverse one
{% macro turned_back(before, b) -%}
//% for s in range(before.radix)
//% set name = before.names[b][before.order[s]]
  {
    let at = 2u * ({{ target(before, b, s) }});
    {{ name }} = times({{ name }}, vec2<f32>(in0[at], in0[at + 1u])).yx;
  }
//% endfor
{%- endmacro %}
{% macro connected(before, pass) -%}
//% if pass.number == before.number
{{ turned_back(before, b) }} //% for b in range(pass.each)
//% else
{{ exchanged(before, pass) }}
//% endif
{%- endmacro %}
{% macro written(pass) -%}
//% for b in range(pass.each)
//% set mark = "%d_%d" % (pass.number, b)
  if (on{{ mark }}) {
//% set write = "put_chirped" if chirp else "put"
    {{ write }}(first + line{{ mark }}, {{ target(pass, b, s) }}, {{ pass.names[b][pass.order[s]] }}); //% for s in range(pass.radix)
  }
//% endfor
{%- endmacro %}
//# a number and the one as far from the end, which the transform of real numbers is made of
{% macro pair(b) -%}
//% set i = plus("lid.x", b * workgroup[0])
  let line_{{ b }} = {{ over(i, half) }};
  let k_{{ b }} = {{ modulo(i, half) }};
  let on_{{ b }} = ({{ i }} < {{ each * half }}u) & (first + line_{{ b }} < p.count);
  let far_{{ b }} = select({{ size }}u - k_{{ b }}, 0u, k_{{ b }} == 0u);
  var a_{{ b }} = vec2<f32>();
  var b_{{ b }} = vec2<f32>();
{%- endmacro %}
{% macro fetched_pair(b, part) -%}
  if (on_{{ b }}) {
    a_{{ b }}{{ part }} = box[{{ cell("line_%d" % b, "k_%d" % b) }}];
    b_{{ b }}{{ part }} = box[{{ cell("line_%d" % b, "far_%d" % b) }}];
  }
{%- endmacro %}
{% macro written_pair(b) -%}
  if (on_{{ b }}) {
    let sum = a_{{ b }} + conjugate(b_{{ b }});
    let odd = times(a_{{ b }} - conjugate(b_{{ b }}), root(k_{{ b }}, {{ length }}u));
    let at = (first + line_{{ b }}) * {{ size + 1 }}u;
    out[at + k_{{ b }}] = 0.5 * (sum + vec2<f32>(odd.y, -odd.x));
    out[at + {{ size }}u - k_{{ b }}] = 0.5 * (conjugate(sum) - vec2<f32>(odd.y, odd.x));
  }
{%- endmacro %}
//# the transform of real numbers, from that of their even and odd ones
{% macro written_in_pairs(pass) -%}
{{ pair(b) }} //% for b in range(pairs)
//% for part in parts
  workgroupBarrier(); //% if passes | length > 1 or not loop.first
{{ stored(pass, part) }}
  workgroupBarrier();
{{ fetched_pair(b, part) }} //% for b in range(pairs)
//% endfor
{{ written_pair(b) }} //% for b in range(pairs)
{%- endmacro %}
//% block shared
var<workgroup> box: array<{{ "f32" if split else "vec2<f32>" }}, {{ cells }}>; //% if cells

fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

fn conjugate(a: vec2<f32>) -> vec2<f32> {
  return vec2<f32>(a.x, -a.y);
}

// neighbours in steps of powers of two are in different banks
fn cell(i: u32) -> u32 {
  return i ^ ((i >> 5u) & 31u);
}

// exp(-2 pi i e / n) for e < n <= 2^28, from angles up to pi / 4
fn root(e: u32, n: u32) -> vec2<f32> {
  let quarter = (e * 8u + n) / (2u * n);
  let a = f32(i32(e * 4u) - i32(quarter * n)) * (1.57079632679 / f32(n));
  let t = a * a;
  let s = a + a * t * (-0.16666654611 + t * (8.3321608736e-3 - t * 1.9515295891e-4));
  let c = 1.0 - 0.5 * t + t * t * (4.166664568298827e-2 + t * (-1.388731625493765e-3 + t * 2.443315711809948e-5));
  let is_odd = (quarter & 1u) == 1u;
  let x = select(c, s, is_odd);
  let y = select(s, c, is_odd);
  return vec2<f32>(select(x, -x, ((quarter + 1u) & 2u) == 2u), select(-y, y, (quarter & 2u) == 2u));
}

fn number_at(line: u32, pos: u32) -> vec2<f32> {
//% set at = "((line / p.inner) * %du + pos) * p.inner + line %% p.inner" if columns else "line * %du + pos"
//% set half_at = at % (length // 2 + 1)
//% set at = at % numbers
//% if form in ("fft", "ifft", "packed", "upper", "part", "second", "isecond")
  let i = 2u * ({{ at }});
  return vec2<f32>(value_at(i{{ " + 1u" if inverse }}), value_at(i{{ " + 1u" if not inverse }}));
//% elif form == "table"
  // the chirp's conjugate, around 0
  let k = min(pos, {{ size }}u - pos);
  let z = conjugate(chirp_at(k));
  return select(vec2<f32>(), z, k < {{ numbers }}u);
//% elif form in ("real", "half")
  return vec2<f32>(value_at({{ at }}), 0.0);
//% elif form in ("back", "mirror")
  // the other half has the conjugates
//% set near_at = "(line / p.inner) * (whole / 2u + 1u) + near" if form == "mirror" else half_at.replace("pos", "near")
//% set near_at = "(%s) * p.beside + line %% p.beside" % near_at if beside else near_at
  let whole = {{ "p.whole" if form == "mirror" else "%du" % length }};
//% set column = "line % p.inner / p.beside" if beside else "line % p.inner"
  let place = {{ "pos * (p.inner / p.beside) + " ~ column if beside else "pos * p.inner + " ~ column if form == "mirror" else "pos" }};
  let near = min(place, whole - place);
  let i = 2u * ({{ near_at }});
  let y = select(value_at(i + 1u), 0.0, near == 0u || 2u * near == whole);
  return vec2<f32>(select(y, -y, near != place), value_at(i));
//% else
  // even and odd elements as one complex number
  let i = 2u * (line * {{ size + 1 }}u + pos);
  let far = 2u * (line * {{ size + 1 }}u + {{ size }}u - pos);
  let a = vec2<f32>(value_at(i), select(value_at(i + 1u), 0.0, pos == 0u));
  let b = vec2<f32>(value_at(far), -select(value_at(far + 1u), 0.0, pos == 0u));
  let odd = times(a - b, conjugate(root(pos, {{ length }}u)));
  return vec2<f32>(a.y + b.y + odd.x, a.x + b.x - odd.y);
//% endif
}

fn put(line: u32, pos: u32, z: vec2<f32>) {
//% if turned and beside
  let y = times(z, root(pos * (line % p.inner / p.beside), p.whole));
  out[{{ at }}] = {{ "y.yx" if inverse else "y" }};
//% elif turned
  let y = times(z, root(pos * (line % p.inner), p.whole));
  out[line * {{ numbers }}u + pos] = {{ "y.yx" if inverse else "y" }};
//% elif form == "table"
  out[pos] = z;
//% elif form in ("fft", "ifft", "real", "unpacked")
  out[{{ at }}] = {{ "z.yx" if inverse else "z" }};
//% elif form in ("upper", "part", "second", "isecond")
  // the results of the second of two steps lie across the lines
//% set end = "p.whole / 2u + 1u" if form == "upper" else "p.whole"
//% set end = "(%s) * p.beside" % end if beside else end
//% set across = "p.across" if beside else "p.inner"
  let i = pos * {{ across }} + line % {{ across }};
  if (i < {{ end }}) {
    out[(line / {{ across }}) * ({{ end }}) + i] = {{ "z.y" if form == "part" else "z.yx" if form == "isecond" else "z" }};
  }
//% elif form == "half"
  if (pos <= {{ length // 2 }}u) {
    out[{{ half_at }}] = z;
  }
//% elif form == "back"
  out[{{ at }}] = z.y;
//% endif
}

// exp(-pi i pos^2 / n) //% if chirp or form == "table"
//% if chirp or form == "table"
fn chirp_at(pos: u32) -> vec2<f32> {
  return root(pos * pos % {{ 2 * numbers }}u, {{ 2 * numbers }}u);
}
//% endif

//% if chirp
fn chirped_at(line: u32, pos: u32) -> vec2<f32> {
  if (pos >= {{ numbers }}u) {
    return vec2<f32>();
  }
  return times(number_at(line, pos), chirp_at(pos));
}

fn put_chirped(line: u32, pos: u32, z: vec2<f32>) {
  if (pos < {{ numbers }}u) {
    put(line, pos, times(z.yx * {{ "%.12e" % (1 / size) }}, chirp_at(pos)));
  }
}
//% endif
//% endblock
//% block work
  let first = group * {{ each }}u;
//% for pass in passes
  // pass {{ loop.index }} of {{ passes | length }}, of radix {{ pass.radix }}
//% set across = columns and not (turned and not beside and loop.last and not loop.first)
{{ place(pass, b, across) if pass.is_new }} //% for b in range(pass.each)
{{ begun(pass) if loop.first else connected(passes[loop.index0 - 1], pass) }}
{{ butterfly.transform(names, pass.halves, roots) }} //% for names in pass.names
//% endfor
{{ written_in_pairs(passes[-1]) if form == "packed" else written(passes[-1]) }}
//% endblock

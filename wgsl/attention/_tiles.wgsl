//# What the tiled attention kernels share. A workgroup of t.tx x t.ty threads owns t.ty * t.rows rows; thread (tx, ty) has
//# row quads ty + ty' * h and, of the t.tx * t.cols columns of a block, tx + t.tx * j. Two products make everything:
//# `dots` sums over features, both sides transposed into workgroup memory; `sums` weighs rows by what registers hold.
//# Places in memory are [constant][thread], so that a bounds check is done once and not at every read.
//# All three kernels (forward; by queries; by keys and values at once) are made of these two. 16-bit floats are
//# read and written as they lie.
//% import "attention/_load.wgsl" as rows

{% macro memory(t) -%}
var<workgroup> left: array<array<vec4<f32>, {{ t.left_pitch }}>, {{ t.step }}>;
var<workgroup> right: array<array<vec4<f32>, {{ t.right_pitch }}>, {{ t.step }}>;{%- endmacro %}

{% macro places(t, unit) -%}
  let tx = lid.x % {{ t.tx }}u;
  let ty = lid.x / {{ t.tx }}u;
  let row0 = {{ unit }} * {{ t.height }}u;{%- endmacro %}

{% macro start_dots(a, b, t) -%}
{{ rows.declare("u", t, a.rows // 4 * t.step // 4) }}
{{ rows.declare("v", t, b.rows // 4 * t.step // 4) }}
{{ rows.fetch("u", a, t, "0u") }}
{{ rows.fetch("v", b, t, "0u") }}{%- endmacro %}

//# acc<h>_<j>, vec4s of four rows, plus the products of rows and columns summed over all features; with `onward`, what comes
//# first was fetched before (start_dots), and the next columns' is fetched at the end
{% macro dots(acc, a, b, t, onward=false) -%}
    {
{{ start_dots(a, b, t) }} //% if t.ahead and not onward
{{ rows.declare("u", t, a.rows // 4 * t.step // 4) }} //% if not t.ahead
{{ rows.declare("v", t, b.rows // 4 * t.step // 4) }} //% if not t.ahead
    for (var c = 0u; c < {{ a.width }}u; c += {{ t.step // 4 }}u) {
{{ rows.fetch("u", a, t, "c") }} //% if not t.ahead
{{ rows.fetch("v", b, t, "c") }} //% if not t.ahead
      workgroupBarrier();
{{ rows.put("u", "left", a, t) }}
{{ rows.put("v", "right", b, t) }}
      workgroupBarrier();
      let over = c + {{ t.step // 4 }}u >= {{ a.width }}u; //% if t.ahead
      let next = select(c + {{ t.step // 4 }}u, 0u, over); //% same
{{ rows.fetch("u", a, t, "next") }} //% same
{{ rows.fetch("v", dict(b, first="first + select(0u, %du, over)" % b.rows) if onward else b, t, "next") }} //% same
      { //% for k in range(t.step)
{{ tile(t, k, t.cols // 4) }}
{% for h in range(t.rows // 4) %}
        {{ acc }}{{ h }}_{{ j }} = fma(a{{ h }}, vec4<f32>(b{{ j // 4 }}.{{ "xyzw"[j % 4] }}), {{ acc }}{{ h }}_{{ j }}); //% for j in range(t.cols)
{% endfor %}
      }
    }
    }{%- endmacro %}

{% macro tile(t, k, wide) -%}
        let a{{ h }} = left[{{ k }}][ty + {{ h * t.ty }}u]; //% for h in range(t.rows // 4)
        let b{{ i }} = right[{{ k }}][tx + {{ i * t.tx }}u]; //% for i in range(wide)
{%- endmacro %}

{% macro start_sums(side, t) -%}
{{ rows.declare("n", t, t.step * side.quads, 1) }}
{{ rows.along("n", side, t, "0u") }}{%- endmacro %}

//# acc<row>_<i>, a vec4 of features, plus the rows of a side weighed by w<h>_<j>
{% macro sums(acc, w, side, t, started=false) -%}
{% set count = t.step * side.quads %}
{% set turns = t.width // t.step %}
    {
{{ start_sums(side, t) }} //% if t.ahead and not started
{{ rows.declare("n", t, count, 1) }} //% if not t.ahead
    for (var c = 0u; c < {{ turns }}u; c += 1u) {
{{ rows.along("n", side, t, "c") }} //% if not t.ahead
      workgroupBarrier();
      switch c {
        {{ "case %du:" % c if c + 1 < turns else "default:" }} { //% for c in range(turns)
{% for j in range(t.step // t.tx) %}
          left[tx + {{ j * t.tx }}u][ty + {{ h * t.ty }}u] = {{ w }}{{ h }}_{{ c * (t.step // t.tx) + j }}; //% for h in range(t.rows // 4)
{% endfor %}
        }
      }
{{ rows.each(t, count, b) }} //% for b in t.blocks(count)
      right[(lid.x + {{ b * t.threads }}u) / {{ side.quads }}u][(lid.x + {{ b * t.threads }}u) % {{ side.quads }}u] = n{{ b }}_0; //% same
{{ rows.end(t, count, b) }} //% same
      workgroupBarrier();
{{ rows.along("n", side, t, "min(c + 1u, %du)" % (turns - 1)) }} //% if t.ahead
      { //% for k in range(t.step)
{{ tile(t, k, side.quads // t.tx) }}
{% for r in range(t.rows) %}
        {{ acc }}{{ r }}_{{ i }} = fma(vec4<f32>({{ of_four("a", r) }}), b{{ i }}, {{ acc }}{{ r }}_{{ i }}); //% for i in range(side.quads // t.tx)
{% endfor %}
      }
    }
    }{%- endmacro %}

//# every thread's values of its rows, beside those of the other threads of the row
{% macro share(name, t) -%}
    workgroupBarrier();
    left[tx][ty + {{ h * t.ty }}u] = {{ name }}{{ h }}; //% for h in range(t.rows // 4)
    workgroupBarrier();{%- endmacro %}

//# Elements of 2 bytes and 1: a word holds neighbours, the first in its low bits. Rounding is our own, to nearest,
//# halves to even: pack2x16float may round either way, and is not defined beyond the range of float16.
{% macro unpack_f16(T) %}
fn {{ T.fn("unpack_f16") }}(words: vec2<u32>) -> vec4<f32> { //% if T.width == 4
  return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}
fn {{ T.fn("unpack_f16") }}(word: u32, at: u32) -> f32 { //% if T.width != 4
  return unpack2x16float(word >> ((at & 1u) * 16u)).x;
}
{% endmacro %}
//# below the smallest normal float16, 2^-14, the steps are of 2^-24, as those of float32 are above 0.5
{% macro half_bits(T) %}
fn {{ T.fn("half_bits") }}(x: {{ T }}) -> {{ T.u }} {
  let a = bitcast<{{ T.u }}>(x) & {{ T.u }}(0x7fffffffu);
  let normal = (a - {{ T.u }}(0x38000000u) + {{ T.u }}(0xfffu) + ((a >> {{ T.u }}(13u)) & {{ T.u }}(1u))) >> {{ T.u }}(13u);
  let small = bitcast<{{ T.u }}>(abs(x) + {{ T }}(0.5)) - {{ T.u }}(0x3f000000u);
  let finite = select(min(normal, {{ T.u }}(0x7c00u)), small, a < {{ T.u }}(0x38800000u));
  let h = select(finite, {{ T.u }}(0x7e00u), a > {{ T.u }}(0x7f800000u));
  return h | ((bitcast<{{ T.u }}>(x) >> {{ T.u }}(16u)) & {{ T.u }}(0x8000u));
}{% endmacro %}
{% macro pack_f16(T) %}
fn {{ T.fn("pack_f16") }}(x: vec4<f32>) -> vec2<u32> {
  let h = {{ T.call("half_bits") }}(x);
  return h.xz | (h.yw << vec2<u32>(16u));
}{% endmacro %}
{% macro settle_f16(T) %}
fn {{ T.fn("settle_f16") }}(x: {{ T }}) -> {{ T }} {
  let h = {{ T.call("half_bits") }}(x);
  return vec4<f32>(unpack2x16float(h.x | (h.y << 16u)), unpack2x16float(h.z | (h.w << 16u))); //% if T.width == 4
  return unpack2x16float(h).x; //% if T.width != 4
}{% endmacro %}

{% macro unpack_bf16(T) %}
fn {{ T.fn("unpack_bf16") }}(words: vec2<u32>) -> vec4<f32> { //% if T.width == 4
  return bitcast<vec4<f32>>(vec4<u32>(words.x << 16u, words.x & 0xffff0000u, words.y << 16u, words.y & 0xffff0000u));
}
fn {{ T.fn("unpack_bf16") }}(word: u32, at: u32) -> f32 { //% if T.width != 4
  return bitcast<f32>((word >> ((at & 1u) * 16u)) << 16u);
}
{% endmacro %}
//# the upper half of a float32; a NaN keeps its sign and becomes a quiet one
{% macro upper_half(T) %}
fn {{ T.fn("upper_half") }}(x: {{ T }}) -> {{ T.u }} {
  let b = bitcast<{{ T.u }}>(x);
  let rounded = (b + {{ T.u }}(0x7fffu) + ((b >> {{ T.u }}(16u)) & {{ T.u }}(1u))) >> {{ T.u }}(16u);
  return select(rounded, (b >> {{ T.u }}(16u)) | {{ T.u }}(0x40u), (b & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u));
}{% endmacro %}
{% macro pack_bf16(T) %}
fn {{ T.fn("pack_bf16") }}(x: vec4<f32>) -> vec2<u32> {
  let h = {{ T.call("upper_half") }}(x);
  return h.xz | (h.yw << vec2<u32>(16u));
}{% endmacro %}
{% macro settle_bf16(T) %}
fn {{ T.fn("settle_bf16") }}(x: {{ T }}) -> {{ T }} {
  return bitcast<{{ T }}>({{ T.call("upper_half") }}(x) << {{ T.u }}(16u));
}{% endmacro %}

//# 8-bit floats: a sign, an exponent and a mantissa of `kept` bits (core/float8.py). `top` is the code of what is too
//# large, 0x7f that of NaN; codes from `special` on are no numbers.
{% macro float8_codes(T, kept, bias, top) %}
  let a = bitcast<{{ T.u }}>(x) & {{ T.u }}(0x7fffffffu);
  let odd = (a >> {{ T.u }}({{ 23 - kept }}u)) & {{ T.u }}(1u);
  let below = {{ T.u }}({{ 2 ** (22 - kept) - 1 }}u);
  let normal = (a - {{ T.u }}({{ (127 - bias) * 8388608 }}u) + below + odd) >> {{ T.u }}({{ 23 - kept }}u);
//# below the smallest normal number the steps are those of float32 above this one
  let large = {{ T }}({{ 2.0 ** (24 - bias - kept) }});
  let small = bitcast<{{ T.u }}>(abs(x) + large) - bitcast<{{ T.u }}>(large);
  let finite = select(min(normal, {{ T.u }}({{ top }}u)), small, a < {{ T.u }}({{ (128 - bias) * 8388608 }}u));
  let codes = select(finite, {{ T.u }}(0x7fu), a > {{ T.u }}(0x7f800000u));
  return codes | ((bitcast<{{ T.u }}>(x) >> {{ T.u }}(24u)) & {{ T.u }}(0x80u));
{% endmacro %}
{% macro float8_values(T, kept, bias, special) %}
  let rest = codes & {{ T.u }}(0x7fu);
  let shifted = rest << {{ T.u }}({{ 23 - kept }}u);
  let small = bitcast<{{ T.u }}>({{ T }}(rest) * {{ 2.0 ** (1 - bias - kept) }});
  let finite = select(shifted + {{ T.u }}({{ (127 - bias) * 8388608 }}u), small, rest < {{ T.u }}({{ 2 ** kept }}u));
  let bits = select(finite, shifted | {{ T.u }}(0x7f800000u), rest >= {{ T.u }}({{ special }}u));
  return bitcast<{{ T }}>(bits | ((codes & {{ T.u }}(0x80u)) << {{ T.u }}(24u)));
{% endmacro %}
{% macro codes_f8e4m3(T) %}
fn {{ T.fn("codes_f8e4m3") }}(x: {{ T }}) -> {{ T.u }} {
{{ float8_codes(T, 3, 7, 126) }}}{% endmacro %}
{% macro values_f8e4m3(T) %}
fn {{ T.fn("values_f8e4m3") }}(codes: {{ T.u }}) -> {{ T }} {
{{ float8_values(T, 3, 7, 127) }}}{% endmacro %}
{% macro unpack_f8e4m3(T) %}
fn {{ T.fn("unpack_f8e4m3") }}(word: u32) -> vec4<f32> { //% if T.width == 4
  return {{ T.call("values_f8e4m3") }}(vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u));
}
fn {{ T.fn("unpack_f8e4m3") }}(word: u32, at: u32) -> f32 { //% if T.width != 4
  return {{ T.call("values_f8e4m3") }}(word >> ((at & 3u) * 8u));
}
{% endmacro %}
{% macro pack_f8e4m3(T) %}
fn {{ T.fn("pack_f8e4m3") }}(x: vec4<f32>) -> u32 {
  let b = {{ T.call("codes_f8e4m3") }}(x) << vec4<u32>(0u, 8u, 16u, 24u);
  return b.x | b.y | b.z | b.w;
}{% endmacro %}
{% macro settle_f8e4m3(T) %}
fn {{ T.fn("settle_f8e4m3") }}(x: {{ T }}) -> {{ T }} {
  return {{ T.call("values_f8e4m3") }}({{ T.call("codes_f8e4m3") }}(x));
}{% endmacro %}

{% macro codes_f8e5m2(T) %}
fn {{ T.fn("codes_f8e5m2") }}(x: {{ T }}) -> {{ T.u }} {
{{ float8_codes(T, 2, 15, 124) }}}{% endmacro %}
{% macro values_f8e5m2(T) %}
fn {{ T.fn("values_f8e5m2") }}(codes: {{ T.u }}) -> {{ T }} {
{{ float8_values(T, 2, 15, 124) }}}{% endmacro %}
{% macro unpack_f8e5m2(T) %}
fn {{ T.fn("unpack_f8e5m2") }}(word: u32) -> vec4<f32> { //% if T.width == 4
  return {{ T.call("values_f8e5m2") }}(vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u));
}
fn {{ T.fn("unpack_f8e5m2") }}(word: u32, at: u32) -> f32 { //% if T.width != 4
  return {{ T.call("values_f8e5m2") }}(word >> ((at & 3u) * 8u));
}
{% endmacro %}
{% macro pack_f8e5m2(T) %}
fn {{ T.fn("pack_f8e5m2") }}(x: vec4<f32>) -> u32 {
  let b = {{ T.call("codes_f8e5m2") }}(x) << vec4<u32>(0u, 8u, 16u, 24u);
  return b.x | b.y | b.z | b.w;
}{% endmacro %}
{% macro settle_f8e5m2(T) %}
fn {{ T.fn("settle_f8e5m2") }}(x: {{ T }}) -> {{ T }} {
  return {{ T.call("values_f8e5m2") }}({{ T.call("codes_f8e5m2") }}(x));
}{% endmacro %}

{% macro unpack_i8(T) %}
fn {{ T.fn("unpack_i8") }}(word: u32) -> vec4<i32> { //% if T.width == 4
  return (vec4<i32>(bitcast<i32>(word)) << vec4<u32>(24u, 16u, 8u, 0u)) >> vec4<u32>(24u);
}
fn {{ T.fn("unpack_i8") }}(word: u32, at: u32) -> i32 { //% if T.width != 4
  return (bitcast<i32>(word) << (24u - (at & 3u) * 8u)) >> 24u;
}
{% endmacro %}
{% macro unpack_u8(T) %}
fn {{ T.fn("unpack_u8") }}(word: u32) -> vec4<u32> { //% if T.width == 4
  return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(255u);
}
fn {{ T.fn("unpack_u8") }}(word: u32, at: u32) -> u32 { //% if T.width != 4
  return (word >> ((at & 3u) * 8u)) & 255u;
}
{% endmacro %}
{% macro unpack_i16(T) %}
fn {{ T.fn("unpack_i16") }}(words: vec2<u32>) -> vec4<i32> { //% if T.width == 4
  return (bitcast<vec4<i32>>(words.xxyy) << vec4<u32>(16u, 0u, 16u, 0u)) >> vec4<u32>(16u);
}
fn {{ T.fn("unpack_i16") }}(word: u32, at: u32) -> i32 { //% if T.width != 4
  return (bitcast<i32>(word) << (16u - (at & 1u) * 16u)) >> 16u;
}
{% endmacro %}
{% macro unpack_u16(T) %}
fn {{ T.fn("unpack_u16") }}(words: vec2<u32>) -> vec4<u32> { //% if T.width == 4
  return (words.xxyy >> vec4<u32>(0u, 16u, 0u, 16u)) & vec4<u32>(0xffffu);
}
fn {{ T.fn("unpack_u16") }}(word: u32, at: u32) -> u32 { //% if T.width != 4
  return (word >> ((at & 1u) * 16u)) & 0xffffu;
}
{% endmacro %}
{% macro pack_halfwords(T) %}
fn {{ T.fn("pack_halfwords") }}(x: {{ T }}) -> vec2<u32> {
  let h = bitcast<vec4<u32>>(x) & vec4<u32>(0xffffu);
  return h.xz | (h.yw << vec2<u32>(16u));
}{% endmacro %}
{% macro pack_i16(T) %}
fn {{ T.fn("pack_i16") }}(x: vec4<i32>) -> vec2<u32> {
  return {{ T.call("pack_halfwords") }}(x);
}{% endmacro %}
{% macro pack_u16(T) %}
fn {{ T.fn("pack_u16") }}(x: vec4<u32>) -> vec2<u32> {
  return {{ T.call("pack_halfwords") }}(x);
}{% endmacro %}
{% macro pack_bytes(T) %}
fn {{ T.fn("pack_bytes") }}(x: {{ T }}) -> u32 {
  let b = (bitcast<vec4<u32>>(x) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
  return b.x | b.y | b.z | b.w;
}{% endmacro %}
{% macro pack_i8(T) %}
fn {{ T.fn("pack_i8") }}(x: vec4<i32>) -> u32 {
  return {{ T.call("pack_bytes") }}(x);
}{% endmacro %}
{% macro pack_u8(T) %}
fn {{ T.fn("pack_u8") }}(x: vec4<u32>) -> u32 {
  return {{ T.call("pack_bytes") }}(x);
}{% endmacro %}

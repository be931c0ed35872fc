//# Elements of GGUF's quantised blocks (src/flambeau/core/block_formats.py): `words_<format>` has a function for each
//# word that decoding element `at` reads, `unpack_<format>` decodes four neighbours of these words, or one of them.
//# Blocks of some formats begin at any multiple of 2 bytes: what has 4 bytes then lies in two words.

//# where the word is of the element's block: a byte of the block, as text that may use j, the first of the element's four
{% macro word(T, n, byte) -%}
fn {{ T.dtype.name }}_word{{ n }}(at: u32) -> u32 {
  let j = (at % {{ T.dtype.elements }}u) & 0xfffffffcu;
  return (at / {{ T.dtype.elements }}u * {{ T.dtype.size }}u + {{ byte }}) / 4u;
}
{% endmacro %}
{% macro words(T, bytes) -%}
{{ word(T, loop.index0, byte) }} //% for byte in bytes
{% endmacro %}

//# the head of a function that decodes: w0, w1, ... are its words, b is the first byte of the block
{% macro head(T) -%}
fn {{ T.fn("unpack_" ~ T.dtype.name) }}({% for n in range(T.dtype.reads) %}w{{ n }}: u32, {% endfor %}at: u32) -> {{ T }} {
  let j = (at % {{ T.dtype.elements }}u) & 0xfffffffcu;
  let b = at / {{ T.dtype.elements }}u * {{ T.dtype.size }}u;
{%- endmacro %}
//# its end: `value` is a vec4
{% macro tail(T, value) -%}
  return {{ value }}; //% if T.width == 4
  let four = {{ value }}; //% else
  return four[at & 3u]; //% same
}
{% endmacro %}
//# four bytes from byte `byte` of a block on, which is a multiple of 2 (of the block's first byte and this one)
{% macro four_bytes(low, high, byte) -%}
  select({{ low }}, ({{ low }} >> 16u) | ({{ high }} << 16u), ((b + {{ byte }}) & 2u) != 0u){%- endmacro %}
//# a float16 at an even byte
{% macro half(T, w, byte="0u") -%}{{ T.scalar.call("half_value") }}({{ w }} >> (((b + {{ byte }}) & 2u) * 8u)){%- endmacro %}
//# the four bytes of a word, from bit `low` on, as integers of `bits` bits
{% macro bits_of(w, low, bits) -%}
  (((vec4<u32>({{ w }}) >> vec4<u32>(0u, 8u, 16u, 24u)) >> vec4<u32>({{ low }})) & vec4<u32>({{ 2 ** bits - 1 }}u)){%- endmacro %}
//# small integers, minus `least`, as floats: behind 2^23's bits an integer is a float that is as much larger
{% macro floats(q, least=0) -%}
  (bitcast<vec4<f32>>({{ q }} | vec4<u32>(0x4b000000u)) - vec4<f32>({{ 8388608 + least }}.0)){%- endmacro %}

//# a float16 in the low half of a word; subnormals by arithmetic, since unpack2x16float may flush them
{% macro half_value(T) %}
fn {{ T.fn("half_value") }}(word: u32) -> f32 {
  let small = f32(i32(word & 0x3ffu)) * 5.9604644775390625e-8;
  let signed = select(small, -small, (word & 0x8000u) != 0u);
  return select(unpack2x16float(word).x, signed, (word & 0x7c00u) == 0u);
}{% endmacro %}

//# --- 32 elements: a scale d, then integers; formats with _1 add a least value m ---

{% macro words_q4_0(T) %}{{ words(T, ("0u", "2u + (j & 15u)", "4u + (j & 15u)")) }}{% endmacro %}
{% macro unpack_q4_0(T) %}
{{ head(T) }}
  let q = {{ four_bytes("w1", "w2", "2u + (j & 15u)") }};
{{ tail(T, half(T, "w0") ~ " * " ~ floats(bits_of("q", "j / 16u * 4u", 4), 8)) }}
{% endmacro %}

{% macro words_q4_1(T) %}{{ words(T, ("0u", "4u + (j & 15u)")) }}{% endmacro %}
{% macro unpack_q4_1(T) %}
{{ head(T) }}
{{ tail(T, half(T, "w0") ~ " * " ~ floats(bits_of("w1", "j / 16u * 4u", 4)) ~ " + " ~ half(T, "w0", "2u")) }}
{% endmacro %}

//# the fifth bits of all elements are one word
{% macro fifth(w) -%}
  ((((vec4<u32>({{ w }}) >> vec4<u32>(j)) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(1u)) << vec4<u32>(4u)){%- endmacro %}

{% macro words_q5_0(T) %}{{ words(T, ("0u", "2u", "4u", "6u + (j & 15u)", "8u + (j & 15u)")) }}{% endmacro %}
{% macro unpack_q5_0(T) %}
{{ head(T) }}
  let h = {{ four_bytes("w1", "w2", "2u") }};
  let q = {{ four_bytes("w3", "w4", "6u + (j & 15u)") }};
{{ tail(T, half(T, "w0") ~ " * " ~ floats("(" ~ bits_of("q", "j / 16u * 4u", 4) ~ " | " ~ fifth("h") ~ ")", 16)) }}
{% endmacro %}

{% macro words_q5_1(T) %}{{ words(T, ("0u", "4u", "8u + (j & 15u)")) }}{% endmacro %}
{% macro unpack_q5_1(T) %}
{{ head(T) }}
  let q = {{ bits_of("w2", "j / 16u * 4u", 4) }} | {{ fifth("w1") }};
{{ tail(T, half(T, "w0") ~ " * " ~ floats("q") ~ " + " ~ half(T, "w0", "2u")) }}
{% endmacro %}

//# int8: with the sign bit turned over, an integer that is 128 larger
{% macro words_q8_0(T) %}{{ words(T, ("0u", "2u + j", "4u + j")) }}{% endmacro %}
{% macro unpack_q8_0(T) %}
{{ head(T) }}
  let q = {{ four_bytes("w1", "w2", "2u + j") }} ^ 0x80808080u;
{{ tail(T, half(T, "w0") ~ " * " ~ floats(bits_of("q", "0u", 8), 128)) }}
{% endmacro %}

//# --- "K": 256 elements in parts of 32 or 16, each with a scale ---

//# scale and least value of part j / 32, from 12 bytes: w1, w2, w3; the last four parts have their high bits in the first two
{% macro k_scales(T) -%}
  let part = j / 32u % 4u * 8u;
  let low = w1 >> part;
  let least = w2 >> part;
  let both = w3 >> part;
  let scale = f32(i32(select((both & 15u) | ((low >> 2u) & 48u), low & 63u, j < 128u)));
  let bottom = f32(i32(select(((both >> 4u) & 15u) | ((least >> 2u) & 48u), least & 63u, j < 128u)));
{%- endmacro %}
{% macro k_value(T, q) -%}
  vec4<f32>({{ half(T, "w0") }} * scale) * {{ q }} - vec4<f32>({{ half(T, "w0", "2u") }} * bottom){%- endmacro %}

{% macro words_q4_k(T) %}{{ words(T, ("0u", "4u", "8u", "12u", "16u + j / 64u * 32u + (j & 31u)")) }}{% endmacro %}
{% macro unpack_q4_k(T) %}
{{ head(T) }}
{{ k_scales(T) }}
{{ tail(T, k_value(T, floats(bits_of("w4", "j / 32u % 2u * 4u", 4)))) }}
{% endmacro %}

{% macro words_q5_k(T) %}{{ words(T, ("0u", "4u", "8u", "12u", "16u + (j & 31u)", "48u + j / 64u * 32u + (j & 31u)")) }}{% endmacro %}
{% macro unpack_q5_k(T) %}
{{ head(T) }}
{{ k_scales(T) }}
  let q = {{ bits_of("w5", "j / 32u % 2u * 4u", 4) }} | ({{ bits_of("w4", "j / 32u", 1) }} << vec4<u32>(4u));
{{ tail(T, k_value(T, floats("q"))) }}
{% endmacro %}

{% macro words_q6_k(T) %}
{% set low, high = "j / 128u * 64u + (j & 63u)", "128u + j / 128u * 32u + (j & 31u)" %}
{{ words(T, (low, "2u + " ~ low, high, "2u + " ~ high, "192u + j / 16u", "208u")) }}
{% endmacro %}
{% macro unpack_q6_k(T) %}
{{ head(T) }}
  let low = {{ four_bytes("w0", "w1", "j / 128u * 64u + (j & 63u)") }};
  let high = {{ four_bytes("w2", "w3", "128u + j / 128u * 32u + (j & 31u)") }};
  let q = {{ bits_of("low", "j / 64u % 2u * 4u", 4) }} | ({{ bits_of("high", "j / 32u % 4u * 2u", 2) }} << vec4<u32>(4u));
  let scale = bitcast<i32>((w4 >> (((b + j / 16u) & 3u) * 8u)) << 24u) >> 24u;
{{ tail(T, "vec4<f32>(" ~ half(T, "w5", "208u") ~ " * f32(scale)) * " ~ floats("q", 32)) }}
{% endmacro %}

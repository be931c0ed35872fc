//# Philox-4x32-10 (Salmon et al., SC 2011): the key is (key, counter offset), each of two words, low first.
{% macro mul_high(T) %}
fn {{ T.fn("mul_high") }}(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let mid = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let more = (a & 0xffffu) * (b >> 16u) + (mid & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (mid >> 16u) + (more >> 16u);
}{% endmacro %}
{% macro philox(T) %}
//% set high = T.call("mul_high")
fn {{ T.fn("philox") }}(key: vec4<u32>, block: u32) -> vec4<u32> {
  let low = key.z + block;
  var c = vec4<u32>(low, key.w + select(0u, 1u, low < block), 0u, 0u);
  var k = key.xy;
  for (var i = 0; i < 10; i++) {
    c = vec4<u32>({{ high }}(0xCD9E8D57u, c.z) ^ c.y ^ k.x, 0xCD9E8D57u * c.z, {{ high }}(0xD2511F53u, c.x) ^ c.w ^ k.y, 0xD2511F53u * c.x);
    k = k + vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}{% endmacro %}
{% macro philox_word(T) %}
fn {{ T.fn("philox_word") }}(key: vec4<u32>, i: u32) -> u32 {
  let c = {{ T.call("philox") }}(key, i / 4u);
  let lane = i % 4u;
  return select(select(c.x, c.y, lane == 1u), select(c.z, c.w, lane == 3u), lane > 1u);
}{% endmacro %}

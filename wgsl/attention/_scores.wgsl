//# From sums of products to scores in powers of two, in attention's tiles and for few rows: scale, cap, bias, masks. Where
//# biases and queries begin, in all its kernels.

//# below every score: a row whose best is here has no key; what is masked is lower still, and its weight is 0
{% set BOTTOM = "-1.7e38" %}
{% set MASKED = "-3.4028234e38" %}
//# what a lower bias counts as, but for minus infinity, which masks: in powers of two it is above BOTTOM still
{% set LEAST = "-1e38" %}

//# The norm of a row, for gradients: out1 has its best score (more than all where it has no key) and the logarithm of
//# its weights' sum. Apart, since a best score far from 0 has no digits left for it.
{% macro norm(row, top, total, empty) -%}
    out1[({{ row }}) * 2u] = select({{ top }}, 3.4028234e38, {{ empty }});
    out1[({{ row }}) * 2u + 1u] = select(log({{ total }}), 0.0, {{ empty }});{%- endmacro %}

//# where the bias of this head starts: its strides are 0 along dims of size 1
{% macro bias_head(o) -%}
  let bias_at = (head / p.heads) * p.bias_batch + (head % p.heads) * p.bias_head; //% if o.bias
{%- endmacro %}

//# the place of the first query among the keys, one for all or one for each row of the batch
{% macro begin(o, head="head") -%}
  let begin = u32(in3[{{ head ~ " / p.heads" if o.each else "0" }}]); //% if o.placed
  let begin = 0u; //% elif o.causal
{%- endmacro %}

//# s<h>_<j> from products of rows (vec4s: query<h> or key<h>, as `of` says) and columns (the others): scaled to powers of
//# two, capped, biased, masked; with `slope`, c<h>_<j> is the derivative of the cap
{% macro scores(t, o, of="query", slope=false) -%}
{% set other = "key" if of == "query" else "query" %}
{% set most = {"query": "p.queries", "key": "p.keys"} %}
    let column{{ j }} = first + tx + {{ j * t.tx }}u; //% for j in range(t.cols)
{% for h, j in product(range(t.rows // 4), range(t.cols)) %}
    s{{ h }}_{{ j }} *= p.score;
    s{{ h }}_{{ j }} = tanh(clamp(s{{ h }}_{{ j }}, vec4<f32>(-15), vec4<f32>(15))); //% if o.softcap
    let c{{ h }}_{{ j }} = 1.0 - s{{ h }}_{{ j }} * s{{ h }}_{{ j }}; //% if o.softcap and slope
    s{{ h }}_{{ j }} *= p.cap * 1.4426950408889634; //% if o.softcap
    { //% if o.bias
      let at = bias_at + min(column{{ j }}, {{ most[other] }} - 1u) * p.bias_{{ other }};
      let rows = min({{ of }}{{ h }}, vec4<u32>({{ most[of] }} - 1u)) * p.bias_{{ of }};
      let b = vec4<{{ "u32" if o.bias == "bool" else "f32" }}>({% for c in "xyzw" %}
{{ ", " if c != "x" }}{{ o.bias_in }}[at + rows.{{ c }}]{% endfor %});
      s{{ h }}_{{ j }} = select(vec4<f32>({{ MASKED }}), s{{ h }}_{{ j }}, b != vec4<u32>(0u)); //% if o.bias == "bool"
      let held = select(b, vec4<f32>({{ LEAST }}), b < vec4<f32>({{ LEAST }})); //% else
      let biased = fma(held, vec4<f32>(1.4426950408889634), s{{ h }}_{{ j }}); //% same
      s{{ h }}_{{ j }} = select(biased, vec4<f32>({{ MASKED }}), b < vec4<f32>({{ MASKED }})); //% same
    }
{% endfor %}
    if (first + {{ t.width }}u > seen) {
{{ masked("s%d_%d" % (h, j), o, of, h, j, most[other]) }} //% for h, j in product(range(t.rows // 4), range(t.cols))
    }{%- endmacro %}

//# scores of keys past the end, or, of a causal attention, behind their queries
{% macro masked(s, o, of, h, j, limit) -%}
      {{ s }} = select(vec4<f32>({{ MASKED }}), {{ s }}, vec4<bool>(column{{ j }} < {{ limit }})
  {{- " & (vec4<u32>(column%d) <= query%d + begin)" % (j, h) if o.causal and of == "query" }}
  {{- " & (key%d <= vec4<u32>(column%d + begin))" % (h, j) if o.causal and of != "query" }});{%- endmacro %}

//# s with its bias, or masked by it
{% macro biased_score(o) -%}
  {% if o.bias == "bool" %}select({{ MASKED }}, s, b != 0u)
  {%- else %}select(fma(select(b, {{ LEAST }}, b < {{ LEAST }}), 1.4426950408889634, s), {{ MASKED }}, b < {{ MASKED }}){% endif %}
{%- endmacro %}
//# s, of row r of the group and key first + k, as in `scores`
{% macro one_score(o) -%}
      let key = first + k;
      s *= p.score;
      s = tanh(clamp(s, -15.0, 15.0)) * p.cap * 1.4426950408889634; //% if o.softcap
      let head = kv * p.group + min(r, p.rows - 1u) / p.queries; //% if o.bias
{{ bias_head(o) }} //% same
      let b = {{ o.bias_in }}[bias_at + r % p.queries * p.bias_query + min(key, p.keys - 1u) * p.bias_key]; //% same
      s = {{ biased_score(o) }}; //% same
      s = select({{ MASKED }}, s, (key < end){{ " & (key <= r % p.queries + begin)" if o.causal }});{%- endmacro %}

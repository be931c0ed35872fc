//# One macro an op. T is the WGSL type of the result (scalar or vec4), arguments are names of computed values.
{% macro exp(T, x) %}{{ T.call("safe_exp") }}({{ x }}){% endmacro %}
{% macro exp2(T, x) %}select(exp2({{ x }}), {{ x }}, (bitcast<{{ T.u }}>({{ x }}) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u)){% endmacro %}
{% macro expm1(T, x) %}{{ T.call("expm1") }}({{ x }}){% endmacro %}
{% macro log(T, x) %}{{ T.call("safe_log") }}({{ x }}){% endmacro %}
{% macro log2(T, x) %}({{ T.call("safe_log") }}({{ x }}) * {{ T }}(1.4426950408889634)){% endmacro %}
{% macro log10(T, x) %}({{ T.call("safe_log") }}({{ x }}) * {{ T }}(0.4342944819032518)){% endmacro %}
{% macro log1p(T, x) %}{{ T.call("log1p") }}({{ x }}){% endmacro %}
{% macro sqrt(T, x) %}sqrt({{ x }}){% endmacro %}
{% macro rsqrt(T, x) %}({{ T }}(1) / sqrt({{ x }})){% endmacro %}
{% macro reciprocal(T, x) %}({{ T }}(1) / {{ x }}){% endmacro %}
{% macro sin(T, x) %}{{ T.call("sine") }}({{ x }}){% endmacro %}
{% macro cos(T, x) %}{{ T.call("cosine") }}({{ x }}){% endmacro %}
{% macro tan(T, x) %}({{ T.call("sine") }}({{ x }}) / {{ T.call("cosine") }}({{ x }})){% endmacro %}
{% macro asin(T, x) %}{{ T.call("arcsine") }}({{ x }}){% endmacro %}
{% macro acos(T, x) %}{{ T.call("arccosine") }}({{ x }}){% endmacro %}
{% macro atan(T, x) %}{{ T.call("arctangent") }}({{ x }}){% endmacro %}
{% macro sinh(T, x) %}{{ T.call("hyperbolic_sine") }}({{ x }}){% endmacro %}
{% macro cosh(T, x) %}(({{ T.call("safe_exp") }}({{ x }}) + exp(-{{ x }})) * {{ T }}(0.5)){% endmacro %}
{% macro tanh(T, x) %}{{ T.call("safe_tanh") }}({{ x }}){% endmacro %}
{% macro asinh(T, x) %}{{ T.call("inverse_sinh") }}({{ x }}){% endmacro %}
{% macro acosh(T, x) %}{{ T.call("inverse_cosh") }}({{ x }}){% endmacro %}
{% macro atanh(T, x) %}({{ T.call("log1p") }}({{ T }}(2) * {{ x }} / ({{ T }}(1) - {{ x }})) * {{ T }}(0.5)){% endmacro %}
{% macro erf(T, x) %}{{ T.call("error_function") }}({{ x }}){% endmacro %}
{% macro sigmoid(T, x) %}({{ T }}(1) / ({{ T }}(1) + {{ T.call("safe_exp") }}(-{{ x }}))){% endmacro %}
{% macro neg(T, x) %}{{ "(%s(0) - %s)" % (T, x) if T.kind == "u" else "-" ~ x }}{% endmacro %}
{% macro abs(T, x) %}{{ x if T.kind == "b" else "abs(%s)" % x }}{% endmacro %}
{% macro sign(T, x) %}{{ x if T.kind == "b" else "min(%s, %s(1))" % (x, T) if T.kind == "u" else "sign(%s)" % x }}{% endmacro %}
{% macro floor(T, x) %}{{ "floor(%s)" % x if T.kind == "f" else x }}{% endmacro %}
{% macro ceil(T, x) %}{{ "ceil(%s)" % x if T.kind == "f" else x }}{% endmacro %}
{% macro round(T, x) %}{{ "round(%s)" % x if T.kind == "f" else x }}{% endmacro %}
{% macro trunc(T, x) %}{{ "trunc(%s)" % x if T.kind == "f" else x }}{% endmacro %}
//# a plain select is made a max by some drivers, which loses NaN
{% macro relu(T, x) %}{{ T.call("rectified") if T.kind == "f" else "max" }}({{ x }}{{ ", %s(0)" % T if T.kind != "f" }}){% endmacro %}
{% macro square(T, x) %}({{ x }} * {{ x }}){% endmacro %}

//# NaN and infinity are tested by their bits: comparisons such as x != x are folded away by drivers.
{% macro isnan(T, x) %}((bitcast<{{ T.u }}>({{ x }}) & {{ T.u }}(0x7fffffffu)) > {{ T.u }}(0x7f800000u)){% endmacro %}
{% macro isinf(T, x) %}((bitcast<{{ T.u }}>({{ x }}) & {{ T.u }}(0x7fffffffu)) == {{ T.u }}(0x7f800000u)){% endmacro %}
{% macro isfinite(T, x) %}((bitcast<{{ T.u }}>({{ x }}) & {{ T.u }}(0x7fffffffu)) < {{ T.u }}(0x7f800000u)){% endmacro %}
{% macro logical_not(T, x) %}!{{ x }}{% endmacro %}

{% macro add(T, x, y) %}({{ x }} {{ "|" if T.kind == "b" else "+" }} {{ y }}){% endmacro %}
{% macro sub(T, x, y) %}({{ x }} - {{ y }}){% endmacro %}
//# the same, of what drivers would take for zero, one or a factor (kernels/cancel.py): the sign is turned by its bit
{% macro exact_neg(T, x) %}bitcast<{{ T }}>(bitcast<{{ T.u }}>({{ x }}) ^ {{ T.u }}(0x80000000u)){% endmacro %}
{% macro exact_sub(T, x, y) %}({{ x }} + {{ exact_neg(T, y) }}){% endmacro %}
{% macro mul(T, x, y) %}({{ x }} {{ "&" if T.kind == "b" else "*" }} {{ y }}){% endmacro %}
{% macro exact_mul(T, x, y) %}{{ exact_neg(T, "(%s * %s)" % (x, exact_neg(T, y))) }}{% endmacro %}
{% macro exact_square(T, x) %}{{ exact_mul(T, x, x) }}{% endmacro %}
{% macro exact_div(T, x, y) %}{{ exact_neg(T, "(%s / %s)" % (x, exact_neg(T, y))) }}{% endmacro %}
{% macro exact_reciprocal(T, x) %}{{ exact_div(T, "%s(1)" % T, x) }}{% endmacro %}
//# x itself: b * (b + 1) is even, of which no driver was seen to know
{% macro hidden_bits(U, b) %}({{ b }} ^ (({{ b }} * ({{ b }} + {{ U }}(1))) & {{ U }}(1))){% endmacro %}
{% macro exact_hidden(T, x) %}
{{ "bitcast<%s>(%s)" % (T, hidden_bits(T.u, "bitcast<%s>(%s)" % (T.u, x))) if T.kind == "f" else hidden_bits(T, x) }}{% endmacro %}
{% macro exact_rest(T, x, y) %}({{ exact_hidden(T, x) }} - {{ y }}){% endmacro %}
{% macro div(T, x, y) %}({{ x }} / {{ y }}){% endmacro %}
{% macro pow(T, x, y) %}{{ T.call("power" if T.kind == "f" else "integer_power") }}({{ x }}, {{ y }}){% endmacro %}
{% macro maximum(T, x, y) %}
{{ "(%s | %s)" % (x, y) if T.kind == "b" else "%s(%s, %s)" % (T.call("nanmax") if T.kind == "f" else "max", x, y) }}{% endmacro %}
{% macro minimum(T, x, y) %}
{{ "(%s & %s)" % (x, y) if T.kind == "b" else "%s(%s, %s)" % (T.call("nanmin") if T.kind == "f" else "min", x, y) }}{% endmacro %}
{% macro remainder(T, x, y) %}{{ T.call("float_remainder" if T.kind == "f" else "integer_remainder") }}({{ x }}, {{ y }}){% endmacro %}
{% macro fmod(T, x, y) %}{{ T.call("truncated_remainder") }}({{ x }}, {{ y }}){% endmacro %}
{% macro floor_divide(T, x, y) %}{{ T.call("float_floor_divide" if T.kind == "f" else "integer_floor_divide") }}({{ x }}, {{ y }}){% endmacro %}
{% macro atan2(T, x, y) %}{{ T.call("arctangent2") }}({{ x }}, {{ y }}){% endmacro %}

{% macro eq(T, x, y) %}({{ x }} == {{ y }}){% endmacro %}
//# != is false for NaN on some drivers
{% macro ne(T, x, y) %}(!({{ x }} == {{ y }})){% endmacro %}
{% macro lt(T, x, y) %}({{ x }} < {{ y }}){% endmacro %}
{% macro le(T, x, y) %}({{ x }} <= {{ y }}){% endmacro %}
{% macro gt(T, x, y) %}({{ x }} > {{ y }}){% endmacro %}
{% macro ge(T, x, y) %}({{ x }} >= {{ y }}){% endmacro %}
{% macro logical_and(T, x, y) %}({{ x }} & {{ y }}){% endmacro %}
{% macro logical_or(T, x, y) %}({{ x }} | {{ y }}){% endmacro %}
{% macro logical_xor(T, x, y) %}({{ x }} != {{ y }}){% endmacro %}
{% macro bitwise_and(T, x, y) %}({{ x }} & {{ y }}){% endmacro %}
{% macro bitwise_or(T, x, y) %}({{ x }} | {{ y }}){% endmacro %}
{% macro bitwise_xor(T, x, y) %}({{ x }} {{ "!=" if T.kind == "b" else "^" }} {{ y }}){% endmacro %}
{% macro bitwise_not(T, x) %}{{ "!" if T.kind == "b" else "~" }}{{ x }}{% endmacro %}
{% macro bitwise_left_shift(T, x, y) %}
select({{ T }}(0), {{ x }} << (bitcast<{{ T.u }}>({{ y }}) & {{ T.u }}(31u)), bitcast<{{ T.u }}>({{ y }}) < {{ T.u }}(32u)){% endmacro %}
{% macro bitwise_right_shift(T, x, y) %}
select({{ "%s(0)" % T if T.kind == "u"
    else "%s >> %s(31u)" % (x, T.u) }}, {{ x }} >> (bitcast<{{ T.u }}>({{ y }}) & {{ T.u }}(31u)), bitcast<{{
    T.u }}>({{ y }}) < {{ T.u }}(32u)){% endmacro %}
{% macro where(T, c, x, y) %}select({{ y }}, {{ x }}, {{ c }}){% endmacro %}
//# negative floats become bytes by their low bits, as in C; WGSL's own u32(x) makes them 0
{% macro cast(T, x) %}{{ T }}({{ "%s(%s)" % (T.i, x) if T.dtype.short in ("u8", "u16") else x }}){% endmacro %}

{% macro copysign(T, x, y) %}
bitcast<{{ T }}>((bitcast<{{ T.u }}>({{ x }}) & {{ T.u }}(0x7fffffffu)) | (bitcast<{{ T.u }}>({{ y }}) & {{ T.u }}(0x80000000u))){% endmacro %}
{% macro float_bits(T, x) %}bitcast<{{ T }}>({{ x }}){% endmacro %}
{% macro float_of_bits(T, x) %}bitcast<{{ T }}>({{ x }}){% endmacro %}
{% macro signbit(T, x) %}((bitcast<{{ T.u }}>({{ x }}) >> {{ T.u }}(31u)) == {{ T.u }}(1u)){% endmacro %}
{% macro nextafter(T, x, y) %}{{ T.call("next_float") }}({{ x }}, {{ y }}){% endmacro %}
{% macro hypot(T, x, y) %}{{ T.call("hypotenuse") }}({{ x }}, {{ y }}){% endmacro %}
{% macro ldexp(T, x, y) %}{{ T.call("times_power_of_two") }}({{ x }}, {{ y }}){% endmacro %}
{% macro exponent(T, x) %}{{ T.call("float_exponent") }}({{ x }}){% endmacro %}
{% macro gcd(T, x, y) %}{{ T.call("greatest_divisor") }}({{ x }}, {{ y }}){% endmacro %}
{% macro logaddexp(T, x, y) %}{{ T.call("log_of_sum") }}({{ x }}, {{ y }}){% endmacro %}
{% macro xlogy(T, x, y) %}
select({{ x }} * {{ T.call("safe_log") }}({{ y }}), {{ T }}(0), ({{ x }} == {{ T }}(0)) & !{{ T.call("either_nan") }}({{ y }}, {{ y }})){% endmacro %}
{% macro xlog1py(T, x, y) %}
select({{ x }} * {{ T.call("log1p") }}({{ y }}), {{ T }}(0), ({{ x }} == {{ T }}(0)) & !{{ T.call("either_nan") }}({{ y }}, {{ y }})){% endmacro %}
{% macro lgamma(T, x) %}{{ T.call("log_gamma") }}({{ x }}){% endmacro %}
{% macro digamma(T, x) %}{{ T.call("digamma_function") }}({{ x }}){% endmacro %}
{% macro igamma(T, x, y) %}{{ T.call("lower_gamma") }}({{ x }}, {{ y }}){% endmacro %}
{% macro igammac(T, x, y) %}{{ T.call("upper_gamma") }}({{ x }}, {{ y }}){% endmacro %}
{% macro zeta(T, x, y) %}{{ T.call("hurwitz_zeta") }}({{ x }}, {{ y }}){% endmacro %}
{% macro erfc(T, x) %}{{ T.call("error_complement") }}({{ x }}){% endmacro %}
{% macro erfcx(T, x) %}{{ T.call("scaled_complement") }}({{ x }}){% endmacro %}
{% macro erfinv(T, x) %}
{{ T.call("inverse_error") }}({{ x }}, -{{ T.call("safe_log") }}(({{ T }}(1) - {{ x }}) * ({{ T }}(1) + {{ x }}))){% endmacro %}
{% macro ndtri(T, x) %}
({{ T }}(1.4142135) * {{ T.call("inverse_error") }}({{ T }}(2) * {{ x }} - {{ T }}(1), -{{
    T.call("safe_log") }}({{ T }}(4) * {{ x }} * ({{ T }}(1) - {{ x }})))){% endmacro %}
{% macro i0e(T, x) %}{{ T.call("bessel_i0e") }}({{ x }}){% endmacro %}
{% macro i1e(T, x) %}{{ T.call("bessel_i1e") }}({{ x }}){% endmacro %}

//# of words that make numbers of 64 bits: low word and high word of each (legalize/words.py)
{% macro multiply_high(T, a, b) %}{{ T.call("product_high") }}({{ a }}, {{ b }}){% endmacro %}
{% macro divide_low(T, a0, a1, b0, b1) %}{{ T.call("long_quotient") }}({{ a0 }}, {{ a1 }}, {{ b0 }}, {{ b1 }})[0]{% endmacro %}
{% macro divide_high(T, a0, a1, b0, b1) %}{{ T.call("long_quotient") }}({{ a0 }}, {{ a1 }}, {{ b0 }}, {{ b1 }})[1]{% endmacro %}
{% macro power_low(T, a0, a1, b0, b1) %}{{ T.call("long_power") }}({{ a0 }}, {{ a1 }}, {{ b0 }}, {{ b1 }})[0]{% endmacro %}
{% macro power_high(T, a0, a1, b0, b1) %}{{ T.call("long_power") }}({{ a0 }}, {{ a1 }}, {{ b0 }}, {{ b1 }})[1]{% endmacro %}
{% macro divisor_low(T, a0, a1, b0, b1) %}{{ T.call("long_divisor") }}({{ a0 }}, {{ a1 }}, {{ b0 }}, {{ b1 }})[0]{% endmacro %}
{% macro divisor_high(T, a0, a1, b0, b1) %}{{ T.call("long_divisor") }}({{ a0 }}, {{ a1 }}, {{ b0 }}, {{ b1 }})[1]{% endmacro %}
{% macro whole_to_float(T, low, high) %}{{ T.call("rounded_whole") }}({{ low }}, {{ high }}){% endmacro %}
{% macro index_i64(T, low, high) %}
select(({{ T }}({{ high }}) >> {{ T.u }}(31u)) ^ {{ T }}(0x7fffffff), {{ T }}({{ low }}), {{
    T }}({{ high }}) == ({{ T }}({{ low }}) >> {{ T.u }}(31u))){% endmacro %}
{% macro index_u64(T, low, high) %}
{{ T }}(select({{ T.u }}(0x7fffffffu), min({{ low }}, {{ T.u }}(0x7fffffffu)), {{ high }} == {{ T.u }}(0u))){% endmacro %}

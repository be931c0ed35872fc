"""Conversations, and templates that render them."""

from helpers.vocabularies import CHATML

MESSAGES = [
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": " Hello <b>&'\"\n"},
    {"role": "assistant", "content": "Hi", "reasoning": "short"},
    {"role": "user", "content": "Bye"},
]
TOOLS = [
    {
        "type": "function",
        "function": {"name": "add", "description": "été <", "parameters": {"type": "object"}},
    }
]
TEMPLATES = {
    "chatml": CHATML,
    "smollm": """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ 'sys
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}""",
    "tools": """{%- if tools %}
  {{- '# Tools\\n' }}{% for tool in tools %}{{ tool | tojson(indent=2) }}{% endfor %}{%- endif %}
{%- for m in messages %}{{ loop.index0 ~ ':' ~ m.content | trim }}{% if not loop.last %}
{{- eos_token }}{% endif %}{% endfor %}""",
    "namespace": """{% set ns = namespace(n=0, found=false) %}{% for m in messages[::-1] %}
{%- if m.role == 'user' %}{% set ns.n = ns.n + 1 %}{% continue %}{% endif %}{{ m.role | upper }}{% endfor %}
{{- ns.n }}{% macro show(x, y=2) %}[{{ x * y }}]{% endmacro %}{{ show('ab') }}{{ show(3, 4) }}""",
    "reasoning": """{% for m in messages %}{% if m.reasoning_content is defined %}
<think>{{ m.reasoning_content }}{{ m.thinking }}</think>{% endif %}{% generation %}
    {{- m.content.split('\n')[0].rstrip() }}{% endgeneration %}{% endfor %}
{{- messages | selectattr('role', 'equalto', 'user') | list | length }}""",
    "filters": """{{ messages | map(attribute='role') | join(',') }}{{ dict(a=1) }}{{ '%s-%d' % ('a', 3) }}
{{ messages[0].content.replace('You', 'I') | capitalize }}{{ range(3) | list }}{{ 7 // 2 }}{{ 'a' in 'abc' }}
{{ messages[1].content | tojson }}{{ extra }}{{ [1, 2] + [3] }}{{ 2 ** 5 }}{{ bos_token }}""",
}
NAMES = {"bos_token": "<s>", "eos_token": "</s>"}

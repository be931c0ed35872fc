"""The language of templates: what a line statement behind a line does."""

import pytest

from flambeau.codegen.edits import TemplateEdits, TemplateFault
from flambeau.codegen.render import add_template, environment, lines_of, render
from flambeau.errors import KernelError
from flambeau.kernels.ir import Shader

TEXT = """//% extends "kernel.wgsl"
//% block body
  let x{{ i }} = {{ i }}u; //% for i in range(3)
  if (x0 > 1u) { //% if checks
  } //% if checks
  out[0] = x{{ 2 }};
//% endblock
"""


BLOCKS = """//% extends "kernel.wgsl"
//% block body
  if (a < {{ i }}u) { //% for i in range(2)
    loop { //% if i
      x{{ j }} = {{ i }}u; //% for j in range(2)
//% if i == 1
      break;
//% endif
    }
  }
  if (b) { //% if false
    y = 0u;
  } else {
    y = 1u;
  }
  for (;;) { //% for i in range(2)
    z += 1u;
  } //% for i in range(2)
//% endblock
"""


def shader(template: str) -> Shader:
    return Shader(template, (), (), (("u32", 1),), (1, 1, 1), ())


def body(text: str) -> list[str]:
    return [line.strip() for line in text[text.index("fn main") :].splitlines()[1:-1]]


def test_a_statement_behind_a_line_controls_that_line():
    add_template("control.wgsl", TEXT)
    assert body(render(shader("control.wgsl"))) == [*(f"let x{i} = {i}u;" for i in range(3)), "out[0] = x2;"]


def test_a_statement_behind_an_opening_brace_controls_the_block():
    add_template("control_blocks.wgsl", BLOCKS)
    text = " ".join(body(render(shader("control_blocks.wgsl"))))
    inner = "loop { x0 = 1u; x1 = 1u; break; }"
    both = "for (;;) { for (;;) { z += 1u; } }"  # each of two braces has its own loop
    assert text == f"if (a < 0u) {{ }} if (a < 1u) {{ {inner} }} {both}"
    made = {line.text.strip(): line.places for line in lines_of(shader("control_blocks.wgsl"))}
    assert made["break;"] == (("control_blocks.wgsl", 7),)


def test_a_block_may_end_with_its_macro():
    text = "{% macro twice() -%}\n{ //% for i in range(2)\n  x = {{ i }};\n}{%- endmacro %}\n{{ twice() }};\n"
    rendered = environment().from_string(text).render()
    assert "".join(rendered.split()) == "{x=0;}{x=1;};"


def test_lines_keep_their_numbers():
    add_template("control_lines.wgsl", TEXT)
    made = {line.text.strip(): line.places for line in lines_of(shader("control_lines.wgsl"))}
    assert made["let x2 = 2u;"] == (("control_lines.wgsl", 3),)
    assert made["out[0] = x2;"] == (("control_lines.wgsl", 6),)


@pytest.mark.parametrize("line", ["{{ missing }} //% if true", "x //% for i in missing"])
def test_a_faulty_line_is_reported_with_its_number(line):
    edited = TEXT.replace("  out[0]", line + "\n  out[0]")
    with pytest.raises(TemplateFault, match="'missing' is undefined") as e:
        TemplateEdits().lines(shader("launch.wgsl"), {"launch.wgsl": edited})
    assert (e.value.file, e.value.line) == ("launch.wgsl", 6)


def test_comments_and_line_statements_stay_what_they_are():
    text = environment().from_string("//# a comment //% if x\n//% if true\na\n//% endif\n").render()
    assert text.strip() == "a"


FOLLOWED = """//% extends "kernel.wgsl"
//% block body
  a{{ i }} = {{ i }}u; //% for i in range(2)
//# a comment between
  if (b{{ i }}) { //% same
    c{{ i }} = {{ j }}u; //% for j in range(2)
  }
  d{{ i }}(); //% same
  e(); //% if checks
  f(); //% same
  g(); //% elif not checks
  h(); //% same
  k(); //% else
  l();
//% endblock
"""


def test_lines_follow_the_control_of_the_line_before():
    add_template("control_followed.wgsl", FOLLOWED)
    text = " ".join(body(render(shader("control_followed.wgsl"))))
    turns = [f"a{i} = {i}u; if (b{i}) {{ c{i} = 0u; c{i} = 1u; }} d{i}();" for i in range(2)]
    assert text == " ".join([*turns, "g(); h(); l();"])
    places = {line.text.strip(): line.places for line in lines_of(shader("control_followed.wgsl"))}
    assert places["d1();"] == (("control_followed.wgsl", 8),)
    assert places["h();"] == (("control_followed.wgsl", 12),)


@pytest.mark.parametrize("word", ["same", "else", "elif x"])
def test_what_follows_nothing_is_an_error(word):
    with pytest.raises(KernelError, match=f":2: '{word}' follows no loop or condition"):
        add_template("control_alone.wgsl", f"a();\nb(); //% {word}\n")

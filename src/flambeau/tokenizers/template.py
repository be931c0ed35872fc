"""Renders conversations by the Jinja template of a model, in Jinja's sandbox and within limits.

A template comes from a file of someone else. It sees texts, numbers, lists and dicts only, and it cannot run
for long or build long texts.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import wraps
from time import monotonic
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from ..core.tree import is_list, is_mapping, is_sequence

SECONDS = 5.0  # of a rendering
STEPS = 1_000_000  # turns of loops
LENGTH = 8 << 20  # characters of a text, and items of a list
LARGEST = 1_000_000  # numbers that calls and filters take, such as widths
REASONING = ("reasoning_content", "thinking", "reasoning")  # names that messages have for a model's thoughts


class RenderLimits:
    """Counts the resources of a rendering. SecurityError beyond a limit."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Begin a rendering."""
        self.deadline, self.steps = monotonic() + SECONDS, 0

    def step(self) -> None:
        """Count a turn of a loop, or a call."""
        self.steps += 1
        if self.steps > STEPS:
            raise SecurityError(f"its loops take more than {STEPS:,} steps")
        if self.steps % 64 == 0 and monotonic() > self.deadline:
            raise SecurityError(f"it takes longer than {SECONDS:g} s")

    def check(self, value: Any) -> Any:
        """Return a value that is not too long."""
        self.step()
        if (isinstance(value, str) or is_sequence(value)) and len(value) > LENGTH:
            raise SecurityError(f"it builds a text of more than {LENGTH:,} characters")
        return value

    def check_arguments(self, args: Iterable[Any]) -> None:
        """SecurityError for a huge number, which as a width makes a huge text."""
        self.step()
        if any(isinstance(a, int) and abs(a) > LARGEST for a in args):
            raise SecurityError(f"it calls a function with a number above {LARGEST:,}")


class TemplateDict:
    """The global `dict`, without the attributes of the type."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        """As dict.fromkeys."""
        return dict.fromkeys(*args)


class TemplateNamespace(Namespace):
    """A namespace without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any):  # pyright: ignore[reportSelfClsParameterName]
        # `self` may be a name of the namespace
        self, rest = args[0], args[1:]
        attributes: dict[Any, Any] = dict(*rest, **kwargs)
        for name in attributes:
            TemplateNamespace.check(name)
        Namespace.__init__(self, attributes)  # pyright: ignore[reportUnknownMemberType]

    def __setitem__(self, name: str, value: Any) -> None:
        TemplateNamespace.check(name)
        super().__setitem__(name, value)

    @staticmethod
    def check(name: Any) -> None:
        """SecurityError for a private name."""
        if isinstance(name, str) and name.startswith("_"):
            raise SecurityError(f"it stores {name!r}, a name that begins with an underscore")


class Generation(Extension):
    """The tag `generation`, which marks what the model wrote: its body."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return the nodes of the body."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox with limits, the functions of transformers' chat templates, and errors for attributes
    that it hides."""

    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"]
        )
        self.limits = RenderLimits()
        self.filters = {name: self._limited(f) for name, f in self.filters.items()}
        self.filters |= {"tojson": self._to_json, "_steps": self._steps, "_joined": self._joined}
        self.globals = {
            name: value for name, value in self.globals.items() if name in ("range", "cycler", "joiner")
        }
        self.globals |= {
            "dict": TemplateDict(),
            "namespace": TemplateNamespace,
            "raise_exception": _raise,
            "strftime_now": _now,
        }

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)  # keeps the marks by which Jinja passes the environment
        def limited(*args: Any, **kwargs: Any) -> Any:
            self.limits.check_arguments([*args, *kwargs.values()])
            return self.limits.check(function(*args, **kwargs))

        return limited

    def _to_json(self, value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None,
                 sort_keys: bool = False) -> str:  # fmt: skip
        self.limits.check_arguments([indent])
        text = json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)  # fmt: skip
        return self.limits.check(text)

    def _steps(self, values: Any) -> Iterator[Any]:
        for value in values:
            self.limits.step()
            yield value

    def _joined(self, values: Sequence[Any]) -> str:
        return self.limits.check("".join(map(str, values)))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Parse a template, with each loop and each concatenation counted."""
        tree = super()._parse(source, name, filename)
        for loop in [*tree.find_all(nodes.For)]:
            loop.iter = _filter("_steps", loop.iter)
        return _replace(tree)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute `left operator right`, if the result is short."""
        both = (left, right)
        if operator == "*":
            counts = [v for v in both if isinstance(v, int)]
            sizes = [len(v) for v in both if isinstance(v, str) or is_sequence(v)]
            if counts and sizes and max(counts) * sizes[0] > LENGTH:
                raise SecurityError(f"it builds a text of more than {LENGTH:,} characters")
        if operator in ("*", "**") and all(isinstance(v, int) for v in both):
            self.limits.check_arguments([right] if operator == "**" else [])
            bits = left.bit_length() * (right if operator == "**" else 1)
            if bits > 1 << 16:
                raise SecurityError("it computes a number of more than 65,536 bits")
        if operator == "%" and isinstance(left, str) and _has_wide_field(left):
            raise SecurityError("it formats a text with a width of six digits or more")
        return self.limits.check(super().call_binop(context, operator, left, right))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function of the template, with small numbers."""
        __self.limits.check_arguments([*args, *kwargs.values()])
        return __self.limits.check(super().call(__context, __obj, *args, **kwargs))  # type: ignore[misc]

    def wrap_str_format(self, value: Any) -> Any:
        """Return str.format in the sandbox, without wide fields."""
        function = super().wrap_str_format(value)
        if function is None:
            return None

        def formatted(*args: Any, **kwargs: Any) -> str:
            texts = [value.__self__, *args, *kwargs.values()]
            if any(isinstance(t, str) and _has_wide_field(t) for t in texts):
                raise SecurityError("it formats a text with a width of six digits or more")
            return function(*args, **kwargs)

        return formatted

    def unsafe_undefined(self, obj: Any, attribute: str) -> Any:
        """SecurityError for an attribute that the sandbox hides."""
        raise SecurityError(f"it reaches for {attribute!r} of {type(obj).__name__!r}, which is not possible")


def _has_wide_field(text: str) -> bool:
    digits = 0
    for c in text:
        digits = digits + 1 if c.isdigit() else 0
        if digits > 5:
            return True
    return "*" in text


def _filter(name: str, node: Any) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _replace(node: Any) -> Any:
    """Replace each concatenation by a filter that joins texts and counts their characters."""
    for field, value in [*node.iter_fields()]:
        if is_list(value):
            new: Any = [_replace(v) if isinstance(v, nodes.Node) else v for v in value]
        else:
            new = _replace(value) if isinstance(value, nodes.Node) else value
        setattr(node, field, new)
    if isinstance(node, nodes.Concat):
        return _filter("_joined", nodes.List(node.nodes, lineno=node.lineno))
    return node


def _now(form: str) -> str:
    return datetime.now().strftime(form)


def _raise(message: Any) -> None:
    raise TemplateError(str(message))


def plain(value: Any) -> Any:
    """Copy nested values as texts, numbers, lists and dicts; others become the name of their type."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)  # a subclass may have methods that the sandbox does not know
    if is_mapping(value):
        return {plain(k): plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if is_sequence(value) else f"<{type(value).__name__}>"


class ChatTemplate:
    """The template that writes a conversation as the text that a model was trained with.

    source: in Jinja, as `tokenizer.chat_template` of a GGUF file. names: texts that it uses, such as
    bos_token. ValueError for a template that is not valid.
    """

    def __init__(self, source: str, names: Mapping[str, str] | None = None):
        self.source, self.names = source, dict(names or {})
        self.environment = Sandbox()
        try:
            self.template = self.environment.from_string(source)
        except (TemplateSyntaxError, RecursionError, TypeError, ValueError) as e:
            raise ValueError(f"ChatTemplate: the template is not valid: {e}: pass another one") from None

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        **names: Any,
    ) -> str:
        """Return the text of a conversation.

        messages: dicts with "role" and "content". tools: functions that the model may call, as OpenAI's API
        describes them. add_generation_prompt: end with the beginning of a reply. names: further values for
        the template. ValueError with the message of a template that refuses the conversation, or that needs
        more time, steps or memory than templates may.
        """
        if not messages or not all(is_mapping(m) for m in messages):
            raise ValueError("render(messages): takes dicts with 'role' and 'content': pass at least one")
        rows = [_with_reasoning(plain(m)) for m in messages]
        self.environment.limits.begin()
        try:
            text = self.template.render(
                messages=rows,
                tools=plain(tools),
                documents=None,
                add_generation_prompt=add_generation_prompt,
                **self.names,
                **plain(names),
            )
        except SecurityError as e:
            raise ValueError(f"the chat template is refused: {e}: pass another chat_template") from None
        except RecursionError:
            raise ValueError(
                "the chat template is refused: it calls itself: pass another chat_template"
            ) from None
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as e:
            raise ValueError(f"the chat template does not support this conversation: {e}") from None
        return self.environment.limits.check(text)


def _with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its reasoning under the two names that templates read."""
    thoughts = next((message[key] for key in REASONING if message.get(key) is not None), None)
    return message if thoughts is None else {"thinking": thoughts, **message, "reasoning_content": thoughts}

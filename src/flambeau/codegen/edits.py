"""A kernel's templates, some of them edited, into its text, or into the line of a template that is wrong."""

from collections.abc import Mapping
from typing import Any

from ..errors import KernelError
from .render import WgslLine, edited, line_of, lines_of, template_text


class TemplateFault(KernelError):
    """A template that can't be rendered. file, line: where; 0 where that is not known."""

    def __init__(self, message: str, file: str, line: int):
        super().__init__(message)
        self.file, self.line = file, line


class TemplateEdits:
    """Renders kernels by templates of which some are edited; the others are compiled once."""

    def __init__(self) -> None:
        self.changed: dict[str, str] = {}
        self.environments = [edited(self.changed, marked) for marked in (False, True)]

    def lines(self, shader: Any, changed: Mapping[str, str]) -> list[WgslLine]:
        """The text of a shader by lines, with `changed` by name in the places of templates; TemplateFault
        with the line that is wrong."""
        if changed.keys() != self.changed.keys():
            for env in self.environments:
                if env.cache is not None:
                    env.cache.clear()
        self.changed.clear()
        self.changed.update(changed)
        try:
            return lines_of(shader, *self.environments)
        except Exception as e:  # a template may do anything that an expression can
            cause = e.__cause__ if isinstance(e, KernelError) and isinstance(e.__cause__, Exception) else e
            file, line = line_of(cause) or (shader.template, 0)
            raise TemplateFault(f"{type(cause).__name__}: {cause}", file, line) from None


def templates_of(shader: Any) -> dict[str, str]:
    """The templates that a shader's text is made of, by name, its own first."""
    files = [shader.template, *(file for line in lines_of(shader) for file, _ in line.places)]
    return {file: template_text(file) for file in dict.fromkeys(files)}

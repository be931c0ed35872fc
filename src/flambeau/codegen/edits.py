"""Renders kernels from templates of which some are edited; an error names the template and the line."""

from collections.abc import Mapping
from typing import Any

from ..errors import KernelError
from .environment import edit_environment
from .render import WORDS, WgslLine, line_of, lines_of, template_text


class TemplateFault(KernelError):
    """A template that can't be rendered. file, line: of the fault; line 0 if it is unknown."""

    def __init__(self, message: str, file: str, line: int):
        super().__init__(message)
        self.file, self.line = file, line


class TemplateEdits:
    """Renders kernels from templates of which some are edited; the others are compiled once."""

    def __init__(self) -> None:
        self.changed: dict[str, str] = {}
        self.environments = [edit_environment(self.changed, WORDS, marked) for marked in (False, True)]

    def lines(self, shader: Any, changed: Mapping[str, str]) -> list[WgslLine]:
        """The text of a shader by lines, with the templates `changed` (name to text) in place of ours;
        TemplateFault with the line of the fault."""
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
    """The templates that a shader's text comes from, by name, its own first."""
    files = [shader.template, *(file for line in lines_of(shader) for file, _ in line.places)]
    return {file: template_text(file) for file in dict.fromkeys(files)}

"""Tokens of texts, by the rules of a tokenizer.json or a GGUF file, and templates of conversations."""

from .template import ChatTemplate
from .tokenizer import TextStream, Tokenizer

__all__ = ["ChatTemplate", "TextStream", "Tokenizer"]

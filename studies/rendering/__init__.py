"""Shows the texts of a dataset as HTML: plain, as Markdown, and with LaTeX formulas."""

from studies.rendering.renderers import RENDERERS, Renderer, is_markup, render_text

__all__ = ["RENDERERS", "Renderer", "is_markup", "render_text"]

"""Code as HTML with Pygments' classes, for languages whose lexers take linear time."""

import re
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# Pygments knows hundreds of languages, some of whose lexers can be made to take minutes.
LANGUAGES = {
    *("bash", "c", "cpp", "csharp", "css", "diff", "go", "html", "ini", "java", "javascript"),
    *("json", "kotlin", "latex", "php", "python", "r", "ruby", "rust", "sql", "swift", "toml"),
    *("typescript", "xml", "yaml"),
}
# Longer code is shown without colours, and so is code that repeats the same few characters, on
# which lexers take time that grows with the square of its length.
MAX_CODE = 8_000
_REPETITION = re.compile(r"(.{1,8}?)\1{49}|\s{200}", re.DOTALL)
_FORMATTER = HtmlFormatter(nowrap=True)


def highlighted(code: str, language: str) -> str:
    """Return code as escaped HTML, with colours if the language is known."""
    if len(code) > MAX_CODE or _REPETITION.search(code):
        return escape(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return escape(code)
    if LANGUAGES.isdisjoint(lexer.aliases):
        return escape(code)
    return str(highlight(code, lexer, _FORMATTER))

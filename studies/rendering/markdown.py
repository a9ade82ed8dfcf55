"""Generations in Markdown. Links and images become text so that a page loads nothing.

A link would lead annotators to pages that may name the system that wrote the text.
"""

import re
from collections.abc import Callable, Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from studies.rendering.formulas import FORMULA, formula

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


# Level of the page's own headings above a text: a text's headings begin at the next level.
OUTER_LEVEL = 2
# Code beyond this many characters of a text has no colours.
MAX_CODE_OF_TEXT = 30_000


HAS_LINKS = "has_links"
# What a text without any Markdown is parsed into. Indented lines keep their form without it.
NO_MARKDOWN = {
    *("paragraph_open", "paragraph_close", "inline", "text", "text_special", "softbreak"),
    *("hardbreak", "formula", "code_block"),
}
_COMMENT = re.compile(r"\s*(?:#(?!include)|//|--|/\*|\*)")
_STATEMENT = re.compile(
    r"\s*(?:(?:async )?def \w+\(|class \w+.*[:{]\s*$|(?:from [\w.]+ )?import [\w.{*]|#include\b|return\b.*\W"
    r"|(?:if|for|while|elif|else|try|except|finally|switch|with|foreach)\b.*[:{]\s*$|[^.!?]*[;{]\s*$"
    r"|(?:const|let|var|int|float|double|char|void|public|private|static|function|func|fn)\b.*[;{)]\s*$"
    r"|SELECT\b|</?\w+[^>]*>\s*$)"
)
_OTHER_CODE = re.compile(
    r"\s*(?:[\w.\[\]'\"]+ ?[-+*/]?= ?\S|[\w.]+\(.*\);?\s*$|[}\])]+[;,]?\s*$|@\w+|return\b"
    r"|(?:FROM|WHERE|JOIN|GROUP BY|ORDER BY)\b)"
)
_SPACES = re.compile(" {2,}")
NO_BREAK_SPACE, TAB = "\u00a0", 4


def markdown_parser(*, formulas: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.at("newline", _line_end)
    parser.core.ruler.push("spaces", _keep_spaces)
    parser.core.ruler.push("page_outline", _fit_outline)
    parser.core.ruler.push("direction", _set_direction)
    parser.core.ruler.push("addresses", _show_addresses)
    for name, rule in (
        (
            "address",
            _of_token(lambda token: f' <span class="address">({escape(token.content)})</span>'),
        ),
        ("image", _of_token(_picture)),
        ("fence", _code),
        ("code_block", _code),
        ("table_open", _of_token(lambda _: '<div class="wide" tabindex="0"><table dir="auto">\n')),
        ("table_close", _of_token(lambda _: "</table></div>\n")),
        ("formula", _of_token(lambda token: formula(token.meta["match"]))),
    ):
        parser.add_render_rule(name, rule)
    if formulas:
        parser.inline.ruler.before("escape", "formula", _inline_formula)
        parser.block.ruler.before("fence", "formula", _block_formula, {"alt": ["paragraph"]})
    return parser


def as_markdown(parser: MarkdownIt, text: str) -> str | None:
    """Return a text as HTML, or None if it has no Markdown, so that it is shown as it was written."""
    env: EnvType = {}
    tokens = parser.parse(text, env)
    has_markdown = _has_markdown(tokens) or HAS_LINKS in env
    has_fence = any(token.type == "fence" for token in tokens)
    if not has_markdown or (not has_fence and _is_code(text)):
        return None
    return str(parser.renderer.render(tokens, parser.options, env))


def _has_markdown(tokens: Sequence[Token]) -> bool:
    found = {token.type for token in tokens}
    found |= {part.type for token in tokens for part in token.children or ()}
    return not found <= NO_MARKDOWN


def _is_code(text: str) -> bool:
    """Whether most lines of a text are a program's, whose comments and names only look like Markdown."""
    lines = [line for line in text.splitlines() if line.strip() and not _COMMENT.match(line)]
    statements = [line for line in lines if _STATEMENT.match(line)]
    others = [line for line in lines if line not in statements and _OTHER_CODE.match(line)]
    n = len(statements) + len(others)
    return bool(statements) and n > 1 and n >= len(lines) / 2


def _fit_outline(state: StateCore) -> None:
    """Lower headings below the page's, and let no level be skipped."""
    level = OUTER_LEVEL
    for token in state.tokens:
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + OUTER_LEVEL, level + 1, 6)
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{level}"


def _line_end(state: StateInline, silent: bool) -> bool:
    """Begin a new line where the text does, with its indentation, unlike Markdown elsewhere.

    Nobody could judge a poem, a list or a program that became one paragraph.
    """
    if state.src[state.pos] != "\n":
        return False
    start = state.pos + 1
    end = start
    while end < state.posMax and state.src[end] in " \t":
        end += 1
    if not silent:
        state.pending = state.pending.rstrip(" ")
        state.push("hardbreak", "br", 0)
        indent = state.src[start:end].replace("\t", " " * TAB)
        state.pending += NO_BREAK_SPACE * len(indent)
    state.pos = end
    return True


def _keep_spaces(state: StateCore) -> None:
    """Keep several spaces in a row, which HTML would show as one."""
    for token in state.tokens:
        for part in token.children or ():
            if part.type == "text":
                part.content = _SPACES.sub(
                    lambda match: NO_BREAK_SPACE * (len(match[0]) - 1) + " ", part.content
                )


def _set_direction(state: StateCore) -> None:
    """Let each outermost block have the direction of its own text."""
    for token in state.tokens:
        if token.level == 0 and token.nesting == 1:
            token.attrSet("dir", "auto")


def _show_addresses(state: StateCore) -> None:
    """Replace each link with its text, with its address in parentheses unless that is the text."""
    for token in state.tokens:
        if any(part.type == "link_open" for part in token.children or ()):
            token.children = _without_links(token.children or [])
            state.env[HAS_LINKS] = True


def _without_links(tokens: list[Token]) -> list[Token]:
    shown: list[Token] = []
    start, address = 0, ""
    for token in tokens:
        if token.type == "link_open":
            start, address = len(shown), str(token.attrGet("href") or "")
        elif token.type != "link_close":
            shown.append(token)
        elif "".join(part.content for part in shown[start:]) not in {address, ""}:
            shown.append(Token("address", "", 0, content=address))
    return shown


def _of_token(html: Callable[[Token], str]) -> Callable[..., str]:
    """Return a rule that makes HTML of a token alone."""
    return lambda _self, tokens, i, *_: html(tokens[i])


def _picture(token: Token) -> str:
    description = f": {token.content}" if token.content else ""
    return f'<span class="picture">[Image not shown{escape(description)}]</span>'


def _code(
    _self: RendererProtocol, tokens: Sequence[Token], i: int, _o: OptionsDict, env: EnvType
) -> str:
    code, language = tokens[i].content, tokens[i].info.strip().split(" ")[0].lower()
    env["code"] = env.get("code", 0) + len(code)
    html = highlighted(code, language) if env["code"] <= MAX_CODE_OF_TEXT else escape(code)
    return f'<pre dir="ltr"><code>{html}</code></pre>\n'


def _inline_formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\":
        return False
    match = FORMULA.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.push("formula", "", 0).meta = {"match": match}
    state.pos = match.end()
    return True


def _block_formula(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read a formula that begins a line and ends one, with whatever Markdown would see in it."""
    start = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith(("$$", "\\["), start) or state.is_code_block(first):
        return False
    match = FORMULA.match(state.src, start)
    if match is None:
        return False
    line = first
    while line < last and state.eMarks[line] < match.end():
        line += 1
    if line == last or state.src[match.end() : state.eMarks[line]].strip():
        return False
    if not silent:
        state.push("formula", "", 0).meta = {"match": match}
        state.line = line + 1
    return True

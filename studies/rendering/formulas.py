r"""LaTeX formulas as MathML: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`.

A formula that cannot be read, or that is longer than any formula should be, is shown as it was
written. The library's own output is not used, because it contains the text of `\text` unescaped.
"""

import re
from collections.abc import Mapping
from html import escape, unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element

from tiebreak.errors import InvalidInput

MAX_FORMULA = 1_500  # characters
MAX_DEPTH = 40
_BODY = f"{{1,{MAX_FORMULA}}}?"
# A single dollar is a price unless it is next to its formula, as in Pandoc.
FORMULA = re.compile(
    rf"\$\$(?P<dollars>[^$]{_BODY})\$\$"
    rf"|\\\[(?P<brackets>(?:(?!\\[\[\]]).){_BODY})\\\]"
    rf"|\\\((?P<parentheses>(?:(?!\\[()]).){_BODY})\\\)"
    rf"|(?<![\\\w$])\$(?![\s$])(?P<dollar>[^$\n]{_BODY})(?<![\s\\])\$(?![\d$])",
    re.DOTALL,
)
BLOCKS = {"dollars", "brackets"}
# The elements of MathML Core that a formula needs, with their attributes.
MATHML: Mapping[str, tuple[str, ...]] = {
    "math": ("display",),
    "mi": ("mathvariant",),
    "mn": (),
    "mo": ("stretchy", "fence", "separator", "form", "minsize", "maxsize"),
    "mrow": (),
    "mstyle": ("displaystyle", "scriptlevel"),
    "mover": ("accent",),
    "munder": ("accentunder",),
    "mfrac": ("linethickness",),
    "mtable": ("columnalign",),
    "mtd": ("columnalign",),
    "mspace": ("width",),
    **dict.fromkeys(("msup", "msub", "msubsup", "msqrt", "mroot", "munderover", "mtr"), ()),
    **dict.fromkeys(("mtext", "mpadded", "mphantom", "menclose"), ()),
}
_COMMAND = re.compile(r"\\[a-zA-Z]")
_MACRO = re.compile(r"\\(?:def|(?:re)?newcommand)(?![a-zA-Z])")
# Names and small lengths, none of them negative, so no formula covers what is next to it.
_VALUE = re.compile(r"[a-z-]{1,30}|\+?[0-9](?:\.[0-9]{1,6})?(?:em|ex)?")


def plain_with_formulas(text: str) -> str:
    """Return a text as HTML in which only the formulas differ from what is written."""
    html, end = [], 0
    for match in FORMULA.finditer(text):
        html += [escape(text[end : match.start()]), formula(match)]
        end = match.end()
    return "".join([*html, escape(text[end:])])


def formula(match: re.Match[str]) -> str:
    """Return the MathML of a match of `FORMULA`, or the source if it has none."""
    kind = str(match.lastgroup)
    try:
        return mathml(match[kind], is_block=kind in BLOCKS)
    except InvalidInput:
        return f'<span class="formula">{escape(match[0])}</span>'


def mathml(latex: str, *, is_block: bool) -> str:
    """Return a formula as MathML. Raises `InvalidInput` if it cannot be read."""
    if _MACRO.search(latex):
        raise InvalidInput("macros", "The formula defines macros, which can expand without end.")
    try:
        element = convert_to_element(latex.strip(), display="block" if is_block else "inline")
        html = _serialized(element, MAX_DEPTH)
        _check_result(element, latex)
    except Exception as error:
        # The library raises errors of many types for formulas that it cannot read.
        raise InvalidInput("odd_formula", "The formula cannot be read.") from error
    return f'<span class="wide" tabindex="0">{html}</span>' if is_block else html


def _check_result(element: Element, latex: str) -> None:
    """Refuse a conversion in which something was not understood, or was left out.

    The library writes commands that it does not know, and what separates cells and lines outside a
    table, as if they were symbols. Of two texts, the one with such rubbish would be preferred less.
    """
    parts = list(element.iter())
    texts = [unescape(part.text or "") for part in parts]
    is_unknown = any(map(_COMMAND.search, texts)) or texts.count("&") > latex.count("\\&")
    has_line = any("linebreak" in part.attrib for part in parts)
    is_struck = any("strike" in part.get("notation", "") for part in parts)
    has_dollar = any(part.tag == "mtext" and "$" in (part.text or "") for part in parts)
    lacks_table = sum(part.tag == "mtable" for part in parts) < latex.count("\\begin")
    if is_unknown or has_line or is_struck or has_dollar or lacks_table:
        raise InvalidInput("odd_formula", "The formula has parts that are not understood.")


def _serialized(element: Element, depth: int) -> str:
    """Return the elements and their allowed attributes as HTML."""
    if not depth:
        raise InvalidInput("too_deep", "The formula is nested too deeply.")
    if element.tag not in MATHML:
        raise InvalidInput("odd_element", "The formula needs an element that is not allowed.")
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in MATHML[element.tag] and _VALUE.fullmatch(value)
    )
    # The library writes some characters as entities.
    text = escape(unescape(element.text or ""))
    inner = text + "".join(_serialized(child, depth - 1) for child in element)
    return f"<{element.tag}{attributes}>{inner}</{element.tag}>"

"""The summary, the sources of the methods and the tables of a report document in LaTeX."""

import re
import unicodedata

from tiebreak.reading.document.content import DataTable, Paragraph, ReportDocument

PREAMBLE = r"""% To be read into a document that has, before it begins:
%   \usepackage[T1]{fontenc}
%   \usepackage{array,booktabs}
% The keys of the citations are defined in {references} next to this file. If names or questions have
% other letters than Latin ones, use LuaLaTeX or XeLaTeX with a font that has them."""
REFERENCES = "references.bib"
_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{"α": r"$\alpha$", "κ": r"$\kappa$", "ρ": r"$\rho$", "τ": r"$\tau$", "δ": r"$\delta$"},
    **{"Δ": r"$\Delta$", "λ": r"$\lambda$", "−": r"$-$", "½": r"$\frac{1}{2}$", "×": r"$\times$"},
    **{"≤": r"$\leq$", "≥": r"$\geq$", "<": r"$<$", ">": r"$>$", "|": r"$|$"},
    **{"“": "``", "”": "''", "‘": "`", "’": "'", "–": "--", "—": "---", "…": r"\dots{}"},
    **{'"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "→": r"$\rightarrow$"},
    # At the start of a row these would belong to the command that ended the row before.
    **{character: f"{{{character}}}" for character in "[]*"},
    # Otherwise a dash.
    "--": "-{}-",
}
_TO_ESCAPE = re.compile("|".join(map(re.escape, _SPECIAL)))
# Cells with more characters break their lines.
_LONGEST = 16
# Tables with more columns are set smaller.
_WIDE = 5


def as_latex(document: ReportDocument, *, references: str = REFERENCES) -> str:
    """Return the notice and the summary as paragraphs, the methods with citations, and all tables."""
    preamble = PREAMBLE.replace("{references}", references)
    parts = [f"{preamble}\n% {_escaped(f'{document.title}. {document.dates}')}"]
    if document.notice:
        parts.append(f"\\textbf{{{_escaped(document.notice)}}}")
    parts += [
        _escaped(block.text)
        for block in document.sections[0].blocks
        if isinstance(block, Paragraph)
    ]
    if document.citations:
        cited = (f"{_escaped(c.used_for)}~\\cite{{{c.key}}}" for c in document.citations)
        parts.append(f"Sources of the methods: {'; '.join(cited)}.")
    parts += [_table(table, number) for number, table in enumerate(document.tables, start=1)]
    return "\n\n".join(parts) + "\n"


def _table(table: DataTable, number: int) -> str:
    is_wide = len(table.columns) > _WIDE
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}" if is_wide else r"\small"
    note = f"\n\n\\smallskip\n\\parbox{{\\linewidth}}{{\\footnotesize {_escaped(table.note)}}}"
    lines = [
        r"\begin{table}[htbp]",
        rf"\centering{size}",
        f"\\caption{{{_escaped(table.caption)}}}",
        f"\\label{{tab:tiebreak-{number}}}",
        f"\\begin{{tabular}}{{{_shape(table, is_wide=is_wide)}}}",
        r"\toprule",
        _row(table.columns),
        r"\midrule",
        *map(_row, table.rows),
        r"\bottomrule",
        rf"\end{{tabular}}{note if table.note else ''}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _shape(table: DataTable, *, is_wide: bool) -> str:
    """Return the columns' types: the longer ones break their lines and share what is left."""
    # Shares of the line, measured on a page of the class article.
    character, space = (0.0118, 0.0175) if is_wide else (0.0145, 0.035)
    longest = [max(map(len, cells)) for cells in zip(table.columns, *table.rows, strict=True)]
    short = sum(n for n in longest if n <= _LONGEST) * character
    left = max(1 - short - space * len(longest), 0.3)
    weights = [min(n, 4 * _LONGEST) if n > _LONGEST else 0 for n in longest]
    total = sum(weights)
    return "".join(
        rf">{{\raggedright\arraybackslash}}p{{{left * weight / total:.2f}\linewidth}}"
        if weight
        else "l"
        for weight in weights
    )


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    printable = "".join(c for c in text if c.isspace() or unicodedata.category(c) != "Cc")
    return _TO_ESCAPE.sub(lambda match: _SPECIAL[match[0]], " ".join(printable.split()))

"""The tables of a report document in LaTeX, to be read by \\input. They need booktabs."""

import re

from metrics.report_document.content import DataTable, Paragraph, ReportDocument

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{"α": r"$\alpha$", "κ": r"$\kappa$", "ρ": r"$\rho$", "τ": r"$\tau$", "δ": r"$\delta$"},
    **{"Δ": r"$\Delta$", "−": r"$-$", "½": r"$\frac{1}{2}$", "×": r"$\times$"},
    **{"≤": r"$\leq$", "≥": r"$\geq$", "<": r"$<$", ">": r"$>$", "|": r"$|$"},
}
_TO_ESCAPE = re.compile("|".join(map(re.escape, _SPECIAL)))
# The last column has sentences, which must break.
_WIDTH = r"p{0.35\linewidth}"


def as_latex(document: ReportDocument) -> str:
    """Return the paragraph for a paper as a comment-free text, and all tables after it."""
    paragraph = next(b.text for b in document.sections[0].blocks if isinstance(b, Paragraph))
    parts = [r"% Needs \usepackage{booktabs}.", _escaped(paragraph)]
    parts += [_table(table, number) for number, table in enumerate(document.tables, start=1)]
    return "\n\n".join(parts) + "\n"


def _table(table: DataTable, number: int) -> str:
    shape = "l" * (len(table.columns) - 1) + _WIDTH
    lines = [
        r"\begin{table}",
        r"\centering\small",
        f"\\caption{{{_escaped(table.caption)}}}",
        f"\\label{{tab:tiebreak-{number}}}",
        f"\\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        _row(table.columns),
        r"\midrule",
        *map(_row, table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(cells: tuple[str, ...]) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    return _TO_ESCAPE.sub(lambda match: _SPECIAL[match[0]], " ".join(text.split()))

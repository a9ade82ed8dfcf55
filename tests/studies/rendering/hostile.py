"""500 texts that try to run a script, to load something, to take forever or to break a page."""

import random
from collections.abc import Iterator

SCRIPTS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table>"
    "</mtext></math>",
    "<math><annotation-xml encoding='text/html'><script>alert(1)</script></annotation-xml></math>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<form action=https://e.example><input name=x autofocus onfocus=alert(1)></form>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<base href=https://e.example>",
    "<meta http-equiv=refresh content='0;url=https://e.example'>",
    "<link rel=stylesheet href=https://e.example/x.css>",
    "<style>*{display:none}</style>",
    "<p style='position:fixed;inset:0' class=button onclick=alert(1)>x</p>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<textarea></div></article><script>alert(1)</script>",
    "</div></article></section></main></body><h1>x</h1>",
    "<div hx-get=/admin/ hx-trigger=load>x</div>",
    "<video autoplay src=https://e.example/x.mp4></video>",
    "<!--<img src=--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
)
ADDRESSES = (
    "javascript:alert(1)",
    "data:text/html;base64,PHN2Zz4=",
    "vbscript:alert(1)",
    "https://tracker.example/1.png",
    "//tracker.example/1.png",
    "file:///etc/passwd",
    'x" onclick="alert(1)',
    "javascript&colon;alert(1)",
    "\u0001javascript:alert(1)",
)
LINKS = (
    "[x]({})",
    "![x]({})",
    "<{}>",
    '[x]({} "title\\" onclick=alert(1)")',
    "[x][1]\n\n[1]: {}",
    "![![x]({0})]({0})",
    "[![x]({0})]({0})",
    "# [x]({})\n\n|a|\n|-|\n|[x]({})|",
)
LATEX = (
    r"\text{<script>alert(1)</script>}",
    r"\href{javascript:alert(1)}{x}",
    r"\style{position:fixed;inset:0}{x}",
    r"\class{button}{x}",
    r"\color{white}x",
    r"\hspace{-9999em}x\hspace{9999em}",
    r"\rule{9999em}{9999em}",
    r"\newcommand{\a}{\a\a}\a",
    r"\def\a{\b\b}\def\b{\c\c}\def\c{xxxxxxxx}\a",
    r"\frac{a}{",
    r"\left( x",
    r"x^2^3",
    r"\begin{matrix}" + "&" * 300 + r"\end{matrix}",
    r"\begin{array}{" + "c" * 500 + "}x\\end{array}",
    r"\unicode{0}\char0 \u0000",
    r"\includegraphics{https://e.example/x.png}",
    r"\input{/etc/passwd}",
    r"\require{html}\data{x=1}{y}\cssId{main}{z}",
    r"\sqrt" * 300,
    "{" * 700 + "}" * 700,
    r"\frac{1}" * 150,
    r"\text{\(\text{\(x\)}\)}",
)
DELIMITERS = ("${}$", "$${}$$", "\\({}\\)", "\\[{}\\]", "\\[\n{}\n\\]", "> $$\n> {}\n> $$")
LONG = {
    "one line": "x" * 1_000_000,
    "one line of words": "word " * 200_000,
    "one line of Markdown": "*a* `b` " * 120_000,
    "nearly too long": "*a* `b` [c](d) $e$ " * 5_000,
    "rows of a table": "|a|b|\n|-|-|\n" + "|x|y|\n" * 15_000,
    "columns of a table": "|a" * 5_000 + "|\n" + "|-" * 5_000 + "|\n" + "|x\n" * 5_000,
    "fences": "```\n" * 24_000,
    "unclosed fence": "```python\n" + "def f(x): return x\n" * 5_000,
    "code with a long line": "```python\n" + "(" * 19_000 + "\n```",
    "headings": "# a\n" * 24_000,
    "definitions": "".join(f"[{n}]: /x\n" for n in range(6_000)) + "[1]" * 7_000,
    "links": "[a](b)" * 16_000,
    "formulas": "$x^2$ " * 16_000,
    "long formulas": f"$${'x+' * 700}x$$\n\n" * 70,
    "failing formulas": "\\(" * 49_000,
    "failing blocks": "\\[\n" * 33_000,
    "dollars": "$$a" * 33_000,
    "one-sided dollars": "$a " * 33_000,
}
REPEATED = (
    *("*", "_", "**a", "*a_", "`", "``a`", "[", "![", "](", "[a](", "<", "<a", "<!--", "&", "&#0;"),
    *("&amp;", "~", "~~a", "\\", "\\\\(", "$", "$$", "{", "|", "> ", "- ", "* ", "1. ", "    "),
    *("#", "\t", "\n", "\r\n", "---\n", "===\n", "+ a\n", "a\n  ", "<http://a", "http://a.b/"),
    *("\u200b", "\u202e", "\u2066", "\u0301", "\ufeff", "\u00ad", "\ud7ff", "\U0001f468\u200d"),
    *("ﷺ", "\u0e49", "\x00", "\x0b", "\u2028", "a\u202eb\u202c"),
)
LENGTHS = (50, 1_000, 100_000)
DEPTHS = (30, 1_000)


def hostile_texts() -> list[str]:
    """Return 500 texts, the same in every run."""
    texts = list(dict.fromkeys(_made()))
    rng = random.Random("hostile texts")
    pieces = [text for text in texts if len(text) < 2_000]
    while len(texts) < 500:
        texts.append(rng.choice(("", "\n", "\n\n", " ")).join(rng.sample(pieces, 8)))
    return texts[:500]


def _made() -> Iterator[str]:
    yield from LONG.values()
    yield from SCRIPTS
    for script in SCRIPTS:
        yield f"```html\n{script}\n```\n\n| {script} |\n|-|\n| `{script}` |\n\n# {script}"
    for link in LINKS:
        yield from (link.format(address, address) for address in ADDRESSES)
    for delimiter in DELIMITERS:
        yield from (delimiter.format(latex) for latex in LATEX)
    for piece in REPEATED:
        yield from (piece * (length // len(piece)) for length in LENGTHS)
    for depth in DEPTHS:
        yield "> " * depth + "x"
        yield "\n".join("  " * n + "- x" for n in range(min(depth, 400)))
        yield "<table><tr><td>" * depth
        yield "[" * depth + "x" + "](y)" * depth
        yield "**_" * depth + "x" + "_**" * depth
        yield "> | a |\n> |---|\n" * depth

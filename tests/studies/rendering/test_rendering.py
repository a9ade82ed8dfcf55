"""What each format makes of a text."""

from html import escape, unescape

import pytest
from django.core.cache import caches

from studies.rendering import is_markup, render_text, renderers
from studies.rendering.renderers import MAX_CHARACTERS

CODE = "def f(x):\n    return x + 1"


@pytest.fixture(autouse=True)
def empty_cache():
    caches["texts"].clear()


def test_it_works():
    html = render_text("*a* and $x^2$", "markdown_latex")
    assert "<em>a</em>" in html
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in html
    assert hasattr(html, "__html__")


def test_plain_text_is_escaped_and_nothing_else():
    assert render_text("<b> *a* $x$\n  b", "plain") == "&lt;b&gt; *a* $x$\n  b"
    assert not is_markup("*a*", "plain")


def test_the_renderers_output_is_sanitised_whatever_it_is(monkeypatch):
    hostile = renderers.Renderer("", lambda _: '<p onclick="x" style="y">a<script>b</script></p>')
    monkeypatch.setitem(renderers.RENDERERS, "markdown", hostile)
    assert render_text("a", "markdown") == "<p>a</p>"


def test_a_text_is_rendered_once(monkeypatch):
    first = render_text("*a*", "markdown")
    failing = renderers.Renderer("", lambda _: pytest.fail("rendered again"), is_markup=True)
    monkeypatch.setitem(renderers.RENDERERS, "markdown", failing)
    assert render_text("*a*", "markdown") == first
    with pytest.raises(pytest.fail.Exception):
        render_text("*b*", "markdown")
    monkeypatch.setattr(renderers, "VERSION", renderers.VERSION + 1)
    with pytest.raises(pytest.fail.Exception):
        render_text("*a*", "markdown")


def test_the_same_text_in_two_formats_is_two_entries():
    assert render_text("*$x$*", "plain_latex") != render_text("*$x$*", "markdown_latex")


def test_texts_too_long_for_markup_are_shown_as_they_are():
    text = "*a* " * (MAX_CHARACTERS // 4)
    assert is_markup(text, "markdown")
    assert not is_markup(text + " ", "markdown")
    assert render_text(text + " ", "markdown") == text + " "


def test_code_is_highlighted_and_keeps_its_indentation():
    html = render_text(f"```python\n{CODE}\n```", "markdown")
    assert '<span class="k">def</span>' in html
    assert "\n    <span" in html
    assert '<pre dir="ltr">' in html
    unknown = render_text(f"```brainfuck\n{CODE}\n```", "markdown")
    assert CODE in unknown


@pytest.mark.parametrize("code", ["\n" * 5_000, "a." * 3_000, "x = 1\n" * 1_000, "y" * 9_000])
def test_code_on_which_lexers_are_slow_has_no_colours(code):
    assert "<span" not in render_text(f"```java\n{code}\n```", "markdown")


def test_a_text_has_colours_up_to_a_limit():
    lines = "".join(f"variable_{n} = {n}\n" for n in range(300))
    html = render_text(f"```python\n{lines}```\n\n" * 10, "markdown")
    blocks = html.split("</pre>")
    assert '<span class="' in blocks[0]
    assert '<span class="' not in blocks[9]


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("[a](https://e.example/x)", 'a <span class="address">(https://e.example/x)</span>'),
        ("<https://e.example>", "https://e.example"),
        ("[https://e.example](https://e.example)", "https://e.example"),
        ("[**a** b](/x)", '<strong>a</strong> b <span class="address">(/x)</span>'),
        (
            "![a dog](https://e.example/1.png)",
            '<span class="picture">[Image not shown: a dog]</span>',
        ),
        ("![](https://e.example/1.png)", '<span class="picture">[Image not shown]</span>'),
    ],
)
def test_links_and_images_become_text(markdown, html):
    assert render_text(markdown, "markdown") == f'<p dir="auto">{html}</p>\n'


def test_headings_fit_below_those_of_the_page_and_skip_no_level():
    html = render_text("### a\n\n# b\n\n###### c\n\n## d", "markdown")
    assert [part[:2] for part in html.split("<h")[1:]] == ["3 ", "3 ", "4 ", "4 "]


def test_each_outermost_block_has_its_own_direction():
    html = render_text("abc\n\n- قال\n  - المدير\n\n> x", "markdown")
    assert html.count('dir="auto"') == 3
    assert '<ul dir="auto">\n<li>قال' in html


def test_wide_tables_scroll_by_themselves_and_can_be_reached_by_keyboard():
    html = render_text("| a |\n|--:|\n| b |", "markdown")
    assert '<div class="wide" tabindex="0"><table dir="auto">' in html
    assert "style" not in html


@pytest.mark.parametrize("text_format", ["plain_latex", "markdown_latex"])
@pytest.mark.parametrize("formula", ["$x_1$", "\\(x_1\\)", "$$x_1$$", "\\[x_1\\]", "\\[\nx_1\n\\]"])
def test_each_delimiter_of_formulas_is_read(text_format, formula):
    html = render_text(f"Let {formula} be", text_format)
    assert "<msub><mi>x</mi><mn>1</mn></msub>" in html
    assert ('display="block"' in html) == formula.startswith(("$$", "\\["))


@pytest.mark.parametrize("text_format", ["plain_latex", "markdown_latex"])
@pytest.mark.parametrize(
    "text", ["from $5 to $6", "US$ 5 and US$ 6", "cost: $ 5$", "\\$x$", "a$b$c", "$5-$7"]
)
def test_prices_are_no_formulas(text_format, text):
    assert "<math" not in render_text(text, text_format)


def test_a_formula_over_several_lines_is_no_list():
    html = render_text("$$\na\n+ b\n- c\n= d\n$$", "markdown_latex")
    assert "<li>" not in html
    assert html.count("<mo>") == 3


@pytest.mark.parametrize(
    "latex",
    [
        "\\frac{a}{",
        "x^2^3",
        "\\left( x",
        "\\newcommand{\\a}{x}\\a",
        "\\newcommand{\\a}{\\a\\a}\\a",
        "\\def\\a{\\a\\a}\\a",
        "\\sqrt" * 200,
        "{" * 50 + "x" + "}" * 50,
        "\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}",
        "\\begin{gathered} a \\end{gathered}",
        "\\begin{dcases} a & b \\end{dcases}",
        "\\ce{H2O}",
        "a \\R b",
        "a & b",
        "a \\\\ b",
        "\\cancel{x}",
        "\\text{a $x$ b}",
    ],
)
def test_formulas_that_cannot_be_read_show_their_source(latex):
    html = render_text(f"\\({latex}\\)", "plain_latex")
    assert html == f'<span class="formula">\\({escape(latex)}\\)</span>'


@pytest.mark.parametrize(
    "latex",
    ["\\begin{cases} a & b \\\\ c & d \\end{cases}", "a \\& b", "\\boxed{5}", "\\backslash"],
)
def test_formulas_that_are_understood_are_shown(latex):
    assert "<math" in render_text(f"\\({latex}\\)", "plain_latex")


def test_formulas_in_code_are_code():
    assert "<math" not in render_text("`$x$`\n\n```\n$x$\n```", "markdown_latex")


def test_html_in_markdown_is_text():
    html = render_text("*a* <em>b</em>\n\n<h4>c</h4>", "markdown")
    assert html == (
        '<p dir="auto"><em>a</em> &lt;em&gt;b&lt;/em&gt;</p>\n'
        '<p dir="auto">&lt;h4&gt;c&lt;/h4&gt;</p>\n'
    )


def test_html_in_a_formula_is_text():
    html = render_text("$\\text{<h4>a</h4><script>b}$", "plain_latex")
    assert "<mtext>&lt;h4&gt;a&lt;/h4&gt;&lt;script&gt;b</mtext>" in html


@pytest.mark.parametrize(
    "latex",
    [
        "\\href{javascript:alert(1)}{x}",
        "\\style{color:red}{x}",
        "\\class{button}{x}",
        "\\color{white}x",
        "\\hspace{-99em}x",
    ],
)
def test_a_formula_cannot_style_the_page(latex):
    html = render_text(f"${latex}$", "plain_latex")
    assert "<mi>x</mi>" in html
    for attribute in ("href", "style", "class", "mathcolor", "width"):
        assert f" {attribute}=" not in html


PROGRAM = """def stars(n):
    # print rows
    for k in range(n):
        print("*" * k)

    self.__init__(*args, **more)
    return n * 2 * k"""


@pytest.mark.parametrize(
    "text",
    [
        "Group 1: mouse\nGroup 2:  printer\n\n   and   paper",
        PROGRAM,
        "#include <stdio.h>\n# define N 3\nint main() {\n  return 0;\n}",
        "SELECT * FROM words\n  WHERE a * b > 3\n  -- only *some*\n  ORDER BY a;",
        "2 * 3 * 4 = 24 and a_b_c, 1 < 2",
        "A poem\n  of two lines\tand a tab",
    ],
)
@pytest.mark.parametrize("text_format", ["markdown", "markdown_latex"])
def test_a_text_without_markdown_is_shown_as_it_was_written(text, text_format):
    assert not is_markup(text, text_format)
    assert unescape(render_text(text, text_format)) == text


@pytest.mark.parametrize(
    "text",
    [
        "**Answer**\nx = 3",
        "# Plan\nx = 3\ny = 4",
        "- one\n- two",
        "1. one\n2. two",
        "Use `f(x)`.",
        f"```python\n{PROGRAM}\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> so it is",
        "a *b* c",
    ],
)
def test_a_text_with_markdown_is_shown_with_it(text):
    assert is_markup(text, "markdown")
    assert render_text(text, "markdown").startswith("<")


def test_lines_and_spaces_of_markdown_stay_as_they_were_written():
    html = render_text("**Rows**\nA   1\n  B\n\tC", "markdown")
    lines = html.replace("\n", "").split("<br>")
    assert [line.replace("&nbsp;", "~") for line in lines] == [
        '<p dir="auto"><strong>Rows</strong>',
        "A~~ 1",
        "~~B",
        "~~~~C</p>",
    ]
    nested = render_text("* **a**\n  goes on\n\n      code  x", "markdown")
    assert "<br>\ngoes on" in nested or "<br>goes on" in nested
    assert "code  x" in nested

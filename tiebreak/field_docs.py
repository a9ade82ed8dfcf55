"""What the fields of the library's dataclasses are, which their source says below each field.

A text covers the fields directly above it that have none of their own. The JSON schema of the report
repeats these texts, and `help` and the documentation list them as numpydoc's section *Attributes*.
"""

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache, cached_property
from itertools import groupby
from textwrap import dedent
from typing import NamedTuple

# Where numpydoc wants the attributes: before the first of the sections that may follow them.
PLACE = re.compile(r"(?=\n\n(?:Raises|See Also|Notes|Examples)\n---)|\Z")


class FieldDoc(NamedTuple):
    """The type of a field as its source writes it, and what the field is."""

    type: str
    text: str


@cache
def field_docs(kind: type) -> dict[str, FieldDoc]:
    """Return the fields and properties that a class adds to those of its bases, by name."""
    inherited = {name for base in kind.__mro__[1:] for name in inspect.get_annotations(base)}
    described, above = dict[str, FieldDoc](), dict[str, str]()
    [definition] = ast.parse(dedent(inspect.getsource(kind))).body
    for part in getattr(definition, "body", []):
        match part:
            case ast.AnnAssign(target=ast.Name(name), annotation=annotation):
                if name not in inherited:
                    above[name] = _written(annotation)
            case ast.Expr(ast.Constant(str(text))):
                described |= {name: FieldDoc(above[name], _on_a_line(text)) for name in above}
                above = {}
            case ast.FunctionDef(name, returns=ast.expr() as returns) if _is_property(kind, name):
                text = ast.get_docstring(part) or ""
                described[name] = FieldDoc(_written(returns), _on_a_line(text))
    return described


def list_fields(public: Mapping[str, object]) -> None:
    """Let the docstrings of a package's or module's dataclasses list what their fields are."""
    for kind in public.values():
        text = vars(kind).get("__doc__") if is_dataclass(kind) else None
        if isinstance(text, str):
            kind.__doc__ = _ListsFields(text)  # type: ignore[assignment]


class _ListsFields:
    """A docstring that looks up its attributes in the source only when someone reads it."""

    def __init__(self, text: str) -> None:
        self.text = inspect.cleandoc(text)

    def __get__(self, _: object, kind: type) -> str:
        section = ["\n\nAttributes\n----------"]
        for one, names in groupby(field_docs(kind).items(), key=lambda item: item[1]):
            section += [f"{', '.join(name for name, _ in names)} : {one.type}", f"    {one.text}"]
        listed = "\n".join(section) if len(section) > 1 else ""
        return PLACE.sub(lambda _: listed, self.text, count=1) + "\n"


def _is_property(kind: type, name: str) -> bool:
    return not name.startswith("_") and isinstance(getattr(kind, name), property | cached_property)


def _written(annotation: ast.expr) -> str:
    return ast.unparse(annotation).replace("_]", "]")  # numpydoc takes np.bool_ for a link


def _on_a_line(text: str) -> str:
    return " ".join(text.split())

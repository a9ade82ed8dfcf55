"""What programs may rely on within 0.x, one line each: fields of the interface and of reports, functions."""

import hashlib
import inspect
from collections.abc import Iterator
from typing import Any

from tests.api.description import SCHEMA
from tests.paths import ROOT
from tests.tiebreak.test_docstrings import PUBLIC, resolved
from tiebreak.report.schema import report_schema

Json = dict[str, Any]


def promises() -> list[str]:
    return sorted({*_of_migrations(), *_of_interface(), *_of_reports(), *_of_library()})


def _of_migrations() -> Iterator[str]:
    """Yield the migrations, which never change once they are released, with their contents' hash."""
    for path in ROOT.glob("*/migrations/0*.py"):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        yield f"migration {path.relative_to(ROOT)} {digest[:16]}"


def _of_interface() -> Iterator[str]:
    for path, methods in SCHEMA["paths"].items():
        for method, operation in methods.items():
            name = f"interface {method.upper()} {path}"
            for one in operation.get("parameters", []):
                yield f"{name} takes {one['name']} {one['schema'].get('type', '')}".rstrip()
            for content in operation.get("requestBody", {}).get("content", {}).values():
                yield from (f"{name} takes {field}" for field in _fields(content["schema"]))
            for status, answer in operation["responses"].items():
                for content in answer.get("content", {}).values():
                    fields = _fields(content["schema"])
                    yield from (f"{name} gives {status} {field}" for field in fields)


def _fields(schema: Json, path: str = "", within: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the fields of a schema, each with its path and type."""
    reference = schema.get("$ref", "")
    if reference:
        if reference not in within:
            found = SCHEMA["components"]["schemas"][reference.rpartition("/")[2]]
            yield from _fields(found, path, (*within, reference))
        return
    for part in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        yield from _fields(part, path, within)
    if schema.get("type") == "array":
        yield from _fields(schema["items"], f"{path}[]", within)
    for name, inner in schema.get("properties", {}).items():
        yield from _fields(inner, f"{path}.{name}", within)
    if path and "type" in schema:
        yield f"{path} {schema['type']}"


def _of_reports() -> Iterator[str]:
    schema = report_schema()
    for name, part in {"Report": schema, **schema["$defs"]}.items():
        yield from (f"report {name}.{key}" for key in part.get("properties", {}))


def _of_library() -> Iterator[str]:
    for name in sorted({*PUBLIC, *_methods()}):
        yield f"library {name}"
        if callable(resolved(name)):
            for parameter in inspect.signature(resolved(name)).parameters:
                yield f"library {name} {parameter}"


def _methods() -> Iterator[str]:
    """Yield the methods of public classes, whether they are their own or a base's."""
    for name in PUBLIC:
        if inspect.isclass(kind := resolved(name)):
            for method, value in inspect.getmembers(kind, inspect.isroutine):
                is_own = (getattr(value, "__module__", None) or "").startswith("tiebreak.")
                if is_own and not method.startswith("_"):
                    yield f"{name}.{method}"

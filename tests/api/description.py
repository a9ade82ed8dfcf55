"""The stored OpenAPI description, read once."""

from typing import Any

import pytest
import yaml

from tests.paths import ROOT

STORED = ROOT / "docs" / "reference" / "openapi.yaml"


def parsed(text: str | bytes) -> dict[str, Any]:
    return yaml.load(text, Loader=yaml.CSafeLoader)


SCHEMA = parsed(STORED.read_bytes())
OPERATIONS = [
    pytest.param(method, path, operation, id=f"{method} {path}")
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
]

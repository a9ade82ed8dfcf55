"""The OpenAPI description, as the server gives it."""

from typing import Any

import pytest
from drf_spectacular.generators import SchemaGenerator

SCHEMA: dict[str, Any] = SchemaGenerator().get_schema(public=True)
OPERATIONS = [
    pytest.param(method, path, operation, id=f"{method} {path}")
    for path, methods in SCHEMA["paths"].items()
    for method, operation in methods.items()
]

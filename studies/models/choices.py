from typing import Any

from django.db import models


class OpenChoiceField(models.CharField[str, str]):
    """A field whose choices grow with the code, such as rules, designs and renderers.

    Forms, serializers and `clean` know the choices, and migrations do not: a new one changes no table.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"max_length": 50} | kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        kwargs.pop("choices", None)
        return name, "django.db.models.CharField", [*args], kwargs

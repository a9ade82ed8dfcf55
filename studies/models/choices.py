from typing import TYPE_CHECKING, Any

from django.db import models

if TYPE_CHECKING:
    CharField = models.CharField[str, str]
else:
    CharField = models.CharField


class OpenChoiceField(CharField):
    """A field whose choices grow with the code, such as rules, designs and renderers.

    Forms, serializers and `clean` know the choices, and migrations do not: a new one changes no table.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"max_length": 50} | kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        kwargs.pop("choices", None)
        return name, "django.db.models.CharField", [*args], kwargs

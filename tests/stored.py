"""All that the database stores, to compare before and after."""

from typing import Any

from django.apps import apps

# Logs, sessions, what is told to workers, and what is derived from the ratings.
UNCOMPARED = {"logentry", "session", "accessattempt", "accesslog", "studyevent", "reportchanges"}


def stored_rows(*, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the rows of all tables, without these fields."""
    return {
        f"{model.__name__} {row['pk']}": {k: v for k, v in row.items() if k not in without}
        for model in apps.get_models()
        if model._meta.model_name not in UNCOMPARED
        for row in model._base_manager.values(
            "pk", *(f.attname for f in model._meta.concrete_fields)
        )
    }


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return what was stored and what is now, of each field of each row that differs."""
    rows = {key: (before.get(key, {}), after.get(key, {})) for key in before.keys() | after.keys()}
    return {
        f"{key} {name}": (old.get(name), new.get(name))
        for key, (old, new) in rows.items()
        for name in old.keys() | new.keys()
        if old.get(name) != new.get(name)
    }

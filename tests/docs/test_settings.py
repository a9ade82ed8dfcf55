"""docs/formats.md lists the settings of a study as the models declare them."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from studies.models.settings import FreeSettings, FrozenSettings, VersionedSettings, fields_of
from tests.paths import ROOT

GROUPS = {VersionedSettings: "new version", FrozenSettings: "frozen", FreeSettings: "any time"}
# In a bundle, these are texts or files of their own.
TEXTS = {"guidelines", "consent"}


def values_of(field: models.Field) -> str:
    if field.choices:
        return ", ".join(f"`{value}`" for value, _ in field.choices)
    limits = {
        type(check): check.limit_value
        for check in field.validators
        if hasattr(check, "limit_value")
    }
    if MinValueValidator in limits and MaxValueValidator in limits:
        none = ', `"none"`' if field.null else ""
        return f"{limits[MinValueValidator]:,} to {limits[MaxValueValidator]:,}{none}"
    return "`true`, `false`" if isinstance(field, models.BooleanField) else "text"


def default_of(field: models.Field) -> str:
    default = field.get_default()
    if default in (None, ""):
        return "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`" if isinstance(default, str) else f"{Decimal(str(default)):,}"


def expected_table() -> str:
    lines = [
        "| setting | meaning | values | default | may change |",
        "| --- | --- | --- | --- | --- |",
    ]
    for group, when in GROUPS.items():
        for name, field in fields_of(group).items():
            if name not in TEXTS:
                cells = [
                    f"`{name}`",
                    str(field.verbose_name),
                    values_of(field),
                    default_of(field),
                    when,
                ]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_every_setting_as_it_is_declared():
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    section = page.split("### Settings\n")[1].split("### Import\n")[0]
    table = section[section.index("| setting") :].strip() + "\n"
    assert table == expected_table()

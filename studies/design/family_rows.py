"""A form field for the model families of systems and machine raters: a row for each, instead of a typed line."""

from collections.abc import Iterator, Mapping
from typing import Any

from studies.design.field_rows import FieldRows
from studies.models import Study
from tiebreak.errors import InvalidInput
from tiebreak.report.families import KNOWN, MARK, parsed_families, proposed_family


class FamilyRows(FieldRows):
    """Rows of names, given with the names of their models, which may suggest families."""

    template_name = "studies/family_rows.html"

    def __init__(self, models: Mapping[str, str]) -> None:
        super().__init__(models)
        self.models = models

    def rows_of(self, code: str) -> list[tuple[Any, ...]]:
        """Return each name with its family, or with the one that its model's name suggests."""
        chosen = known_families(code)
        return [
            (name, chosen.get(name, ""), proposed_family(self.models.get(name, "")))
            for name in {**self.models, **chosen}
        ]

    def choices(self) -> dict[str, list[str]]:
        return {"families": list(KNOWN)}

    def lines(self, data: Mapping[str, Any], name: str) -> Iterator[str]:
        number = 0
        while (row := f"{name}-{number}") and f"{row}-name" in data:
            if family := data.get(f"{row}-family", "").strip():
                yield f"{data[f'{row}-name']} {MARK} {family}"
            number += 1

    def parsed(self, code: str) -> object:
        return known_families(code)


def known_families(setting: str) -> dict[str, str]:
    """Return the families of a setting that may be mistyped: then there are none."""
    try:
        return parsed_families(setting)
    except InvalidInput:
        return {}


def models_of(study: Study, machines: set[str]) -> dict[str, str]:
    """Return the systems of a study and its machine raters by name, each with its model or else its name.

    A simple rater is no model.
    """
    systems = {one.name: one.language_model or one.name for one in study.ordered_systems()}
    judges = study.machine_raters.values_list("rater__pseudonym", "judge__language_model")
    simple = study.machine_raters.filter(kind="baseline").values_list("rater__pseudonym", flat=True)
    known = {name: model for name, model in judges if name and model}
    return {**systems, **{name: known.get(name, name) for name in sorted(machines - {*simple})}}

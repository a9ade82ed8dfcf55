"""What the picture of machine raters says beside a rater's name: its licence, and what ratings cost."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any

from machine_raters.forms import JUDGE_CRITERIA, JUDGE_SETTINGS
from machine_raters.judging.presets import preset_named
from machine_raters.models import Judge
from machine_raters.services.rating_costs import rating_costs
from metrics.models import Licence
from metrics.results.stopping_page import cost_of_rating
from studies.instance_selection.written_fields import writers_of
from studies.models import Study
from tiebreak.digits import small_money
from tiebreak.reading.figures.machines.costs import PER
from tiebreak.report.model.report import CriterionSection

FREE = "free"
# What is asked, and of which model; the rest of the settings is its name, its place and its price.
NOT_COMPARED = {"name", *JUDGE_CRITERIA, "server", "instructions", "prompt_price", "answer_price"}
NOT_COMPARED |= {"with_reference", "reference_field"}  # which are one setting
COMPARED = [name for name in JUDGE_SETTINGS if name not in NOT_COMPARED]


def notes_of_raters(
    study: Study,
    about: CriterionSection,
    licences: Sequence[Licence],
    known: Mapping[str, Decimal],
) -> dict[str, str]:
    """Return what is known of annotators and of each machine rater, by the names of the picture."""
    costs = {name: _in_words(each, study) for name, each in known.items()}
    return {
        name: ", ".join(filter(None, (licence_of(name, licences), costs.get(name))))
        for name in ("annotators", *about.all_units.machines)
    }


def prompts_of(study: Study) -> dict[str, str]:
    """Return the published prompts from which judges started, by the judges' names."""
    judges = Judge.objects.filter(study=study).exclude(preset="")
    named = judges.values_list("rater__pseudonym", "preset")
    return {name: preset_named(preset) for name, preset in named}


def settings_of(study: Study) -> dict[str, dict[str, str]]:
    """Return how judges were asked, by the judges' names; the instructions by what is in them."""
    judges = Judge.objects.filter(study=study, rater__isnull=False)
    judges = judges.select_related("rater", "example_set").order_by("pk")
    reads_others = any(judge.reference_field for judge in judges)
    by_model = writers_of(study.dataset_id) if reads_others else {}
    return {
        str(judge.rater): {name: _setting(getattr(judge, name)) for name in COMPARED}
        | {
            "reference": _reference(judge, by_model),
            "guidelines": _setting("{guidelines}" in judge.instructions),
            "wording": sha256(judge.instructions.encode()).hexdigest()[:6],
        }
        for judge in judges
    }


def _reference(judge: Judge, by_model: Mapping[str, str]) -> str:
    if not judge.with_reference:
        return "none"
    name = judge.reference_field
    return f"{name}, by a model" if name in by_model else name or "the item's own"


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value in {None, ""} else str(value)


def licence_of(name: str, licences: Sequence[Licence]) -> str:
    """Return for which items a machine rater has a licence that is in force."""
    items = [one.items for one in licences if one.rater.pseudonym == name]
    return f"licence for {', '.join(items)}" if items else ""


def costs_of(study: Study) -> dict[str, Decimal]:
    """Return what a rating costs, of annotators and of those machine raters of which it is known."""
    each = cost_of_rating(study)
    costs = {} if each is None else {"annotators": Decimal(each)}
    machines = rating_costs(study).items()
    return costs | {name: one.amount for name, one in machines if one.amount is not None}


def _in_words(each: Decimal, study: Study) -> str:
    return f"{small_money(PER * each)} {study.currency} for {PER} ratings" if each else FREE

"""Planning the size of a study: a curve of instances by ratings per item, and its cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from metrics.messages import (
    APPLIED,
    NO_SUCH_PLAN,
    ONLY_DRAFTS,
    PILOT_WITHOUT_COMPONENTS,
    SINGLE_RATINGS,
)
from metrics.models import ReportSnapshot
from recruitment.costs import highest_fee, per_response
from recruitment.services.settings import save_settings
from studies.access import Right, changes_study, shows_study, studies_of
from studies.models import Study
from studies.models.study import ratings_in_words
from studies.refusals import told
from studies.services import check_is_draft
from tiebreak.digits import in_digits
from tiebreak.errors import DomainError
from tiebreak.reading.charts.chart import Chart
from tiebreak.reading.charts.lines import Line, line_chart
from tiebreak.reading.figures.planning.stopping import USUAL_WIDTH
from tiebreak.report.sections.planning.planning import REPEATED_SHARE
from tiebreak.stats import DesignOption, VarianceComponents, design_grid

RATINGS = (1, 2, 3, 4, 5, 6, 8, 10)
MIN_RATINGS = 2
MAX_PILOTS = 50
TASKS_IF_UNLIMITED = 20
WIDTH, POWER = "width", "power"
NEW, THESE = "new", "these"
STACKED = "R = 2, and machine raters of the whole dataset, stacked"
STACK_GAIN = (
    "In the pilot, annotators alone would need {value} times the instances ({low} to {high}). The"
    " machine raters must rate every instance of the dataset, and the interval is for the stack; it"
    " applies to new annotators only if instances were drawn."
)
ACTIVE = "R = 2, machine raters stacked, and more instances that they doubt"
ACTIVE_GAIN = (
    "In the pilot, a draw at random would need {value} times the instances ({low} to {high}) of a"
    " draw that takes more of the instances that machine raters doubt, both with machine raters stacked."
    " No instance's probability is below 0.9 times its probability in a draw at random. Choose this draw, with this"
    " pilot, on Generate & select."
)
COMPONENTS = ("mean", "instance", "rater", "rating")


class PlanForm(forms.Form):
    """The known or assumed facts about future ratings, and the target."""

    pilot = forms.ChoiceField(
        required=False,
        help_text="Its variance components are used instead of the assumptions below.",
    )
    goal = forms.ChoiceField(
        label="Target",
        choices=[(WIDTH, "an interval of this width"), (POWER, "this power to exclude ½")],
        initial=WIDTH,
    )
    width = forms.FloatField(min_value=0.01, max_value=0.9, initial=USUAL_WIDTH)
    power = forms.FloatField(min_value=0.5, max_value=0.99, initial=0.8)
    speaks_of = forms.ChoiceField(
        label="The interval applies to",
        choices=[(NEW, "new annotators (at least 8 rate)"), (THESE, "these annotators only")],
        initial=NEW,
        required=False,
    )
    mean = forms.FloatField(label="Expected win rate", min_value=0, max_value=1, initial=0.6)
    instance = forms.FloatField(
        label="Variance between instances", min_value=0, max_value=0.25, initial=0.05
    )
    rater = forms.FloatField(
        label="Variance between annotators", min_value=0, max_value=0.25, initial=0.01
    )
    rating = forms.FloatField(
        label="Variance of a single rating",
        min_value=0,
        max_value=0.25,
        initial=0.15,
        help_text="Of a rating that is 1, ½ or 0, all variances together are at most 0.25.",
    )

    def __init__(self, pilots: list[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pilot"].choices = [("", "none: use the assumptions"), *pilots]  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Option:
    """A design of the curve with its cost, and whether it can be applied."""

    design: DesignOption
    cost: Decimal | None
    is_cheapest: bool = False
    title: str = ""
    sentence: str = ""

    @property
    def can_apply(self) -> bool:
        return self.design.instances is not None and _tells_agreement(self.design)

    @property
    def ratings(self) -> str:
        """R in words."""
        return ratings_in_words(self.design.ratings, self.design.further_share)


def _tells_agreement(design: DesignOption) -> bool:
    return design.ratings >= MIN_RATINGS or design.further_share >= REPEATED_SHARE


@shows_study
def planner(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the curve for the pilot or the assumptions that the address names."""
    context = {"study": study, "here": "size", **_planned(study, request)}
    is_part = "HX-Request" in request.headers
    return render(request, f"metrics/{'planner_part' if is_part else 'planner'}.html", context)


@changes_study
def apply_plan(request: HttpRequest, study: Study) -> HttpResponse:
    """Write a design of the curve into the draft's settings, as the form does."""
    with told(request):
        apply_design(
            study=study,
            units=_number(request, "units"),
            ratings=_number(request, "ratings"),
            is_mixed="mixed" in request.POST,
        )
        messages.success(
            request, APPLIED.format(n=study.comparisons_per_hit, r=study.planned_ratings)
        )
    return redirect("recruitment:size", study.pk)


def _number(request: HttpRequest, name: str) -> int:
    text = request.POST.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


def apply_design(*, study: Study, units: int, ratings: int, is_mixed: bool = False) -> None:
    """Set N and R of a draft, and in a mixed design one additional rating for a share of its tasks.

    Raises `DomainError` if the study is no draft, or R leaves no agreement.
    """
    check_is_draft(study, ONLY_DRAFTS)
    if ratings < MIN_RATINGS and not (ratings and is_mixed):
        raise DomainError("single_ratings", SINGLE_RATINGS)
    study.comparisons_per_hit, study.ratings_per_hit = units, ratings
    study.further_share, study.further_ratings = (REPEATED_SHARE if is_mixed else 0.0), 1
    try:
        study.full_clean()
    except ValidationError as error:
        raise DomainError("invalid", NO_SUCH_PLAN) from error
    save_settings(study=study)


def _planned(study: Study, request: HttpRequest) -> dict[str, Any]:
    # The researcher's other studies that have a report, newest first.
    others = studies_of(request.user, Right.READ).filter(
        report_snapshots__digest="", report_snapshots__report__isnull=False
    )
    rows = others.exclude(pk=study.pk).order_by("-created_at").values_list("pk", "title", "status")
    pilots = [(pk, f"{title} ({status})") for pk, title, status in rows[:MAX_PILOTS]]
    fields = PlanForm.base_fields
    defaults = {name: field.initial for name, field in fields.items()}
    defaults["width"] = study.target_width or defaults["width"]
    form = PlanForm(pilots, request.GET if fields.keys() & request.GET.keys() else defaults)
    if not form.is_valid():
        return {"form": form}
    values = form.cleaned_data
    components, problem = _components(values)
    if components is None:
        return {"form": form, "problem": problem}
    target = {"target_width": values["width"]} if values["goal"] == WIDTH else {}
    target |= {"power": values["power"]} if values["goal"] == POWER else {}
    target |= {"new_raters": values["speaks_of"] != THESE}
    units = sorted({1, study.comparisons_per_hit})
    target |= {"units": units, "units_per_rater": _units_per_rater(study)}
    equal = design_grid(components, ratings=RATINGS, **target)
    mixed = design_grid(components, ratings=[1], further_share=REPEATED_SHARE, **target)
    designs = sorted(equal + mixed, key=lambda d: (d.units, d.ratings, d.further_share))
    options = _options(study, designs)
    return {
        "form": form,
        "components": components,
        "options": options,
        "savings": _savings(study, values["pilot"], target),
        "cheapest": next((option for option in options if option.is_cheapest), None),
        "refusal": next((d.reason for d in designs if d.code == "too_few_raters"), None),
        "charts": _charts(options, units),
        "units_per_rater": _units_per_rater(study),
        "n_dataset": study.dataset.instances.count() if study.dataset else None,
        "can_save": True,  # the page's own button is the one that is meant
        "can_apply": study.status == Study.Status.DRAFT,
        "single_ratings": SINGLE_RATINGS,
    }


def _components(values: dict[str, Any]) -> tuple[VarianceComponents | None, str]:
    """Return the pilot's components for its pair of systems that varies most, or the assumed."""
    if not values["pilot"]:
        mean, instance, rater, rating = (values[name] for name in COMPONENTS)
        return VarianceComponents(mean, instance, 0.0, rater, rating), ""
    pairs = _pilot_pairs(values["pilot"])
    widest = _widest(pairs)
    if widest is None:
        return None, next((pair["reason"] for pair in pairs), PILOT_WITHOUT_COMPONENTS)
    return _components_of(widest), ""


def _pilot_pairs(pilot: str) -> list[dict[str, Any]]:
    report = ReportSnapshot.objects.get(study=pilot, digest="").report or {}
    sections = report.get("criteria", {}).values()
    return [p for section in sections for p in (section.get("planning") or {}).values()]


def _widest(pairs: list[dict[str, Any]]) -> dict[str, Any] | None:
    known = [pair for pair in pairs if "reason" not in pair]
    parts = ("instance", "unit", "rater", "rating")
    return max(known, key=lambda pair: sum(pair[name] for name in parts), default=None)


def _components_of(pair: dict[str, Any], gain: float = 1.0) -> VarianceComponents:
    """Return the components, with those that more instances reduce divided by a gain in instances."""
    instance, unit, rating = (pair[name] / gain for name in ("instance", "unit", "rating"))
    return VarianceComponents(pair["mean"], instance, unit, pair["rater"], rating)


def _savings(study: Study, pilot: str, target: dict[str, Any]) -> list[Option]:
    """Return the cheaper designs of which the pilot shows that they pay; none without a pilot."""
    pair = _widest(_pilot_pairs(pilot)) if pilot else None
    if pair is None:
        return []
    price, savings = _price_of_rating(study), []
    for title, sentence, explained, gain in saving_designs(pair):
        designs = design_grid(
            _components_of(pair, gain),
            ratings=[MIN_RATINGS],
            explained=explained,
            **target,
        )
        design = min(designs, key=lambda one: (one.total is None, one.total or 0))
        cost = None if price is None or design.total is None else round(price * design.total, 2)
        savings.append(Option(design, cost, title=title, sentence=sentence))
    return savings


def saving_designs(pair: dict[str, Any]) -> list[tuple[str, str, float, float]]:
    """Return title, sentence, explained share and gain of designs that pay.

    A design is left out unless the lower bound of its gain in the pilot exceeds 1.
    """
    explained, designs = float(pair.get("explained") or 0), []
    if explained and _exceeds_1(pair.get("stack")):
        gain = STACK_GAIN.format(**_as_digits(pair["stack"]))
        designs.append((STACKED, gain, explained, 1.0))
    if _exceeds_1(pair.get("active")):
        sentence = ACTIVE_GAIN.format(**_as_digits(pair["active"]))
        designs.append((ACTIVE, sentence, explained, float(pair["active"]["value"])))
    return designs


def _exceeds_1(gain: dict[str, Any] | None) -> bool:
    return gain is not None and gain["low"] is not None and gain["low"] > 1


def _as_digits(gain: dict[str, Any]) -> dict[str, str]:
    return {name: in_digits(gain[name]) for name in ("value", "low", "high")}


def _units_per_rater(study: Study) -> int:
    return (study.hits_per_annotator or TASKS_IF_UNLIMITED) * study.comparisons_per_hit


def _options(study: Study, designs: Sequence[DesignOption]) -> list[Option]:
    price = _price_of_rating(study)
    usable = [d for d in designs if d.total is not None and _tells_agreement(d)]
    cheapest = min(usable, key=lambda d: (d.total or 0, d.ratings), default=None)
    return [
        Option(
            design,
            None if price is None or design.total is None else round(price * design.total, 2),
            is_cheapest=design is cheapest,
        )
        for design in designs
    ]


def _price_of_rating(study: Study) -> Decimal | None:
    reward = per_response(study)
    if reward is None:
        return None
    return reward / study.comparisons_per_hit * (1 + highest_fee(study.channels.all()) / 100)


def _charts(options: list[Option], units: list[int]) -> list[tuple[str, Chart]]:
    """Return charts of instances and of all ratings by ratings per item, a line for each N."""
    charts = []
    for name, label in (("instances", "instances"), ("total", "ratings in all")):
        lines = [
            Line(
                "human" if n == units[-1] else "human-open",
                f"N = {n}, as now" if n == units[-1] else f"N = {n}",
                tuple(
                    (o.design.ratings + o.design.further_share, getattr(o.design, name))
                    for o in options
                    if o.design.units == n and o.design.instances is not None
                ),
            )
            for n in units
        ]
        title = f"{label.capitalize()} needed by ratings per item"
        chart = line_chart(lines, finding=title, x_label="ratings per item (R)", y_label=label)
        charts.append((title, chart))
    return charts

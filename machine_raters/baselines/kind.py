"""Baselines, as a kind of machine rater."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Rating
from machine_raters.baselines.job import BaselineJob
from machine_raters.baselines.rules import PERPLEXITIES, needs_reference
from machine_raters.baselines.storing import Reason, pairs_of
from machine_raters.forms import BaselineForm
from machine_raters.kind import Kind, Shown
from machine_raters.messages import (
    BASELINE_IN_DRAFT,
    BASELINE_NEEDS_PREFERENCE,
    BASELINE_NO_PREFERENCE,
    BASELINE_NO_REFERENCE,
    BASELINE_SERVER_NOT_USED,
    NO_ITEMS,
    NO_MODEL,
    PERPLEXITY_NO_SERVER,
)
from machine_raters.models import Baseline, MachineRater
from studies.instance_selection.scoring import what_is_missing
from studies.model_servers import server_settings
from studies.models import Study, Unit
from tiebreak.errors import DomainError


class BaselineKind(Kind):
    name, model, form = MachineRater.Kind.BASELINE, Baseline, BaselineForm
    job = BaselineJob
    path, heading, button = "baselines", "Simple raters", "Add a simple rater"

    def of(self, study: Study) -> QuerySet[Any]:
        """Return baselines with how many items each has rated and left unrated."""
        ratings = Rating.objects.filter(
            rater=OuterRef("rater"), criterion=OuterRef("criterion"), superseded=False
        )
        counted = ratings.order_by().values("rater").annotate(n=Count("unit", distinct=True))
        baselines = Baseline.objects.filter(study=study)
        return baselines.select_related("study", "criterion", "rater").annotate(
            rated=Coalesce(Subquery(counted.values("n")), 0),
            **{
                reason.value: Count("abstentions", filter=Q(abstentions__reason=reason))
                for reason in Reason
            },
        )

    def check_new(self, baseline: Baseline, rows: Mapping[str, Any]) -> None:  # noqa: ARG002
        self.check_start(baseline)

    def check_start(self, baseline: Baseline) -> None:
        if baseline.method == Baseline.Method.REWARD:
            server_settings(baseline.server, baseline.language_model, advice=NO_MODEL)
        elif baseline.server or baseline.language_model:
            raise DomainError("server_not_used", BASELINE_SERVER_NOT_USED, status=400)
        study, pairs = baseline.study, pairs_of(baseline.study)
        if study.status == Study.Status.DRAFT:
            raise DomainError("study_is_draft", BASELINE_IN_DRAFT)
        if baseline.criterion.parsed_scale.kind != "preference":
            sentence = BASELINE_NEEDS_PREFERENCE.format(criterion=baseline.criterion)
            raise DomainError("not_a_preference", sentence, status=400)
        if not pairs.exists():
            raise DomainError("no_items", NO_ITEMS)
        if not needs_reference(baseline.method):
            return
        if not pairs.filter(instance__reference__regex=r"\S").exists():
            raise DomainError("no_reference", BASELINE_NO_REFERENCE)
        if sentence := what_is_missing(baseline.method):
            raise DomainError("encoder_missing", sentence)
        if baseline.method in PERPLEXITIES and (name := _without_server(pairs)):
            raise DomainError("no_server", PERPLEXITY_NO_SERVER.format(system=name))

    def facts(self, baseline: Baseline) -> dict[str, Any]:
        return {"method": baseline.method}

    def job_options(self, baseline: Baseline) -> dict[str, Any]:
        return {"method": baseline.method}

    def row(self, baseline: Any, shown: Shown) -> dict[str, Any]:
        pairs = shown.items.number if shown.items.are_pairs else 0
        remaining = pairs - baseline.rated - baseline.no_reference - baseline.equal_scores
        start = f"Rate the remaining {remaining} items" if remaining > 0 else ""
        return {"pairs": pairs, "answers": baseline.rated, "start": start}

    def why_not(self, form: Any) -> str:
        return "" if form.fields["criterion"].choices else BASELINE_NO_PREFERENCE


def _without_server(pairs: QuerySet[Unit]) -> str | None:
    """Return the name of a system that names no model server, and whose texts name none either."""
    for side in ("a", "b"):
        here = pairs.filter(**{f"text_{side}__system__server": ""})
        silent = here.exclude(**{f"text_{side}__generation__params__has_key": "server"})
        if name := silent.values_list(f"text_{side}__system__name", flat=True).first():
            return str(name)
    return None

"""Baselines, as a kind of machine rater."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Rating
from jobs.kinds import ChunkPlan, Progress
from jobs.models import Job
from machine_raters.baselines.rules import PERPLEXITIES, needs_reference, open_measure, scored
from machine_raters.baselines.storing import Reason, missing_units, pairs_of, store_preferences
from machine_raters.forms import BaselineForm
from machine_raters.kind import Kind, MachineJob, Shown
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
from machine_raters.services.raters import machine_of
from studies.instance_selection.scoring import what_is_missing
from studies.model_servers import server_settings
from studies.models import Study, Unit, texts_of
from tiebreak.errors import DomainError
from tiebreak.similarity import ENCODED

# The items of a chunk, and those that are stored at a time.
CHUNK, PART = 1_000, 100
WITH_MODELS = {*ENCODED, *PERPLEXITIES, Baseline.Method.REWARD}


class BaselineJob(MachineJob):
    """Rates the items that a baseline has not rated yet. Stored items are never rated again."""

    name = "baseline"
    label = "let a simple rater rate"

    def queue_for(self, options: dict[str, Any]) -> str:
        return "gpu" if options.get("method") in WITH_MODELS else "default"

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        keys = list(missing_units(machine_of(job, Baseline)).values_list("pk", flat=True))
        for start in range(0, len(keys), CHUNK):
            chunk = keys[start : start + CHUNK]
            yield ChunkPlan(len(chunk), {"units": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        baseline = machine_of(job, Baseline)
        keys = missing_units(baseline).filter(pk__in=payload["units"])
        texts = texts_of("texts", "generation__system", "generation__instance")
        units = list(keys.select_related("instance").prefetch_related(texts).order_by("pk"))
        done = len(payload["units"]) - len(units)
        yield Progress(done)
        if not units:
            return
        failed = 0
        with open_measure(baseline.method) as measure:
            for start in range(0, len(units), PART):
                part = units[start : start + PART]
                results = list(scored(baseline, part, measure))
                store_preferences(baseline, results)
                settled = len({result.unit for result in results})
                done, failed = done + settled, failed + len(part) - settled
                yield Progress(done, failed)


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

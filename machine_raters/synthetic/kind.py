"""Synthetic sets, as a kind of machine rater: they rate nothing, and judges are tested on them."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from machine_raters.forms import SyntheticSetForm
from machine_raters.kind import Kind, Shown
from machine_raters.messages import (
    FEW_PASSAGES,
    NO_EXAMPLE_QUESTIONS,
    NO_MODEL,
    NO_SYNTHETIC_CRITERIA,
)
from machine_raters.models import (
    Judge,
    MachineRater,
    SyntheticSet,
    SyntheticVerdict,
)
from machine_raters.synthetic.accuracy import ABOUT, CAUTION
from machine_raters.synthetic.checking_job import SyntheticCheckJob
from machine_raters.synthetic.items import CRITERIA, tested_criteria
from machine_raters.synthetic.making_job import SyntheticJob
from machine_raters.synthetic.passages import passages_of
from machine_raters.synthetic.summaries import shown_items, summaries, synthetic_sets_of
from studies.model_servers import check_model
from studies.models import Study
from tiebreak.errors import DomainError


class SyntheticSetKind(Kind):
    name, model = MachineRater.Kind.SYNTHETIC_SET, SyntheticSet
    form, job, other_jobs = SyntheticSetForm, SyntheticJob, (SyntheticCheckJob,)
    has_rater = False
    path, page, heading = "synthetic", "synthetic", "Synthetic items"
    button = "Make synthetic items"

    def of(self, study: Study) -> QuerySet[Any]:
        return synthetic_sets_of(study)

    def listed(self, study: Study, **only: Any) -> list[Any]:
        return summaries(study, **only)

    def check_new(self, made: SyntheticSet, rows: Mapping[str, Any]) -> None:  # noqa: ARG002
        if not tested_criteria(made.study):
            sentence = NO_SYNTHETIC_CRITERIA.format(names=", ".join(CRITERIA))
            raise DomainError("no_synthetic_criteria", sentence)
        passages = passages_of(made.study)
        if len(passages) < 2:
            raise DomainError("few_passages", FEW_PASSAGES)
        if made.examples and not any(passage.question for passage in passages):
            raise DomainError("no_example_questions", NO_EXAMPLE_QUESTIONS)
        check_model(made.server, made.language_model, advice=NO_MODEL)

    def answers(self, made: SyntheticSet) -> int:
        return SyntheticVerdict.objects.filter(item__synthetic_set=made).count()

    def facts(self, made: SyntheticSet) -> dict[str, Any]:
        return {"model": made.language_model, "server": made.server}

    def rows_of(self, shown: Shown) -> list[dict[str, Any]]:
        rows, judges = (
            super().rows_of(shown),
            [*Judge.objects.filter(study=shown.study, excluded=False)],
        )
        tests = {
            (job.options["synthetic_set"], job.options["rater"]): job
            for job in shown.jobs
            if job.kind == SyntheticCheckJob.name
        }
        examples = shown_items(shown.study)
        for row in rows:
            made = row["machine"]
            row["judges"] = [(one, tests.get((made.public_id, one.public_id))) for one in judges]
            row["examples"] = examples.get(made.pk, [])
        return rows

    def row(self, made: Any, shown: Shown) -> dict[str, Any]:  # noqa: ARG002  as every kind
        words = {"about": ABOUT, "caution": CAUTION}
        return words | {"answers": bool(made.judges), "start": "Ask for missing texts"}

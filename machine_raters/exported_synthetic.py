"""The synthetic texts and items of a study, for its export: how they were made, and judges' answers.

They are in separate files and say that they are synthetic so that no reader takes them for
items of the study.
"""

from collections import defaultdict
from collections.abc import Iterator

from machine_raters.forms import SET_SETTINGS
from machine_raters.models import SyntheticItem, SyntheticText, SyntheticVerdict
from studies.models import Study
from tiebreak.formats.rows import Row

_MADE = ("text", "dropped", "rank", "language_model", "prompt_sha256", "seed", "tokens")
_NAMED = ("is_synthetic", "text_id", "question_id", "set", "kind", "instance")
# Excluded sets are also exported. Their rows say so.
_EXCLUSION = ("excluded", "excluded_reason")
TEXT_COLUMNS = (*_NAMED, *_MADE, "finish_reason", "created_at", "settings", *_EXCLUSION)
ITEM_COLUMNS = (
    *("is_synthetic", "item_id", "set", "kind", "question_id", "passage", "answer_id"),
    *("other_answer_id", "labels", "verdicts", *_EXCLUSION),
)
# The name of a model server says something about the installation, and nothing about the texts.
PRIVATE = {"name", "server"}


def text_rows(study: Study) -> Iterator[Row]:
    """Yield a row for each text, including those that were dropped."""
    texts = SyntheticText.objects.filter(synthetic_set__study=study).order_by("pk")
    for text in texts.select_related("synthetic_set", "instance"):
        made = text.synthetic_set
        yield {
            "is_synthetic": True,
            "text_id": text.pk,
            "question_id": text.question_id,
            "set": made.name,
            "kind": text.kind,
            "instance": text.instance.key,
            **{name: getattr(text, name) for name in (*_MADE, "finish_reason")},
            "created_at": text.created_at.isoformat(),
            "settings": {name: getattr(made, name) for name in SET_SETTINGS if name not in PRIVATE},
            **{name: getattr(made, name) for name in _EXCLUSION},
        }


def item_rows(study: Study) -> Iterator[Row]:
    """Yield a row for each item, with the answer of each judge that was asked."""
    items = SyntheticItem.objects.filter(synthetic_set__study=study).order_by("pk")
    verdicts = _verdicts(study)
    for item in items.select_related("synthetic_set", "passage"):
        yield {
            "is_synthetic": True,
            "item_id": item.pk,
            "set": item.synthetic_set.name,
            "kind": item.kind,
            "question_id": item.question_id,
            "passage": item.passage.key,
            "answer_id": item.answer_id,
            "other_answer_id": item.other_answer_id,
            "labels": item.labels,
            "verdicts": verdicts[item.pk],
            **{name: getattr(item.synthetic_set, name) for name in _EXCLUSION},
        }


def _verdicts(study: Study) -> dict[int, list[Row]]:
    verdicts: dict[int, list[Row]] = defaultdict(list)
    rows = SyntheticVerdict.objects.filter(judge__study=study).order_by("pk")
    for row in rows.select_related("judge", "criterion"):
        verdicts[row.item_id].append(
            {
                "judge": row.judge.name,
                "criterion": row.criterion.name,
                "order": row.order,
                "label": row.label,
                "raw": row.raw,
                "language_model": row.language_model,
                "prompt_sha256": row.prompt_sha256,
                "seed": row.seed,
            }
        )
    return verdicts

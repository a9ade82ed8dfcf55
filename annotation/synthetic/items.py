"""Synthetic items: which question, passage and answer are put together, and what follows from that."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from annotation.models import SyntheticItem, SyntheticSet, SyntheticText
from studies.models import Study
from tiebreak.scales import Scale

CONTEXT, FAITHFULNESS, RELEVANCE = "context relevance", "faithfulness", "answer relevance"
CRITERIA = (CONTEXT, FAITHFULNESS, RELEVANCE)
YES, NO = "yes", "no"
# What follows for each criterion. Where nothing does, the item is not used for it.
LABELS: Mapping[SyntheticItem.Kind, Mapping[str, str]] = {
    SyntheticItem.Kind.POSITIVE: {CONTEXT: YES, FAITHFULNESS: YES, RELEVANCE: YES},
    SyntheticItem.Kind.OTHER_PASSAGE: {CONTEXT: NO},
    SyntheticItem.Kind.OTHER_ANSWER: {FAITHFULNESS: NO, RELEVANCE: NO},
    SyntheticItem.Kind.CONTRADICTION: {FAITHFULNESS: NO},
    SyntheticItem.Kind.EVASION: {RELEVANCE: NO},
}


@dataclass(frozen=True)
class _Question:
    """A question that came back from its round trip, and the texts that were made for it."""

    text: SyntheticText
    by_kind: Mapping[str, SyntheticText]


def tested_criteria(study: Study) -> list[str]:
    """Return the criteria that synthetic items have labels for: ARES's three, answered yes or no."""
    return [
        criterion.name
        for criterion in study.criteria.all()
        if criterion.name in CRITERIA and _is_yes_or_no(criterion.parsed_scale)
    ]


def _is_yes_or_no(scale: Scale) -> bool:
    return scale.kind == "nominal" and set(scale.labels or ()) == {YES, NO}


def put_together(made: SyntheticSet) -> None:
    """Create the items of a set that its texts allow and that do not exist yet."""
    criteria = tested_criteria(made.study)
    questions = list(_questions(made))
    items = []
    for number, question in enumerate(questions):
        # The last question takes from the first one, so that all texts are used equally often.
        other = questions[(number + 1) % len(questions)]
        items += _items(made, question, other if other is not question else None)
    labels = ({c: item.labels[c] for c in criteria if c in item.labels} for item in items)
    for item, of_item in zip(items, labels, strict=True):
        item.labels = of_item
    SyntheticItem.objects.bulk_create(
        [item for item in items if item.labels], ignore_conflicts=True
    )


def _questions(made: SyntheticSet) -> Iterator[_Question]:
    """Yield the questions that have a correct answer."""
    kept = made.texts.filter(kind=SyntheticText.Kind.QUESTION, dropped="", rank=1)
    for text in kept.prefetch_related("replies").order_by("pk"):
        replies = {reply.kind: reply for reply in text.replies.all() if not reply.dropped}
        if SyntheticText.Kind.ANSWER in replies:
            yield _Question(text, replies)


def _items(made: SyntheticSet, asked: _Question, other: _Question | None) -> list[SyntheticItem]:
    answer, passage = asked.by_kind[SyntheticText.Kind.ANSWER], asked.text.instance_id
    parts = {SyntheticItem.Kind.POSITIVE: (passage, answer)}
    if other is not None:
        parts[SyntheticItem.Kind.OTHER_PASSAGE] = (other.text.instance_id, answer)
        others = other.by_kind[SyntheticText.Kind.ANSWER]
        # "Yes." may be right for both.
        if others.text != answer.text:
            parts[SyntheticItem.Kind.OTHER_ANSWER] = (passage, others)
    for kind, text in (
        (SyntheticItem.Kind.CONTRADICTION, SyntheticText.Kind.CONTRADICTION),
        (SyntheticItem.Kind.EVASION, SyntheticText.Kind.EVASION),
    ):
        if text in asked.by_kind:
            parts[kind] = (passage, asked.by_kind[text])
    return [
        SyntheticItem(
            synthetic_set=made,
            kind=kind,
            question=asked.text,
            passage_id=shown,
            answer=reply,
            labels=dict(LABELS[kind]),
        )
        for kind, (shown, reply) in parts.items()
    ]

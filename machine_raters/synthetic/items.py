"""Synthetic items: which question, passage and answer are put together, and what follows from that."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from machine_raters.models import SyntheticItem, SyntheticSet, SyntheticText
from studies.models import Study
from tiebreak.scales import Scale

CONTEXT, FAITHFULNESS, RELEVANCE = "context relevance", "faithfulness", "answer relevance"
CRITERIA = (CONTEXT, FAITHFULNESS, RELEVANCE)
YES, NO = "yes", "no"
# The label of a comparison: its text A, which is the correct answer, is preferred.
A = "A"
# What follows for each criterion. Where nothing does, the item is not used for it.
LABELS: Mapping[SyntheticItem.Kind, Mapping[str, str]] = {
    SyntheticItem.Kind.POSITIVE: {CONTEXT: YES, FAITHFULNESS: YES, RELEVANCE: YES},
    SyntheticItem.Kind.OTHER_PASSAGE: {CONTEXT: NO},
    SyntheticItem.Kind.OTHER_ANSWER: {FAITHFULNESS: NO, RELEVANCE: NO},
    SyntheticItem.Kind.CONTRADICTION: {FAITHFULNESS: NO},
    SyntheticItem.Kind.EVASION: {RELEVANCE: NO},
    SyntheticItem.Kind.BESIDE_OTHER: {FAITHFULNESS: A, RELEVANCE: A},
    SyntheticItem.Kind.BESIDE_CONTRADICTION: {FAITHFULNESS: A},
    SyntheticItem.Kind.BESIDE_EVASION: {RELEVANCE: A},
}
# The comparison of the correct answer with the answer of each kind of negative.
COMPARED = {
    SyntheticItem.Kind.OTHER_ANSWER: SyntheticItem.Kind.BESIDE_OTHER,
    SyntheticItem.Kind.CONTRADICTION: SyntheticItem.Kind.BESIDE_CONTRADICTION,
    SyntheticItem.Kind.EVASION: SyntheticItem.Kind.BESIDE_EVASION,
}


# The passage that is shown, by its instance's key, and one answer or two.
_Parts = tuple[int, SyntheticText, SyntheticText | None]


@dataclass(frozen=True)
class _Question:
    """A question that came back from its round trip, and the texts that were made for it."""

    text: SyntheticText
    by_kind: Mapping[str, SyntheticText]


def tested_criteria(study: Study) -> list[str]:
    """Return the criteria that synthetic items have labels for.

    These are ARES's three, answered yes or no for single texts, or by a preference for pairs. Pairs
    share their passage, so nothing follows for context relevance.
    """
    return list(_labels_by_criterion(study))


def _labels_by_criterion(study: Study) -> dict[str, set[str]]:
    known = {c.name: _labels_on(study, c.parsed_scale) for c in study.criteria.all()}
    return {
        name: labels
        for name, labels in known.items()
        if any(of_kind.get(name) in labels for of_kind in LABELS.values())
    }


def _labels_on(study: Study, scale: Scale) -> set[str]:
    """Return the labels of synthetic items that a scale has."""
    if study.unit_kind == Study.UnitKind.COMPARISON:
        return {A} if scale.kind == "preference" else set()
    is_yes_or_no = scale.kind == "nominal" and set(scale.labels or ()) == {YES, NO}
    return {YES, NO} if is_yes_or_no else set()


def put_together(made: SyntheticSet) -> None:
    """Create the items of a set that its texts allow and that do not exist yet."""
    criteria = _labels_by_criterion(made.study)
    questions = list(_questions(made))
    items = []
    for number, question in enumerate(questions):
        # The last question takes from the first so that all texts are used equally.
        other = questions[(number + 1) % len(questions)]
        items += _items(made, question, other if other is not question else None)
    for item in items:
        item.labels = {
            name: item.labels[name]
            for name, labels in criteria.items()
            if item.labels.get(name) in labels
        }
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
    parts: dict[SyntheticItem.Kind, _Parts] = {SyntheticItem.Kind.POSITIVE: (passage, answer, None)}
    if other is not None:
        parts[SyntheticItem.Kind.OTHER_PASSAGE] = (other.text.instance_id, answer, None)
    for kind, wrong in _wrong_answers(asked, other):
        parts[kind] = (passage, wrong, None)
        parts[COMPARED[kind]] = (passage, answer, wrong)
    return [
        SyntheticItem(
            synthetic_set=made,
            kind=kind,
            question=asked.text,
            passage_id=shown,
            answer=reply,
            other_answer=other_reply,
            labels=dict(LABELS[kind]),
        )
        for kind, (shown, reply, other_reply) in parts.items()
    ]


def _wrong_answers(
    asked: _Question, other: _Question | None
) -> Iterator[tuple[SyntheticItem.Kind, SyntheticText]]:
    if other is not None:
        of_other = other.by_kind[SyntheticText.Kind.ANSWER]
        # "Yes." may be right for both.
        if of_other.text != asked.by_kind[SyntheticText.Kind.ANSWER].text:
            yield SyntheticItem.Kind.OTHER_ANSWER, of_other
    for kind, text in (
        (SyntheticItem.Kind.CONTRADICTION, SyntheticText.Kind.CONTRADICTION),
        (SyntheticItem.Kind.EVASION, SyntheticText.Kind.EVASION),
    ):
        if text in asked.by_kind:
            yield kind, asked.by_kind[text]

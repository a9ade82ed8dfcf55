"""The passages and questions of a study whose items are questions, passages and answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from machine_raters.models import SyntheticSet
from studies.models import Instance, Study
from tiebreak.formats.shown_fields import metadata_text, parsed_fields

# The fields that hold passages; the source is then the question.
PASSAGE_FIELDS = ("passage", "passages")
# The roles of the turns in which other studies of answers from passages have their texts.
QUESTION, PASSAGE = "Question", "Passage"


@dataclass(frozen=True)
class Passage:
    """A passage, the first instance that has it, and that instance's question if it has one."""

    instance: int
    text: str
    question: str
    # The field that has the passage; "" if it is a turn, or the source.
    field: str = ""

    def asked(self, question: str) -> Instance:
        """Return an instance with another question, which looks as the study's own do."""
        if self.field:
            return Instance(source=question, metadata={self.field: self.text})
        turns = [{"role": QUESTION, "content": question}, {"role": PASSAGE, "content": self.text}]
        return Instance(messages=turns)


def passages_of(study: Study) -> list[Passage]:
    """Return the study's different passages: its field, the turns named Passage, or the sources."""
    if study.dataset is None:
        return []
    different: dict[str, Passage] = {}
    field = _passage_field(study)
    for instance in study.dataset.instances.order_by("pk"):
        in_field = metadata_text(instance.metadata.get(field or None)).strip()
        text = in_field or _turn(instance, PASSAGE) or instance.source.strip()
        if text and text not in different:
            question = _turn(instance, QUESTION) or (in_field and instance.source.strip())
            different[text] = Passage(instance.pk, text, question, field if in_field else "")
    return list(different.values())


def chosen_passages(made: SyntheticSet, among: Sequence[Passage]) -> list[Passage]:
    """Return the passages of a set: all, or a random sample that depends on its seed."""
    if made.passages >= len(among):
        return list(among)
    kept = {p.instance for p in Random(f"{made.seed}:{made.name}").sample(among, made.passages)}
    return [passage for passage in among if passage.instance in kept]


def examples_for(made: SyntheticSet, passage: Passage, among: Sequence[Passage]) -> list[Passage]:
    """Return other passages of the study with their questions, which depend on the set's seed."""
    others = [p for p in among if p.question and p.instance != passage.instance]
    number = min(made.examples, len(others))
    return Random(f"{made.seed}:examples:{passage.instance}").sample(others, number)


def _passage_field(study: Study) -> str:
    names = (field.name for field in parsed_fields(study.fields))
    return next((name for name in names if name.casefold() in PASSAGE_FIELDS), "")


def _turn(instance: Instance, role: str) -> str:
    contents = (
        str(turn.get("content", ""))
        for turn in instance.messages
        if str(turn.get("role", "")).casefold() == role.casefold()
    )
    return "\n\n".join(contents).strip()

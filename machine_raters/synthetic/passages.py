"""The passages and questions of a study whose items are questions, passages and answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from machine_raters.models import SyntheticSet
from studies.models import Instance, Study

# The roles of the turns in which the RAG template has its texts.
QUESTION, PASSAGE = "Question", "Passage"


@dataclass(frozen=True)
class Passage:
    """A passage, the first instance that has it, and that instance's question if it has one."""

    instance: int
    text: str
    question: str


def passages_of(study: Study) -> list[Passage]:
    """Return the study's different passages: the turns named Passage, or else the sources."""
    if study.dataset is None:
        return []
    different: dict[str, Passage] = {}
    for instance in study.dataset.instances.order_by("pk"):
        text = _turn(instance, PASSAGE) or instance.source.strip()
        if text and text not in different:
            different[text] = Passage(instance.pk, text, _turn(instance, QUESTION))
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


def turns(question: str, passage: str) -> list[dict[str, str]]:
    """Return messages as the instances of the RAG template have them."""
    return [{"role": QUESTION, "content": question}, {"role": PASSAGE, "content": passage}]


def _turn(instance: Instance, role: str) -> str:
    contents = (
        str(turn.get("content", ""))
        for turn in instance.messages
        if str(turn.get("role", "")).casefold() == role.casefold()
    )
    return "\n\n".join(contents).strip()

"""Raters' answers to questions on items, of which platforms' readers make criteria and ratings."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats import FormatError, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.cells import MAX_ID
from tiebreak.formats.rating_names import is_about_person, opposite_of
from tiebreak.formats.readers.converted import Converted, labels_of
from tiebreak.formats.readers.pairs import flag_later_votes
from tiebreak.formats.rows import Row

# One choice or several of those that were offered, so never a free text.
Chosen = tuple[str, ...]
# The scale of a question, the label of each answer, and a note; or no scale, and why there is none.
_Read = tuple[str, Mapping[Any, Any], str]
CHOSEN = ("no", "yes")
# Mechanical Turk writes an empty text as an empty object.
EMPTY = ("", "{}")
UNANSWERED = "empty answers of"
# What raters are asked about themselves, which is a criterion only where a rater's answers differ.
LANGUAGES = ("english", "native", "native speaker", "native_speaker", "language")
# Several numbers in a cell, such as 100#37#47#, of which nothing says what each was given to.
_PACKED = re.compile(r"(\d+(\.\d+)?[#|;]){2,}(\d+(\.\d+)?)?")
PACKED = "has several numbers in each answer of {}. Give each a column of its own that says what was rated"
# Choices are answered by nearly all, comments by some.
MAX_UNANSWERED = 0.2


@dataclass
class Answers:
    """Collects answers; `converted` makes a criterion of each question whose answers are labels."""

    title: str
    file: str
    """Name of the file, for refusals."""
    scales: dict[str, str] = field(default_factory=dict)
    """Scales of the questions that have a declared one."""
    questions: dict[str, str] = field(default_factory=dict)
    """What raters were asked, where it is not the name."""
    left_out: Counter[str] = field(default_factory=Counter)
    systems: tuple[str, ...] = ()
    generations: list[Any] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    _instances: dict[str, InstanceRow] = field(default_factory=dict)
    _given: dict[str, list[tuple[Any, Row]]] = field(default_factory=dict)
    _emails: dict[str, str] = field(default_factory=dict)

    def item(self, name: str, source: str = "", **facts: Any) -> str:
        """Return the id of an instance, which is new or was there before."""
        key = as_name(name)
        self._instances.setdefault(key, InstanceRow(key, source, **facts))
        return key

    def rater(self, name: object) -> str:
        """Return the name of a rater; an e-mail address becomes a number."""
        text = as_name(name)
        return self._emails.setdefault(text, f"e{len(self._emails) + 1}") if "@" in text else text

    def add(self, question: str, answer: object, *, unit: str, rater: str, **facts: Any) -> None:
        """Add an answer: what was chosen, a number, or a text that may be a label."""
        name = as_name(question)
        if answer is None or (isinstance(answer, str) and answer.strip() in EMPTY):
            self.left_out[f"{UNANSWERED} {name}"] += 1
            return
        rating = {"unit": unit, "rater": rater, "criterion": name, **facts}
        self._given.setdefault(name, []).append((answer, rating))

    def converted(self, about: str) -> Converted:
        """Return the ratings; answers that are no labels are left out and counted."""
        criteria: list[CriterionSpec] = []
        ratings: list[Row] = []
        missing = 0
        questions = dict(self._single_answers())
        read = {name: self._labels(name, given) for name, given in questions.items()}
        for name, given in questions.items():
            own = read[name]
            scale, labels, note = own if own[0] else _as_another(given, read) or own
            if why := _why_no_criterion(name, questions):
                scale, note = "", why
            if not scale:
                self.left_out[f"answers of {name}, {note}"] += len(given)
                continue
            question = self.questions.get(name.partition(": ")[0], name)
            criteria.append(CriterionSpec(name, scale, question))
            rated = [row | {"label": labels[answer]} for answer, row in given if answer in labels]
            self.left_out[f"missing answers of {name}"] += len(given) - len(rated)
            missing += len(given) - len(rated) + self.left_out[f"{UNANSWERED} {name}"]
            ratings += rated
            about = f"{about} {note}".strip()
        if not ratings and not self.left_out.total():
            reason = "has no answers of raters. Choose the reader of the platform that wrote it"
            raise FormatError.of(self.file, None, "no_answers", reason)
        flag_later_votes(ratings)
        settings = {"comparisons_per_hit": 1, **self.settings}
        spec = StudySpec(self.title, tuple(criteria), self.systems, settings=settings)
        instances = list(self._instances.values())
        lost = self.left_out
        return Converted(spec, instances, self.generations, ratings, lost, about, missing)

    def _labels(self, name: str, given: list[tuple[Any, Row]]) -> _Read:
        """Return how the answers to a question are read."""
        were_offered = all(isinstance(answer, tuple) for answer, _ in given)
        texts = {answer: as_text(answer) for answer, _ in given}
        if texts and all(map(_PACKED.fullmatch, texts.values())):
            raise FormatError.of(self.file, None, "packed_answers", PACKED.format(name))
        try:
            read = labels_of(
                [texts[answer] for answer, _ in given],
                name,
                scale=self.scales.get(name, ""),
                were_offered=were_offered,
            )
        except InvalidInput as error:
            raise FormatError.of(self.file, None, error.code, error.message) from error
        unanswered = self.left_out[f"{UNANSWERED} {name}"]
        is_patchy = unanswered > MAX_UNANSWERED * (len(given) + unanswered)
        if read.scale.startswith("nominal") and is_patchy and not were_offered:
            return "", {}, "which are free text"
        labels = {a: read.labels[text] for a, text in texts.items() if text in read.labels}
        return read.scale, labels, read.note

    def _single_answers(self) -> list[tuple[str, list[tuple[Any, Row]]]]:
        """Return the answers by question; one that allows several choices becomes one for each."""
        questions = []
        for name, given in self._given.items():
            chosen = [answer for answer, _ in given if isinstance(answer, tuple)]
            if all(len(answer) == 1 for answer in chosen):
                questions.append((name, given))
                continue
            sets = [a if isinstance(a, tuple) else (as_text(a),) for a, _ in given]
            for choice in sorted({choice for one in sets for choice in one}):
                part = as_name(f"{name}: {choice}")
                rows = (row | {"criterion": part} for _, row in given)
                answers = [(CHOSEN[choice in one],) for one in sets]
                questions.append((part, list(zip(answers, rows, strict=True))))
        return questions


def _as_another(given: list[tuple[Any, Row]], read: Mapping[str, _Read]) -> _Read | None:
    """Return how another question was read that offers all answers of this one."""
    answers = {answer for answer, _ in given}
    return next((one for one in read.values() if one[0] and answers <= {*one[1]}), None)


def _why_no_criterion(name: str, questions: Mapping[str, list[tuple[Any, Row]]]) -> str:
    """Return why a question is not about the item, or not another one, or ""."""
    of_raters: dict[object, set[str]] = {}
    answers = {(row["unit"], row["rater"]): as_text(answer) for answer, row in questions[name]}
    for (_, rater), answer in answers.items():
        of_raters.setdefault(rater, set()).add(answer)
    is_asked = name.casefold() in LANGUAGES and len(of_raters) < len(answers)
    if (is_about_person(name) or is_asked) and all(len(own) == 1 for own in of_raters.values()):
        return "which say who the rater is"
    for best, given in questions.items():
        if opposite_of(best) == name.casefold():
            chosen = {(row["unit"], row["rater"]): as_text(answer) for answer, row in given}
            are_two = len({*answers.values(), *chosen.values()}) == 2
            if are_two and all(chosen.get(key, answers[key]) != answers[key] for key in answers):
                return f"which are the other of two than those of {best}"
    return ""


def as_text(answer: object) -> str:
    """Return one answer as text."""
    if isinstance(answer, tuple):
        return as_text(answer[0])
    if isinstance(answer, bool):
        return str(answer).lower()
    is_whole = isinstance(answer, float) and answer.is_integer()
    return str(int(answer) if is_whole else answer).strip()  # type: ignore[call-overload]


def as_name(name: object) -> str:
    """Return a name in one line of printable characters, as ids are."""
    words = "".join(c if c.isprintable() else " " for c in str(name)).split()
    return " ".join(words)[:MAX_ID].strip() or "unnamed"

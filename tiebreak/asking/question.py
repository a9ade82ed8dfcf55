"""What a judge is asked, as prompts and the reading of answers need to know it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tiebreak.asking.samples import Prompted
from tiebreak.scales import Scale


class Task(Protocol):
    """What people read as well: the guidelines, further texts, and answers without a label."""

    @property
    def guidelines(self) -> str: ...
    @property
    def fields(self) -> str: ...
    @property
    def allowed_nonresponses(self) -> Sequence[str]: ...


class JudgeSettings(Protocol):
    """How a judge is asked."""

    @property
    def study(self) -> Task: ...
    @property
    def instructions(self) -> str: ...
    @property
    def is_by_probability(self) -> bool: ...
    @property
    def is_constrained(self) -> bool: ...
    @property
    def constraint(self) -> str: ...
    @property
    def with_reference(self) -> bool: ...
    @property
    def asks_together(self) -> bool: ...
    @property
    def runs(self) -> int: ...
    @property
    def temperature(self) -> float: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def seed(self) -> int: ...


class CriterionAsked(Protocol):
    """A criterion: its name, and the question that people are asked."""

    @property
    def name(self) -> str: ...
    @property
    def question(self) -> str: ...


class Question(Protocol):
    """A criterion by which a judge rates; ``together`` are those of the same prompt."""

    @property
    def judge(self) -> JudgeSettings: ...
    @property
    def criterion(self) -> CriterionAsked: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def steps(self) -> str: ...
    @property
    def together(self) -> "Sequence[Question]": ...


class Text(Protocol):
    """A text to judge."""

    @property
    def text(self) -> str: ...


class Item(Protocol):
    """An item to judge: one text or two, and for an example the known answers."""

    @property
    def key(self) -> str: ...
    @property
    def instance(self) -> Prompted | None: ...
    @property
    def generations(self) -> Sequence[Text]: ...
    @property
    def explanation(self) -> str: ...
    @property
    def known_labels(self) -> Mapping[str, Any]: ...

"""The kinds of perturbations, by level and degree, and the copies that they make."""

from collections.abc import Callable
from dataclasses import dataclass

from tiebreak.errors import InvalidInput
from tiebreak.perturbations.characters import deleted_letters, typos
from tiebreak.perturbations.edits import (
    LETTER,
    Draws,
    Edit,
    edited,
    has_spaces,
    sentences,
    words as words_of,
)
from tiebreak.perturbations.sentences import inserted, other_ending, other_text, reordered, replaced
from tiebreak.perturbations.words import (
    deleted_words,
    disorder,
    fictional_entities,
    grammatical_errors,
)

MIN_WORDS, MIN_LETTERS, MIN_SENTENCES = 8, 30, 3
# Half of fewer sentences would be nearly all of them.
MIN_HALVED = 4


@dataclass(frozen=True)
class Perturbation:
    """A kind of perturbation in one degree."""

    level: str
    """What is changed."""
    kind: str
    """How it is changed, such as typos."""
    degree: str
    """How much is changed."""
    change: str
    """What is changed, in words."""

    @property
    def name(self) -> str:
        """Level, kind and degree, such as ``characters/typos/minor``."""
        return f"{self.level}/{self.kind}/{self.degree}"

    @property
    def needs_other_text(self) -> bool:
        """Whether the copy takes a passage from another text."""
        return (self.level, self.kind) in _WITH_OTHER


@dataclass(frozen=True)
class PerturbedText:
    """A perturbed copy of a text, and what was changed."""

    text: str
    """The copy."""
    name: str
    """Level, kind and degree of the perturbation."""
    seed: int
    """Seed of the random choices."""
    edits: tuple[Edit, ...]
    """What was changed, in the order of the text."""


_ALONE: dict[tuple[str, str], Callable[[str, str, Draws], list[Edit]]] = {
    ("characters", "deletion"): deleted_letters,
    ("characters", "typos"): typos,
    ("words", "deletion"): deleted_words,
    ("words", "fictional"): fictional_entities,
    ("words", "grammar"): grammatical_errors,
    ("words", "disorder"): disorder,
    ("sentences", "reordering"): reordered,
}
_WITH_OTHER: dict[tuple[str, str], Callable[[str, str, Draws, str], list[Edit]]] = {
    ("sentences", "insertion"): inserted,
    ("sentences", "replacement"): replaced,
    ("sentences", "ending"): other_ending,
    ("sentences", "answer"): other_text,
}
_CHANGES = {
    ("characters", "deletion"): ("2% of the letters are missing", "15% of the letters are missing"),
    ("characters", "typos"): ("2% of the letters are mistyped", "12% of the letters are mistyped"),
    ("words", "deletion"): ("10% of the words are missing", "40% of the words are missing"),
    ("words", "fictional"): (
        "a third of the names and numbers are invented",
        "all names and numbers are invented",
    ),
    ("words", "grammar"): (
        "15% of the English function words are wrong",
        "60% of the English function words are wrong",
    ),
    ("words", "disorder"): (
        None,
        "sentences and words are in random order, and 30% of the words are missing",
    ),
    ("sentences", "reordering"): (
        "two neighbouring sentences are swapped",
        "no sentence is where it was",
    ),
    ("sentences", "insertion"): (
        "a sentence of another text is inserted",
        "sentences of another text are inserted after half of the sentences",
    ),
    ("sentences", "replacement"): (
        "a sentence is one of another text",
        "half of the sentences are those of another text",
    ),
    ("sentences", "ending"): (
        "the last sentence is that of another text",
        "the second half is the end of another text",
    ),
    ("sentences", "answer"): (None, "the whole text belongs to another instance"),
}
PERTURBATIONS = {
    perturbation.name: perturbation
    for (level, kind), changes in _CHANGES.items()
    for degree, change in zip(("minor", "major"), changes, strict=True)
    if change
    for perturbation in (Perturbation(level, kind, degree, change),)
}


def perturbation_named(name: str) -> Perturbation:
    """Return a perturbation by its name (level, kind and degree), or raise `InvalidInput`.

    Examples
    --------
    >>> perturbation_named("words/deletion/major").change
    '40% of the words are missing'
    """
    if name not in PERTURBATIONS:
        raise InvalidInput(
            "unknown_perturbation",
            f"There is no perturbation {name!r}. There are {', '.join(PERTURBATIONS)}.",
        )
    return PERTURBATIONS[name]


def perturbed(text: str, name: str, *, seed: int = 0, other: str = "") -> PerturbedText:
    """Make a perturbed copy of a text.

    Parameters
    ----------
    text : str
        The original.
    name : str
        Level, kind and degree of the perturbation, such as ``characters/typos/minor``.
    seed : int, default 0
        Seed of the random choices. The same text, name, seed and other text give the same copy on
        every machine.
    other : str, optional
        Text of another instance, from which perturbations of sentences take passages.

    Returns
    -------
    PerturbedText
        The copy, which differs from the original, and the edits that made it.

    Raises
    ------
    InvalidInput
        If there is no such perturbation, the text is too short or has nothing that it could change,
        or another text is needed and ``other`` has too few sentences or is the same text.

    See Also
    --------
    tiebreak.stats.discernment : Tests whether raters give the copies lower scores.

    Notes
    -----
    The kinds follow Wang et al. 2024 (DHP), section 3.1, with rules in place of a language model.
    Letters are changed with their combining marks, in any script. Words are found by the spaces
    between them, so texts in scripts without spaces are refused; names are capitalised words;
    grammatical errors are in English.

    Examples
    --------
    >>> text = "The committee met on Monday, and it agreed on a plan for the new bridge."
    >>> copy = perturbed(text, "words/deletion/minor")
    >>> copy.text
    'The committee met, and it agreed on a plan for the new bridge.'
    >>> copy.edits[0]
    Edit(position=17, before=' on', after='')
    """
    perturbation = perturbation_named(name)
    check_can_perturb(text, perturbation, other)
    draws = Draws(seed, name, text)
    key = (perturbation.level, perturbation.kind)
    if perturbation.needs_other_text:
        edits = _WITH_OTHER[key](text, perturbation.degree, draws, other)
    else:
        edits = _ALONE[key](text, perturbation.degree, draws)
    copy = edited(text, edits)
    if copy == text:
        raise InvalidInput("nothing_to_change", NOTHING.format(perturbation.change))
    return PerturbedText(copy, name, seed, tuple(sorted(edits, key=lambda e: e.position)))


NOTHING = (
    "The text has nothing to change so that {}. Choose another perturbation for texts like it."
)


def check_can_perturb(text: str, perturbation: Perturbation, other: str) -> None:
    """Raise `InvalidInput` if a change would not be visible, or not be possible."""
    spaced = has_spaces(text)
    passages, least = (words_of(text), MIN_WORDS) if spaced else (LETTER.findall(text), MIN_LETTERS)
    if len(passages) < least:
        raise InvalidInput(
            "text_too_short",
            f"The text has fewer than {least} {'words' if spaced else 'letters'}, so a change of it"
            " would be all of it. Leave it out.",
        )
    if perturbation.level == "words" and not spaced:
        raise InvalidInput(
            "no_spaces",
            "The text's script puts no spaces between words, so its words are not known. Choose"
            " perturbations of characters or sentences.",
        )
    is_of_sentences = perturbation.level == "sentences" and perturbation.kind != "answer"
    halves = perturbation.kind == "replacement" and perturbation.degree == "major"
    least = MIN_HALVED if halves else MIN_SENTENCES
    if is_of_sentences and len(sentences(text)) < least:
        raise InvalidInput(
            "too_few_sentences",
            f"The text has fewer than {least} sentences. Choose perturbations of characters or"
            " words for texts like it.",
        )
    if perturbation.needs_other_text:
        _check_other(text, other, whole=perturbation.kind == "answer")


def _check_other(text: str, other: str, *, whole: bool) -> None:
    if not other.strip() or other.strip() == text.strip():
        raise InvalidInput(
            "no_other_text",
            "This perturbation takes a passage from another text, and there is none that differs."
            " Use a dataset with more instances.",
        )
    if not whole and len(sentences(other)) < MIN_SENTENCES:
        raise InvalidInput(
            "other_text_too_short",
            f"The other text has fewer than {MIN_SENTENCES} sentences, so it has no passage to take."
            " Use a longer one.",
        )

"""Perturbations of words: words are missing, names and numbers are invented, grammar is broken."""

import re

from tiebreak.perturbations.edits import Draws, Edit, sentences, share_of, words

_DELETED = {"minor": 0.1, "major": 0.4}
_INVENTED = {"minor": 0.34, "major": 1.0}
# Other languages also have words of GRAMMAR, such as was and in, but none of these.
_ENGLISH = {"the", "and"}
_UNGRAMMATICAL = {"minor": 0.15, "major": 0.6}
KEPT_IN_DISORDER = 0.7
# Invented names, which belong to nobody that a text could be about.
NAMES = (
    *("Velmora", "Tarquenth", "Oswindle", "Brandovar", "Kessimer", "Lorthane", "Pellagrin"),
    *("Quindara", "Sorrowick", "Thandrel", "Ulvessa", "Wexcombe", "Yarrowgate", "Zephyrine"),
    *("Almeric", "Corvanth", "Dellimar", "Ferrowyn", "Grenvald", "Halvorsk", "Ingolmar"),
)
# A capitalised word that does not begin a sentence, or several in a row.
_NAME = re.compile(r"[A-ZÀ-ÞΑ-ΩА-Я][\w’'-]*\w(?: [A-ZÀ-ÞΑ-ΩА-Я][\w’'-]*\w)*")
_AFTER_COLON = re.compile(r":\s*$")
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,]*(?<=\d)(?!\w)")
_NO_NAMES = {
    *("I", "The", "A", "An", "It", "He", "She", "We", "They", "You", "This", "That", "These", "In"),
    *("On", "At", "If", "But", "And", "For", "So", "As", "My", "Our", "Your", "His", "Her", "Its"),
    *("I'm", "I've", "I'll", "I'd", "I’m", "I’ve", "I’ll", "I’d", "What", "When", "How", "Why"),
}
# What each word becomes in English that is not grammatical.
GRAMMAR: dict[str, tuple[str, ...]] = {
    "is": ("are", "be"),
    "are": ("is", "be"),
    "was": ("were", "is"),
    "were": ("was", "are"),
    "has": ("have",),
    "have": ("has",),
    "does": ("do",),
    "do": ("does",),
    "had": ("have",),
    "a": ("an",),
    "an": ("a",),
    "he": ("him",),
    "she": ("her",),
    "they": ("them",),
    "we": ("us",),
    "him": ("he",),
    "them": ("they",),
    "their": ("they",),
    "in": ("on", "at"),
    "on": ("in", "at"),
    "at": ("on", "in"),
    "of": ("from", "in"),
    "to": ("at", "for"),
    "for": ("to", "of"),
    "with": ("by", "of"),
    "by": ("with", "from"),
    "from": ("of", "at"),
    "been": ("be",),
    "be": ("been", "being"),
    "who": ("which",),
    "which": ("who",),
    "this": ("these",),
    "these": ("this",),
    "those": ("that",),
    "many": ("much",),
    "much": ("many",),
    "can": ("cans",),
    "will": ("wills",),
    "not": ("no",),
}


def deleted_words(text: str, degree: str, draws: Draws) -> list[Edit]:
    """Delete words at random, with the space before them: one in ten, or four."""
    in_order = words(text)
    edits: list[Edit] = []
    for word in draws.some(in_order, share_of(len(in_order), _DELETED[degree])):
        edits.append(_without(text, word, after=edits[-1].end if edits else 0))
    return edits


def _without(text: str, word: Edit, *, after: int) -> Edit:
    """Return an edit that deletes a word and a space: the one before it, unless it begins a line.

    Passages before ``after`` are deleted already.
    """
    start, end = word.position, word.end
    before = text[after:start]
    if before.endswith(" ") and not before.rstrip(" ").endswith(("\n", "-", ".", "#")):
        start -= 1
    elif text[end : end + 1] == " ":
        end += 1
    return Edit(start, text[start:end], "")


def fictional_entities(text: str, degree: str, draws: Draws) -> list[Edit]:
    """Replace a third of the names and numbers, or all of them, with invented ones.

    A name becomes the same invented name wherever it occurs.
    """
    starts = {word.position for word in words(text)}
    # Without those that number the items of a list.
    found = [m for m in _NUMBER.finditer(text) if m.start() in starts]
    numbers = [Edit(m.start(), m[0], "") for m in found]
    passages = sorted([*_names(text), *numbers], key=lambda passage: passage.position)
    distinct = list(dict.fromkeys(passage.before for passage in passages))
    chosen = draws.some(distinct, share_of(len(distinct), _INVENTED[degree]))
    names = draws.shuffled(NAMES)
    invented = {
        entity: _other_number(entity, draws) if entity[0].isdigit() else names[number % len(names)]
        for number, entity in enumerate(chosen)
    }
    return [
        Edit(passage.position, passage.before, invented[passage.before])
        for passage in passages
        if passage.before in invented
    ]


def _names(text: str) -> list[Edit]:
    """Return capitalised words, without the first word of a sentence or after a colon."""
    starts = {sentence.position for sentence in sentences(text)}
    names = []
    for match in _NAME.finditer(text):
        position, name = match.start(), match[0]
        if position in starts or _AFTER_COLON.search(text[:position]):
            first, _, name = name.partition(" ")
            position += len(first) + 1
        if name and name not in _NO_NAMES:
            names.append(Edit(position, name, ""))
    return names


def _other_number(number: str, draws: Draws) -> str:
    """Return a number that looks alike: other digits, of which the first is not 0; or another year."""
    if _YEAR.fullmatch(number):
        return number[:2] + _other_number(f"1{number[2:]}", draws)[1:]
    return "".join(
        draws.one([d for d in ("0123456789" if i else "123456789") if d != c]) if c.isdigit() else c
        for i, c in enumerate(number)
    )


def grammatical_errors(text: str, degree: str, draws: Draws) -> list[Edit]:
    """Replace English function words with wrong ones: few of them, or most.

    A text without the words "the" and "and" is taken not to be in English, and stays as it is.
    """
    in_order = words(text)
    if not _ENGLISH & {word.before.lower() for word in in_order}:
        return []
    passages = [word for word in in_order if word.before.lower() in GRAMMAR]
    chosen = draws.some(passages, share_of(len(passages), _UNGRAMMATICAL[degree]))
    wrong = [draws.one(GRAMMAR[p.before.lower()]) for p in chosen]
    return [
        Edit(p.position, p.before, other.capitalize() if p.before[0].isupper() else other)
        for p, other in zip(chosen, wrong, strict=True)
    ]


def disorder(text: str, _: str, draws: Draws) -> list[Edit]:
    """Shuffle the sentences, shuffle the words within each of them, and drop three words in ten.

    Lines, and what begins an item of a list, stay where they are.
    """
    passages, edits = sentences(text), []
    for passage, source in zip(passages, draws.shuffled(passages), strict=True):
        in_order = source.before.split()
        left = draws.shuffled(in_order)[: share_of(len(in_order), KEPT_IN_DISORDER)]
        edits.append(Edit(passage.position, passage.before, " ".join(left)))
    return edits

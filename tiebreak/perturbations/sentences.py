"""Perturbations of sentences: their order, and sentences of another text among them or in their place."""

from tiebreak.perturbations.edits import MARKER, Draws, Edit, sentences


def reordered(text: str, degree: str, draws: Draws) -> list[Edit]:
    """Swap two neighbouring sentences, or put all of them into another order."""
    passages = sentences(text)
    order = list(range(len(passages)))
    if degree == "minor":
        different = [i for i in order[1:] if passages[i].before != passages[i - 1].before]
        if different:
            second = draws.one(different)
            order[second - 1], order[second] = second, second - 1
    else:
        # Moving a shuffled order on by one passage leaves no sentence where it was.
        shuffled = draws.shuffled(order)
        for here, there in zip(shuffled, [*shuffled[1:], shuffled[0]], strict=True):
            order[here] = there
    return [
        Edit(passage.position, passage.before, passages[source].before)
        for passage, source in zip(passages, order, strict=True)
        if passage.before != passages[source].before
    ]


def inserted(text: str, degree: str, draws: Draws, other: str) -> list[Edit]:
    """Insert a sentence of another text, or one after every second sentence."""
    passages, foreign = sentences(text), sentences(other)
    n = 1 if degree == "minor" else max(2, len(passages) // 2)
    after = draws.some(passages, n)
    added = draws.some(foreign, len(after))
    return [
        Edit(passage.end, "", f"{_joint(text)}{sentence.before}")
        for passage, sentence in zip(after, added, strict=False)
    ]


def replaced(text: str, degree: str, draws: Draws, other: str) -> list[Edit]:
    """Put a sentence of another text, about as long, in the place of one, or of every second sentence."""
    passages = sentences(text)
    known = {passage.before for passage in passages}
    foreign = sorted({s.before for s in sentences(other)} - known)
    edits = []
    for passage in draws.some(passages, 1 if degree == "minor" else max(2, len(passages) // 2)):
        if foreign:
            nearest = min(foreign, key=lambda one: abs(len(one) - len(passage.before)))
            foreign.remove(nearest)
            edits.append(Edit(passage.position, passage.before, nearest))
    return edits


def other_ending(text: str, degree: str, _: Draws, other: str) -> list[Edit]:
    """Replace the last sentence, or the second half, with the ending of another text."""
    passages = sentences(text)
    n = 1 if degree == "minor" else (len(passages) + 1) // 2
    start = passages[-n - 1].end
    ending = text[start:]
    gap = ending[: len(ending) - len(ending.lstrip())]
    foreign = _ending_of(other, n)
    is_list = "\n" not in gap and MARKER.match(foreign)
    return [Edit(start, ending, ("\n" if is_list else gap) + foreign)]


def _ending_of(text: str, n: int) -> str:
    """Return the last ``n`` sentences of a text, or all of it if it has no more."""
    passages = sentences(text)
    ending = text[passages[-n - 1].end if n < len(passages) else 0 :].strip()
    return MARKER.sub("", ending, count=1) if n == 1 else ending


def other_text(text: str, _: str, __: Draws, other: str) -> list[Edit]:
    """Replace the whole text with another text."""
    return [Edit(0, text, other)]


def _joint(text: str) -> str:
    """Return what stands between two sentences: nothing in scripts whose full stop is wide."""
    return "" if any(stop in text for stop in "。！？") else " "

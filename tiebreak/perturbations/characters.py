"""Perturbations of characters: letters are missing, or typed wrongly."""

from collections import Counter
from itertools import accumulate

from tiebreak.perturbations.edits import LETTER, Draws, Edit, share_of

# The keys next to each letter's key on a keyboard with the layout QWERTY.
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_DELETED = {"minor": 0.02, "major": 0.15}
_TYPED_WRONGLY = {"minor": 0.02, "major": 0.12}
_LEAST = {"minor": 2, "major": 6}


def deleted_letters(text: str, degree: str, draws: Draws) -> list[Edit]:
    """Delete letters at random: two in a hundred, or fifteen.

    Every word keeps at least one letter, since a missing word is damage of another kind.
    """
    letters = list(LETTER.finditer(text))
    n = share_of(len(letters), _DELETED[degree], least=_LEAST[degree])
    # The number of each letter's word; a word is letters without anything between them.
    ends = [0, *(letter.end() for letter in letters)]
    begins = (letter.start() != end for letter, end in zip(letters, ends, strict=False))
    words = list(accumulate(begins))
    left = Counter(words)
    deleted: set[int] = set()
    for index in draws.shuffled(range(len(letters))):
        if len(deleted) < n and left[words[index]] > 1:
            left[words[index]] -= 1
            deleted.add(index)
    return [Edit(letters[index].start(), letters[index][0], "") for index in sorted(deleted)]


def typos(text: str, degree: str, draws: Draws) -> list[Edit]:
    """Make typing mistakes: two letters swapped, one typed twice, or the key next to it hit.

    A letter that no key of a Latin keyboard has is swapped or typed twice.
    """
    letters = list(LETTER.finditer(text))
    n = share_of(len(letters), _TYPED_WRONGLY[degree], least=_LEAST[degree])
    edits, end = [], 0
    for letter in draws.some(letters, n):
        edit = _typo(text, letter.start(), letter[0], draws)
        if edit.position >= end:  # the edit before may have swapped this letter
            edits.append(edit)
            end = edit.end
    return edits


def _typo(text: str, position: int, letter: str, draws: Draws) -> Edit:
    following = LETTER.match(text, position + len(letter))
    kind = draws.one(("swapped", "doubled", "beside"))
    if kind == "swapped" and following and following[0].lower() != letter.lower():
        return _swapped(position, letter, following[0])
    beside = _beside(letter)
    if (kind == "doubled" and not letter.isupper()) or not beside:
        return Edit(position, letter, letter * 2)
    return Edit(position, letter, draws.one(beside))


def _swapped(position: int, letter: str, following: str) -> Edit:
    """Swap two letters; a capital stays the first."""
    first, second = following, letter
    if letter.isupper() and not following.isupper():
        first, second = following.upper(), letter.lower()
    return Edit(position, letter + following, first + second)


def _beside(letter: str) -> str:
    """Return the letters next to a letter on the keyboard, or "" for other scripts."""
    for row in _ROWS:
        at = row.find(letter.lower())
        if at >= 0:
            keys = row[max(at - 1, 0) : at] + row[at + 1 : at + 2]
            return keys.upper() if letter.isupper() else keys
    return ""

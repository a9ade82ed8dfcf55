"""Texts that are hardly what a system wrote, and systems that their lengths, beginnings or endings tell apart.

What is named is worth a look: a model may have answered so. Only what is rare in the texts of a system
is odd.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import sqrt
from statistics import median

from tiebreak.digits import in_digits
from tiebreak.nonresponse import is_missing

# Enough to see what a system does, in memory that does not grow with the file.
MAX_TEXTS = 100_000
MIN_TEXTS = 10
EXAMPLES = 3
ERROR, SHORT, SAME = "error", "short", "same"
KINDS = {
    ERROR: ("an error of a program or an empty answer", "errors of a program or empty answers"),
    SHORT: ("far shorter than others of its system", "far shorter than others of their system"),
    SAME: ("the same for several instances", "the same for several instances"),
}
# A short text tells nothing of a program where all texts are short.
LONG_ENOUGH = 40
MAX_ERROR = 400
MANY_TIMES_SHORTER, TIMES_SHORTER = 12, 4
RARE = 0.05
MANY_INSTANCES, MAX_REPEATED = 3, 2
# A length ratio above which annotators of most studies can tell two systems apart.
MAX_LENGTH_RATIO = 1.5
# A trait tells a system if its share is so much above the others', and by more than chance explains.
MIN_GAP, STANDARD_ERRORS = 0.25, 3
EDGE_WORDS = 3
CUT_BY_DOTS, CUT_OFF = "end in “…”", "end in the middle of a sentence"
_ITEM = re.compile(r"\s*(?:[-*•]|\d+[.)])\s")
_CLOSING = "\"'”’»)]*_ "
_ERROR = re.compile(
    r"[\[<(*]*\s*(?:error\b\s*(?:[:\]>)]|code\b|\d{3}|$)|traceback \(most recent call last\)"
    r"|(?:\w+\.)*\w*(?:error|exception)\b\s*[:(]|exception:|internal server error|bad gateway"
    r"|(?:api |server )?(?:request|connection|generation) (?:failed|timed out|timeout|error|refused)"
    r"|time(?:d )?out\b\s*(?:error|exceeded|[:.\])]|$)|rate limit(?! ?ing)\b|too many requests|http(?: error)? [45]\d\d"
    r"|(?:api|server) error|service unavailable|content[ _-]?filter|content_policy_violation"
    r"|(?:response|output|content|answer) (?:blocked|removed|filtered|unavailable)\b"
    r"|max(?:imum)? retries exceeded|failed to (?:generate|fetch|get|connect)"
    r"|cuda out of memory|out of memory\b|no (?:response|output|answer)\W*$"
    r'|\{\s*"(?:error|detail)"\s*:)',
    re.IGNORECASE,
)


@dataclass(frozen=True)
class OddText:
    """A text that is worth a look: whose it is, and of which kind of `KINDS`."""

    instance: str
    system: str
    kind: str


@dataclass(frozen=True)
class Telltale:
    """What is frequent in the texts of one system and rare in others': in `n` of `of` texts."""

    system: str
    trait: str
    n: int
    of: int
    others: int
    of_others: int

    @property
    def is_clear(self) -> bool:
        """Whether the shares differ by much, and by more than chance explains."""
        if min(self.of, self.of_others) < MIN_TEXTS:
            return False
        gap = self.n / self.of - self.others / self.of_others
        pooled = (self.n + self.others) / (self.of + self.of_others)
        error = sqrt(pooled * (1 - pooled) * (1 / self.of + 1 / self.of_others))
        return gap >= MIN_GAP and gap >= STANDARD_ERRORS * error

    def says_more_than(self, other: "Telltale") -> bool:
        """Whether the other has words of the same beginning or ending, for fewer texts, or fewer words."""
        (of, _, words), (of_other, _, others) = (x.trait.partition("“") for x in (self, other))
        words, others = words.removesuffix("”"), others.removesuffix("”")
        is_same = (self.system, of) == (other.system, of_other)
        is_more = (self.n, len(words)) > (other.n, len(others))
        return is_same and is_more and (words in others or others in words)

    def __str__(self) -> str:
        return (
            f"{self.n:,} of {self.of:,} texts of {self.system} {self.trait} ({self.others:,} of"
            f" {self.of_others:,} of others)"
        )


class OddTexts:
    """Looks at texts one after the other.

    Examples
    --------
    >>> texts = OddTexts()
    >>> for k in range(12):
    ...     texts.add(f"i{k}", "s", f"A sentence of more than forty characters about the number {k}.")
    >>> texts.add("i12", "s", "ERROR: rate limit")
    >>> texts.found()
    [OddText(instance='i12', system='s', kind='error')]
    """

    def __init__(self) -> None:
        self._texts: list[tuple[str, str, int, int]] = []
        self._errors: set[int] = set()
        self._traits: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, instance: str, system: str, text: str) -> None:
        """Look at a text of a system for an instance."""
        if len(self._texts) >= MAX_TEXTS:
            return
        text = text.strip()
        if is_error(text):
            self._errors.add(len(self._texts))
        self._texts.append((instance, system, len(text), hash(text)))
        self._traits[system].update(_traits_of(text))

    @property
    def lengths(self) -> dict[str, list[int]]:
        """Characters of each text, by system."""
        lengths: dict[str, list[int]] = defaultdict(list)
        for _, system, length, _ in self._texts:
            lengths[system].append(length)
        return lengths

    @property
    def _usual(self) -> dict[str, float]:
        """The usual length of a system's texts, if there are enough to know it."""
        lengths = self.lengths.items()
        return {system: median(of) for system, of in lengths if len(of) >= MIN_TEXTS}

    @property
    def wordy(self) -> frozenset[str]:
        """The systems whose texts are usually so long that an error is none of their answers."""
        return frozenset(system for system, n in self._usual.items() if n >= LONG_ENOUGH)

    def errors(self) -> list[int]:
        """Return the numbers of the texts that are what a program writes that got no answer."""
        wordy = self.wordy
        return sorted(k for k in self._errors if self._texts[k][1] in wordy)

    def found(self) -> list[OddText]:
        """Return the odd texts in their order, each with the first kind that it is of."""
        usual = self._usual
        kinds = self._short(usual) | self._same(usual) | dict.fromkeys(self.errors(), ERROR)
        return [OddText(*self._texts[k][:2], kinds[k]) for k in sorted(kinds)]

    def sentences(self, named: Callable[[str], str] = "instance {}".format) -> Iterator[str]:
        """Say which texts are odd, and whether lengths tell systems apart; ``named`` names an instance."""
        if found := self.found():
            yield f"Worth a look: {told(found, named)}."
        if gap := length_gap(self.lengths):
            yield gap
        if tells := self.telltales():
            yield telling(tells)

    def telltales(self) -> list[Telltale]:
        """Return how texts of one system begin or end, and hardly any of the others.

        Of two beginnings with words in common, it is that of more texts, or else the longer one.
        """
        n = Counter(system for _, system, _, _ in self._texts)
        total = sum(self._traits.values(), Counter())
        found = (
            Telltale(system, trait, k, n[system], total[trait] - k, n.total() - n[system])
            for system, traits in self._traits.items()
            for trait, k in traits.most_common()
            if k >= MIN_GAP * n[system]
        )
        clear = [one for one in found if one.is_clear]
        return [one for one in clear if not any(other.says_more_than(one) for other in clear)]

    def _short(self, usual: Mapping[str, float]) -> dict[int, str]:
        """Return the texts that are far shorter than their system's others, and than others' of the instance."""
        shortest: dict[str, dict[str, int]] = defaultdict(dict)
        for instance, system, length, _ in self._texts:
            of = shortest[instance]
            of[system] = min(length, of.get(system, length))
        low = {name: sorted(of)[len(of) // 10] for name, of in self.lengths.items()}
        short: dict[str, list[int]] = defaultdict(list)
        for k, (instance, system, length, _) in enumerate(self._texts):
            others = [n for name, n in shortest[instance].items() if name != system]
            is_short = MANY_TIMES_SHORTER * length <= usual.get(system, 0)
            # Where a tenth of a system's answers are short, a short one is an answer, too.
            is_short = is_short and max(LONG_ENOUGH, TIMES_SHORTER * length) <= low[system]
            if is_short and all(n > TIMES_SHORTER * length for n in others):
                short[system].append(k)
        n = Counter(system for _, system, _, _ in self._texts)
        rare = (ks for system, ks in short.items() if len(ks) <= max(1, RARE * n[system]))
        return {k: SHORT for ks in rare for k in ks}

    def _same(self, usual: Mapping[str, float]) -> dict[int, str]:
        """Return the texts that a system has for several instances, where hardly any other repeats."""
        instances: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for instance, system, _, content in self._texts:
            instances[system][content].add(instance)
        repeated = {
            (system, content)
            for system, by_content in instances.items()
            if usual.get(system, 0) >= LONG_ENOUGH
            and sum(len(of) > 1 for of in by_content.values()) <= MAX_REPEATED
            for content, of in by_content.items()
            if len(of) >= MANY_INSTANCES
        }
        return {k: SAME for k, text in enumerate(self._texts) if (text[1], text[3]) in repeated}


def _traits_of(text: str) -> Iterator[str]:
    """Yield how a text begins and ends, if it has sentences."""
    if len(text) < LONG_ENOUGH:
        return
    words = text.split()
    edges = (EDGE_WORDS - 1, EDGE_WORDS) if len(words) > 2 * EDGE_WORDS else ()
    yield from (f"begin with “{' '.join(words[:n])}”" for n in edges)
    end = text.rstrip(_CLOSING)
    if end.endswith(("…", "...")):
        yield CUT_BY_DOTS
    elif (text[-1].isalnum() or text[-1] in ",-–—") and not _ends_as_its_list(text):
        yield CUT_OFF
    else:
        yield from (f"end with “{' '.join(words[-n:])}”" for n in edges)


def _ends_as_its_list(text: str) -> bool:
    """Whether a text ends with a list of which the item before has no full stop either."""
    before, last = ["", *filter(str.strip, text.splitlines())][-2:]
    return all(map(_ITEM.match, (before, last))) and before.rstrip()[-1].isalnum()


def telling(tells: Sequence[Telltale]) -> str:
    """Say by what annotators can tell systems apart."""
    listed, more = "; ".join(map(str, tells[:EXAMPLES])), "; …" if len(tells) > EXAMPLES else ""
    return f"{listed}{more}: annotators learn from that which system wrote a text."


def is_error(text: str) -> bool:
    """Whether a text is what a program writes that got no answer."""
    return (
        not text
        or is_missing(text)
        or (len(text) <= MAX_ERROR and _ERROR.match(text) is not None)
        or text.startswith("Traceback (most recent call last)")
    )


def told(found: Sequence[OddText], named: Callable[[str], str] = "instance {}".format) -> str:
    """Say how many texts of which kind there are, and of which instances."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for text in found:
        by_kind[text.kind].append(f"{named(text.instance)} by {text.system}")
    parts = []
    for kind, (one, several) in KINDS.items():
        if names := [*dict.fromkeys(by_kind[kind])]:
            n, more = len(by_kind[kind]), "…" if len(names) > EXAMPLES else ""
            verb = f"1 text is {one}" if n == 1 else f"{n:,} texts are {several}"
            parts.append(f"{verb} ({', '.join(islice(names, EXAMPLES))}{more})")
    return "; ".join(parts)


def length_gap(lengths: Mapping[str, Sequence[int]]) -> str:
    """Say that texts of one system are much longer than another's, or return ""."""
    medians = sorted((median(of), name) for name, of in lengths.items() if len(of) >= MIN_TEXTS)
    if len(medians) < 2:
        return ""
    (short, short_name), (long, long_name) = medians[0], medians[-1]
    if long <= MAX_LENGTH_RATIO * short:
        return ""
    ratio = f"{in_digits(long / short)} times as long as" if short else "longer than"
    return (
        f"The texts of {long_name} are {ratio} the texts of {short_name} (medians of {long:g} and"
        f" {short:g} characters), so annotators can tell them apart, and a preference for longer"
        " texts would look like a preference for the system."
    )

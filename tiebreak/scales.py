"""Scales: the labels that a criterion allows, and their level of measurement."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Self

from tiebreak.errors import InvalidInput
from tiebreak.field_docs import list_fields
from tiebreak.nonresponse import UNCLEAR, WORDS, is_missing

Kind = Literal["nominal", "ordinal", "interval", "ratio", "preference"]
Level = Literal["nominal", "ordinal", "interval", "ratio"]
Label = int | float | str

BAD = "bad"
MAX_POINTS = 101

# Numbers as Excel shows them in much of the world, and shares: 3,5 and 85%.
_OTHER_NUMBER = re.compile(r"[-+]?[\d.,]*\d[\d.,]*\s*%?")
# Labels of yes/no questions and of forced choices, which are names and no amounts.
CODINGS = ({0, 1}, {1, 2})
# Whole numbers that span more points were chosen on a slider.
MAX_INFERRED_POINTS = 21

# Words whose order nobody doubts, from the lowest to the highest: a list for each language and kind, with
# other words for the same rung, and a question mark before rungs that many questionnaires lack.
_LADDERS = tuple(
    tuple(tuple(rung.strip().split("|")) for rung in ladder.split("<"))
    for ladder in (
        "strongly disagree < somewhat disagree|slightly disagree < neutral|neither agree nor disagree|neither"
        " < somewhat agree|slightly agree < strongly agree",
        "strongly disagree|completely disagree|totally disagree < disagree < ?somewhat disagree|slightly"
        " disagree < neutral|neither agree nor disagree|neither|undecided < ?somewhat agree|slightly agree"
        " < agree < strongly agree|completely agree|totally agree",
        "?terrible < ?very poor|very bad < poor|bad < fair|average|ok|okay|acceptable|neutral < good < ?very good"
        " < ?excellent",
        "?very low < low < medium|moderate < high < ?very high",
        "never < rarely|seldom < sometimes|occasionally < often|frequently < always",
        "not at all < slightly|a little < moderately|somewhat < very|very much < ?extremely",
        "no < partly|partially < yes",
        "very difficult < difficult < neutral < easy < very easy",
        "stimme überhaupt nicht zu|stimme gar nicht zu < stimme nicht zu|stimme eher nicht zu < weder noch|"
        "teils teils|neutral < stimme zu|stimme eher zu < stimme voll zu|stimme voll und ganz zu",
        "?sehr schlecht < schlecht < mittel|befriedigend < gut < ?sehr gut",
        "niedrig < mittel < hoch",
        "pas du tout d'accord < pas d'accord|plutôt pas d'accord < neutre|ni d'accord ni pas d'accord"
        " < d'accord|plutôt d'accord < tout à fait d'accord",
        "faible < moyen < élevé",
        "非常不同意 < 不同意 < 中立|一般 < 同意 < 非常同意",
        "低 < 中 < 高",
    )
)
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})", re.ASCII)
TIE_WORDS, BAD_WORDS = "No preference", "Both are bad"


@dataclass(frozen=True)
class Preference:
    """A preference scale. An entry in `PREFERENCES` is all that a new one needs.

    See Also
    --------
    Scale.parse : Read a scale from its specification.

    Examples
    --------
    >>> Preference(("is better",)).points
    (-1, 0, 1)
    """

    strengths: tuple[str, ...]
    """What annotators read after the name of the better side, from the weakest
    preference to the strongest."""
    has_tie: bool = True
    """Whether annotators may have no preference."""

    @property
    def level(self) -> Level:
        """The level of measurement: strengths have an order, a bare choice has none."""
        return "ordinal" if len(self.strengths) > 1 else "nominal"

    @property
    def points(self) -> tuple[int, ...]:
        """The labels, from the strongest preference for system A to that for system B."""
        most = len(self.strengths)
        return tuple(n for n in range(-most, most + 1) if n or self.has_tie)


PREFERENCES = {
    "preference": Preference(("is better",), has_tie=False),
    "preference:tie": Preference(("is better",)),
    "preference:5": Preference(("is slightly better", "is much better")),
    "preference:7": Preference(("is slightly better", "is better", "is much better")),
}
_ALLOWED = (
    f"{', '.join(PREFERENCES)} (each may end in +bad), "
    "nominal:a,b, ordinal:1..5, ordinal:low,medium,high, interval:1..5, interval, ratio"
)


@dataclass(frozen=True)
class Scale:
    """The labels that a criterion allows, and their level of measurement.

    See Also
    --------
    infer_scale : Infer a scale from labels.

    Examples
    --------
    >>> Scale.parse("preference:5+bad").labels
    (-2, -1, 0, 1, 2, 'bad')
    >>> Scale.parse("ordinal:1..5").parse_label("4")
    4
    """

    spec: str
    """Specification of the scale, such as ``"ordinal:1..5"`` or ``"preference:tie"``."""
    kind: Kind
    """Family of the scale."""
    level: Level
    """Level of measurement that the statistics assume."""
    labels: tuple[Label, ...] | None
    """Labels in the order of the scale; None if any number is allowed."""
    bad: bool = False
    """Whether annotators may answer "both bad". This is the last label; it has no place in the
    order of the others, so statistics that use the order leave it out."""

    @classmethod
    def parse(cls, spec: str) -> Self:
        """Read a scale from its specification.

        Parameters
        ----------
        spec : str
            ``nominal:a,b``, ``ordinal:1..5``, ``ordinal:low,medium,high``, whose words are the
            points 1 to 3, ``interval:1..5``, ``interval``, ``ratio``, or the name of a preference
            scale in `PREFERENCES`, which may end in ``+bad``.

        Returns
        -------
        Scale
            The scale.

        Raises
        ------
        InvalidInput
            If the specification is not one of these. The message lists them.

        Examples
        --------
        >>> Scale.parse("preference:tie").labels
        (-1, 0, 1)
        """
        if not isinstance(spec, str):
            raise InvalidInput(
                "scale_not_text", f"A scale must be text, not {spec!r}. Write one of: {_ALLOWED}."
            )
        text = spec.strip()
        base, plus, extra = text.partition("+")
        if base in PREFERENCES and (not plus or extra == BAD):
            return cls._preference(text, base, bad=bool(plus))
        kind, _, rest = text.partition(":")
        reader = _READERS.get(kind)
        if reader is None:
            raise InvalidInput(
                "unknown_scale", f"The scale {spec!r} is unknown. Write one of: {_ALLOWED}."
            )
        level, labels = reader(text, rest)
        return cls(text, level, level, labels)

    @classmethod
    def _preference(cls, text: str, base: str, *, bad: bool) -> Self:
        scale = PREFERENCES[base]
        labels: tuple[Label, ...] = (*scale.points, BAD) if bad else scale.points
        return cls(text, "preference", scale.level, labels, bad)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of an ordinal scale from the lowest to the highest, which are its points from 1 up."""
        names = self.spec.partition(":")[2].split(",")
        is_worded = self.kind == "ordinal" and len(names) > 1
        return tuple(name.strip() for name in names) if is_worded else ()

    @property
    def order_labels(self) -> tuple[Label, ...] | None:
        """The labels that have an order, which are all except "both bad"."""
        if self.labels is None or not self.bad:
            return self.labels
        return self.labels[:-1]

    def side_of(self, label: Label) -> int:
        """Return −1 or +1 for the side that a label prefers, or 0 if it prefers none.

        Parameters
        ----------
        label : int, float or str
            A label of the scale.

        Returns
        -------
        int
            −1 for the first text or system A, +1 for the second text or system B.

        Examples
        --------
        >>> Scale.parse("preference:5").side_of(-2)
        -1
        """
        if self.kind != "preference" or label == BAD:
            return 0
        return (int(label) > 0) - (int(label) < 0)

    def words_for(self, label: Label) -> str:
        """Return what annotators read on the button of a label, without the name of the side.

        Parameters
        ----------
        label : int, float or str
            A label of the scale.

        Returns
        -------
        str
            The words. On other scales this is the label itself, unless its points have words.

        Examples
        --------
        >>> Scale.parse("preference:5").words_for(2)
        'is much better'
        """
        if self.kind != "preference":
            return self.words[int(label) - 1] if self.words else str(label)
        if label == BAD:
            return BAD_WORDS
        if label == 0:
            return TIE_WORDS
        base = self.spec.strip().partition("+")[0]
        return PREFERENCES[base].strengths[abs(int(label)) - 1]

    def short_name(self, label: Label) -> str:
        """Return the name of a label in figures and tables.

        Parameters
        ----------
        label : int, float or str
            A label of the scale.

        Returns
        -------
        str
            For a preference the letter of the system, repeated by its strength; ``"tie"`` or
            ``"both bad"``. Labels of other scales are their own names, or have words.

        Examples
        --------
        >>> [Scale.parse("preference:5+bad").short_name(label) for label in (-2, 0, 1, "bad")]
        ['AA', 'tie', 'B', 'both bad']
        """
        if self.kind != "preference":
            return self.words_for(label)
        if label == BAD:
            return "both bad"
        return ("A" if int(label) < 0 else "B") * abs(int(label)) or "tie"

    def parse_label(self, value: object) -> Label:
        """Convert a value to a label of the scale.

        Parameters
        ----------
        value : object
            A label. Numbers may be given as text, such as "-1" or "4.0". Nominal labels are
            compared as text.

        Returns
        -------
        int, float or str
            The equal label in `labels`, or a float if the scale allows any number.

        Raises
        ------
        InvalidInput
            If the value is not on the scale. The message says which labels are.

        Examples
        --------
        >>> Scale.parse("preference").parse_label("1.0")
        1
        """
        if self.kind == "nominal":
            text = _as_text(value)
            return self._member(text if text in (self.labels or ()) else _plain(text), value)
        if self.bad and value == BAD:
            return BAD
        if value in self.words:
            return self.words.index(str(value)) + 1
        number = _as_number(value)
        if number is None:
            raise InvalidInput(
                "label_not_a_number",
                f"The label {value!r} is not a number, but the scale is {self.spec}.",
            )
        if self.labels is not None:
            return self._member(number, value)
        if self.level == "ratio" and number < 0:
            raise InvalidInput(
                "label_negative", f"The label {value!r} is negative, but a ratio scale starts at 0."
            )
        return float(number)

    def _member(self, label: Label, value: object) -> Label:
        for allowed in self.labels or ():
            if allowed == label:
                return allowed
        names = ", ".join(self.words or map(str, self.labels or ()))
        raise InvalidInput(
            "label_not_on_scale",
            f"The label {value!r} is not on the scale {self.spec}. Use one of: {names}.",
        )


def infer_scale(labels: Iterable[object], criterion: str, *, compares: bool = False) -> Scale:
    """Infer a scale from all labels of one criterion.

    Parameters
    ----------
    labels : iterable of object
        All labels of the criterion. Missing labels (None, and marks such as "NA") are ignored.
    criterion : str
        Name of the criterion. If it is ``preference``, all preference scales with ties are
        considered, with or without "bad".
    compares : bool, default False
        Whether the ratings name two systems, so 0 and 1 are a tie and system B.

    Returns
    -------
    Scale
        ``preference:tie`` if all labels are −1, 0 or 1 and one of them is −1 or ``compares`` holds,
        or if a criterion named ``preference`` has no labels; a nominal scale for 0 and 1, and for 1
        and 2; ``ordinal:min..max`` for other whole numbers of at most 21 points; ``interval`` for
        other numbers; ``ordinal`` with their words for labels whose order is beyond doubt, such as
        low, medium and high; otherwise a nominal scale with the labels sorted as text.

    Raises
    ------
    InvalidInput
        If there are no labels to infer the scale from, or if it is not clear what they are.

    See Also
    --------
    Scale.parse : Read a scale from its specification.

    Examples
    --------
    >>> infer_scale([1, 4, 5, None], "fluency").spec
    'ordinal:1..5'
    """
    distinct = {_plain(_as_text(label)) for label in labels if label is not None}
    distinct = _known(distinct, criterion)
    scale = _infer_preference(distinct, named=criterion == "preference", compares=compares)
    if scale is not None:
        return scale
    if not distinct:
        raise InvalidInput(
            "scale_undeclared",
            f"The scale of {criterion!r} cannot be inferred, because it has no labels."
            " Declare its scale.",
        )
    return _infer_other(distinct)


def _known(distinct: set[str], criterion: str) -> set[str]:
    """Return the labels that mark no missing value; refuse those that may be read in two ways."""
    known = {text for text in distinct if not is_missing(text)}
    words = {text for text in known if _as_number(text) is None}
    unclear = distinct & UNCLEAR
    if words:
        known |= {text for text in distinct - unclear if text.casefold() in WORDS}
    if words and unclear:
        raise InvalidInput(
            "unclear_label",
            f"Among the labels of {criterion!r} is {min(unclear)!r}, which may be a label or a missing"
            " value. Declare the scale with or without it, or leave the cells empty.",
        )
    if odd := {text for text in words if _OTHER_NUMBER.fullmatch(text)}:
        raise InvalidInput(
            "unclear_number",
            f"Among the labels of {criterion!r} is {min(odd)!r}. Write numbers with a point and"
            " without a percent sign, such as 3.5 or 0.85.",
        )
    return known


def _infer_preference(distinct: set[str], *, named: bool, compares: bool) -> Scale | None:
    numbers = {_as_number(text) for text in distinct - {BAD}}
    if None in numbers or not (named or (numbers and BAD not in distinct)):
        return None
    if numbers and -1 not in numbers and not compares:
        return None
    suffix = f"+{BAD}" if BAD in distinct else ""
    candidates = [base for base, scale in PREFERENCES.items() if scale.has_tie]
    for base in candidates if named and -1 in numbers else candidates[:1]:
        if numbers <= set(PREFERENCES[base].points):
            return Scale.parse(base + suffix)
    return None


def _infer_other(distinct: set[str]) -> Scale:
    numbers = [_as_number(text) for text in distinct]
    if None in numbers:
        ladder = ordered_words(distinct)
        if ladder is not None:
            return Scale.parse("ordinal:" + ",".join(ladder))
        names = tuple(sorted(distinct))
        return Scale("nominal:" + ",".join(names), "nominal", "nominal", names)
    if set(numbers) in CODINGS:
        return Scale.parse("nominal:" + ",".join(sorted(distinct)))
    integers = [number for number in numbers if isinstance(number, int)]
    if len(integers) == len(numbers) and 0 < max(integers) - min(integers) < MAX_INFERRED_POINTS:
        return Scale.parse(f"ordinal:{min(integers)}..{max(integers)}")
    return Scale.parse("interval")


def ordered_words(labels: Iterable[str]) -> list[str] | None:
    """Put words in the order that nobody doubts.

    Parameters
    ----------
    labels : iterable of str
        Distinct words, such as low, medium and high, in any case.

    Returns
    -------
    list of str or None
        All words of the scale from the lowest to the highest, also those that are not among the labels;
        None for one label or two single words, or if their order is not known.

    Examples
    --------
    >>> ordered_words(["High", "low", "medium"])
    ['low', 'medium', 'High']
    """
    distinct = set(labels)
    spelled = {" ".join(text.casefold().split()): text for text in distinct}
    # Two single words, such as good and bad, may be all there was to choose from.
    if len(distinct) < (2 if any(" " in word for word in spelled) else 3):
        return None
    for ladder in _LADDERS:
        rungs = [[word.removeprefix("?").strip() for word in rung] for rung in ladder]
        used = [[spelled[word] for word in rung if word in spelled] for rung in rungs]
        if sum(map(len, used)) < len(distinct) or any(len(of_rung) > 1 for of_rung in used):
            continue
        every = zip(ladder, rungs, used, strict=True)
        return [u[0] if u else rung[0] for raw, rung, u in every if u or not raw[0].startswith("?")]
    return None


def _as_text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _plain(text: str) -> str:
    """Return a whole number without what changes nothing in it: "01" and "1.0" are "1"."""
    number = _as_number(text)
    return str(number) if isinstance(number, int) else text


def _as_number(value: object) -> int | float | None:
    """Return a finite number, as an int if it is whole, or None if ``value`` is not one."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


_LevelAndLabels = tuple[Level, tuple[Label, ...] | None]


def _names(spec: str, rest: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in rest.split(","))
    if len(names) < 2 or "" in names:
        raise InvalidInput(
            "too_few_names",
            f"The scale {spec!r} needs two or more labels with commas between them.",
        )
    if len(set(names)) < len(names):
        raise InvalidInput(
            "repeated_label", f"The scale {spec!r} repeats a label. List every label once."
        )
    return names


def _read_ordinal(spec: str, rest: str) -> _LevelAndLabels:
    if "," not in rest:
        return "ordinal", _read_points(spec, rest)
    return "ordinal", tuple(range(1, len(_names(spec, rest)) + 1))


def _read_points(spec: str, rest: str) -> tuple[int, ...]:
    match = _RANGE.fullmatch(rest.strip())
    if match is None:
        raise InvalidInput(
            "ends_missing",
            f"The scale {spec!r} needs a first and a last point, such as"
            f" {spec.partition(':')[0]}:1..5.",
        )
    low, high = int(match[1]), int(match[2])
    if not low < high < low + MAX_POINTS:
        raise InvalidInput(
            "bad_range",
            f"The scale {spec!r} must have a last point above its first, and at most {MAX_POINTS}"
            " points.",
        )
    return tuple(range(low, high + 1))


def _read_ratio(spec: str, rest: str) -> _LevelAndLabels:
    if rest:
        raise InvalidInput(
            "ends_not_taken", f"The scale {spec!r} must not have end points. Write ratio."
        )
    return "ratio", None


_READERS: dict[str, Callable[[str, str], _LevelAndLabels]] = {
    "nominal": lambda spec, rest: ("nominal", _names(spec, rest)),
    "ordinal": _read_ordinal,
    "interval": lambda spec, rest: ("interval", _read_points(spec, rest) if rest else None),
    "ratio": _read_ratio,
}


list_fields(globals())

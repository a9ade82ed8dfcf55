"""How often a judge gave the same verdict when it was sent the same prompt again, test by test."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, F, Value, When

from machine_raters.models import SERVED_BY, Judge, SecondAnswer
from studies.models import Study
from tiebreak.stats import Estimate
from tiebreak.stats.core.proportions import WILSON, wilson_interval


@dataclass(frozen=True)
class Again:
    """A judge's second answers by one criterion: how many, and how many have another verdict."""

    criterion: str
    answers: int
    flips: int
    same: Estimate


@dataclass(frozen=True)
class AskedAgain:
    """A test of a judge's server: the prompts that were sent again, and what came of them.

    A prompt has the same verdict if each criterion that it asks about has: the same label, "cannot
    say" twice, or no readable answer twice. ``word_for_word`` counts the prompts whose answers are equal.
    """

    test: int
    asked_at: str
    servers: tuple[str, ...]
    prompts: int
    word_for_word: int
    same: Estimate
    criteria: tuple[Again, ...]


def asked_again(study: Study, judges: Iterable[Judge]) -> dict[int, list[AskedAgain]]:
    """Return the tests of each of these judges of the study, by key, the newest first."""
    rows = SecondAnswer.objects.filter(verdict__judge__study=study).order_by("pk")
    equal = Case(When(raw=F("verdict__rating__raw"), then=Value(True)), default=Value(False))
    by_test = defaultdict[tuple[int, int], list[dict[str, Any]]](list)
    for row in rows.annotate(
        equal=equal, **{name: F(path) for name, path in _FIRST.items()}
    ).values(*("test", "label", "nonresponse", "created_at", "equal", *_FIRST, *SERVED_BY)):
        by_test[row["judge"], row["test"]].append(row)
    together = {judge.pk: judge.asks_together for judge in judges}
    tests = defaultdict[int, list[AskedAgain]](list)
    for (judge, test), of_test in sorted(by_test.items(), reverse=True):
        if judge in together:
            tests[judge].append(_test(test, of_test, asks_together=together[judge]))
    return tests


_FIRST = {
    "judge": "verdict__judge",
    "criterion": "verdict__rating__criterion__name",
    "place": "verdict__rating__criterion__position",
    "unit": "verdict__rating__unit",
    "order": "verdict__rating__assignment__order",
    "run": "verdict__rating__assignment__run",
    "first_label": "verdict__rating__label",
    "first_nonresponse": "verdict__rating__nonresponse",
}


def _test(test: int, rows: Sequence[dict[str, Any]], *, asks_together: bool) -> AskedAgain:
    prompts, criteria = (
        defaultdict[Any, list[dict[str, Any]]](list),
        defaultdict[Any, list[Any]](list),
    )
    for row in rows:
        about = (row["unit"], row["order"], row["run"], "" if asks_together else row["criterion"])
        prompts[about].append(row)
        criteria[row["place"], row["criterion"]].append(row)
    return AskedAgain(
        test,
        rows[0]["created_at"].isoformat(),
        tuple(dict.fromkeys(server_in_words(row) for row in rows)),
        len(prompts),
        sum(all(row["equal"] for row in of) for of in prompts.values()),
        _share([all(map(_is_same, of)) for of in prompts.values()]),
        tuple(_again(name, of) for (_, name), of in sorted(criteria.items())),
    )


def _again(criterion: str, rows: Sequence[dict[str, Any]]) -> Again:
    same = [_is_same(row) for row in rows]
    return Again(criterion, len(same), same.count(False), _share(same))


def _is_same(row: dict[str, Any]) -> bool:
    first = (row["first_label"], row["first_nonresponse"])
    return first == (row["label"], row["nonresponse"])


def _share(same: Sequence[bool]) -> Estimate:
    low, high = wilson_interval(sum(same), len(same))
    return Estimate(sum(same) / len(same), low, high, n=len(same), method=WILSON)


def server_in_words(row: dict[str, Any]) -> str:
    """Return what is known of the model and server of an answer, which has the fields of `ServedAnswer`."""
    modes = {
        True: "batch-invariant",
        False: "not batch-invariant",
        None: "unknown batch invariance",
    }
    *known, is_invariant = (row[name] for name in SERVED_BY)
    return ", ".join([*filter(None, known), modes[is_invariant]])

"""Checks of the ratings against the log: clocks, and who was left out for which reason."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from tiebreak.verification.export import NOT_OPENED, Export, check, needed
from tiebreak.verification.plan import IN_TASKS
from tiebreak.verification.results import Checked

# By so much two times may differ that the server took for one answer.
SLACK = timedelta(seconds=10)
# Reasons of exclusions: statuses of a participation, and what concerns single answers.
EXCLUDED, OUT = "excluded", ("excluded", "returned", "rejected", "timed_out")
SET_ASIDE, DECLINED = "item set aside", "declined as late"


@check("clocks", "the times of answers")
def clocks(export: Export, findings: Checked) -> None:
    name = export.ratings.name
    latest: dict[str, datetime] = {}
    for part, at, line in export.answers("participation", "at", "line"):
        if at is not None:
            before = latest.get(part, at)
            what, same = f"created_at in participation {part}", at >= before - SLACK
            findings.compare(name, line, what, at, f"{before} or later", same=same)
            latest[part] = max(at, before)
    opened = needed(export.events_of("open"), NOT_OPENED)[0].at
    closed, accepted = list(_closed(export)), [e.at for e in export.events_of("accept-late")]
    columns = ("at", "unit", "role", "late", "duration_ms", "simulated", "line")
    for at, unit, role, late, duration, simulated, line in export.answers(*columns):
        if at is None:
            continue
        what, same = f"created_at of {unit}", at >= opened - SLACK
        findings.compare(name, line, what, at, f"{opened} or later, when it opened", same=same)
        if not (simulated or math.isnan(duration)):  # bots pretend to take their time
            most = max((at - opened + SLACK) / timedelta(milliseconds=1), 0)
            what, same = f"duration_ms of {unit}", 0 <= duration <= most
            findings.compare(name, line, what, duration, f"{most:.0f} or less", same=same)
        if role in ("main", "repeat"):
            may_be = any(start - SLACK <= at <= end + SLACK for start, end in closed)
            must_be = any(start + SLACK <= at <= end - SLACK for start, end in closed)
            same = may_be if late else not must_be or any(at <= when for when in accepted)
            findings.compare(name, line, f"late of {unit} at {at}", late, not late, same=same)


def _closed(export: Export) -> Iterator[tuple[datetime, datetime]]:
    """Yield the times between which the study was closed."""
    changes = [*export.events_of("close", "reopen")]
    for event, after in pairwise([*changes, None]):
        if event is not None and event.verb == "close":
            yield event.at, after.at if after else datetime.max.replace(tzinfo=UTC) - SLACK


@check("exclusions", "exclusions against the log")
def exclusions(export: Export, findings: Checked) -> None:
    name = export.ratings.name
    people = {e.details["annotator"]: e.verb for e in export.events_of("exclude", "reinstate")}
    items = {e.details["item"]: e.verb for e in export.events_of("set-aside", "put-back")}
    status, parts_of = _statuses(export)
    key = ("participation", "unit", "criterion", "repeat", "hit_position", "role")
    left = Counter(export.answers(*key))
    columns = ("rater", "excluded", "excluded_reason", "superseded", "line")
    for answer, (rater, excluded, reason, superseded, line) in zip(
        export.answers(*key), export.answers(*columns), strict=True
    ):
        part, unit, *_, role = answer
        of = f"of {unit} by {rater}"
        left[answer] -= 1
        findings.equal(name, line, f"excluded {of}", excluded, bool(reason))
        same = not superseded or reason == DECLINED or left[answer] > 0
        findings.compare(name, line, f"superseded {of}", True, "followed by another", same=same)
        if role not in IN_TASKS:
            continue
        # By the log, or by the other answers of a participation that ended so.
        expected = status.get(part, "")
        if people.get(rater) == "exclude" and parts_of[rater] == {part}:
            expected = EXCLUDED
        elif expected == EXCLUDED and people.get(rater) != "exclude":
            expected = ""
        if not expected and items.get(unit) == "set-aside":
            expected = SET_ASIDE
        if reason != DECLINED or not export.events_of("decline-late"):
            findings.equal(name, line, f"excluded_reason {of}", reason, expected)


def _statuses(export: Export) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Return the status for which most answers of a participation are excluded, if any is.

    Ending a participation in such a way excludes all of its answers. The second result has the
    participations of each rater.
    """
    reasons: dict[str, Counter[Any]] = defaultdict(Counter)
    parts_of: dict[str, set[str]] = defaultdict(set)
    for rater, part, role, why in export.answers(
        "rater", "participation", "role", "excluded_reason"
    ):
        parts_of[rater].add(part)
        if why in OUT and role in IN_TASKS:
            reasons[part][why] += 1
    return {part: counts.most_common(1)[0][0] for part, counts in reasons.items()}, parts_of

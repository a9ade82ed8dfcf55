"""Checks of the ratings against the log: clocks, and who was left out for which reason."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from tiebreak.verification.export import Export, Findings, check, needed
from tiebreak.verification.plan import NOT_OPENED, NOT_SERVED

# By so much two times may differ that the server took for one answer.
SLACK = timedelta(seconds=10)
# Reasons of exclusions: statuses of a participation, and what concerns single answers.
EXCLUDED, OUT = "excluded", ("excluded", "returned", "rejected", "timed_out")
SET_ASIDE, DECLINED = "item set aside", "declined as late"


@check("clocks", "the times of answers")
def clocks(export: Export, findings: Findings) -> None:
    needed(len(export.served), NOT_SERVED)
    rows, name = export.rows, export.ratings.name
    latest: dict[str, datetime] = {}
    for part, at, line in zip(rows["participation"], export.times, rows["line"], strict=True):
        if at is not None:
            before = latest.get(part, at)
            same = at >= before - SLACK
            what = f"created_at of participation {part}"
            findings.compare(name, line, what, at, f"{before} or later", same=same)
            latest[part] = max(at, before)
    opened = needed(export.events_of("open"), NOT_OPENED)[0].at
    closed, accepted = list(_closed(export)), [e.at for e in export.events_of("accept-late")]
    columns = ("unit", "role", "late", "duration_ms", "simulated", "line")
    for at, unit, role, late, duration, simulated, line in zip(
        export.times, *(rows[column] for column in columns), strict=True
    ):
        if at is None:
            continue
        same = at >= opened - SLACK
        findings.compare(
            name, line, f"created_at of {unit}", at, f"{opened} or later (opened)", same=same
        )
        if not (simulated or math.isnan(duration)):  # bots pretend to take their time
            most = (at - opened + SLACK) / timedelta(milliseconds=1)
            what = f"duration_ms of {unit}"
            same = 0 <= duration <= max(most, 0)
            findings.compare(name, line, what, duration, f"at most {most:.0f}", same=same)
        if role in ("main", "repeat"):
            near = any(start - SLACK <= at <= end + SLACK for start, end in closed)
            inside = any(start + SLACK <= at <= end - SLACK for start, end in closed)
            was_accepted = any(at <= when for when in accepted)
            same = near if late else not inside or was_accepted
            findings.compare(name, line, f"late of {unit} at {at}", late, not late, same=same)


def _closed(export: Export) -> Iterator[tuple[datetime, datetime]]:
    """Yield the times between which the study was closed."""
    start: datetime | None = None
    for event in export.events_of("close", "reopen"):
        if event.verb == "close":
            start = event.at
        elif start is not None:
            yield start, event.at
            start = None
    if start is not None:
        yield start, datetime.max.replace(tzinfo=start.tzinfo) - 2 * SLACK


@check("exclusions", "exclusions against the log")
def exclusions(export: Export, findings: Findings) -> None:
    needed(len(export.served), NOT_SERVED)
    events, rows, name = export.events, export.rows, export.ratings.name
    people = {e.details["annotator"]: e.verb for e in events if e.verb in ("exclude", "reinstate")}
    items = {e.details["item"]: e.verb for e in events if e.verb in ("set-aside", "put-back")}
    status, parts_of = _statuses(export)
    answers = Counter(_answers(export))
    columns = ("unit", "rater", "role", "participation", "excluded", "excluded_reason", "line")
    for answer, superseded, unit, rater, role, part, excluded, reason, line in zip(
        _answers(export), rows["superseded"], *(rows[column] for column in columns), strict=True
    ):
        what = f"of {unit} by {rater}"
        findings.equal(name, line, f"excluded {what}", excluded, bool(reason))
        answers[answer] -= 1
        if superseded and reason != DECLINED:
            later = answers[answer] > 0
            findings.compare(name, line, f"superseded {what}", True, "a later answer", same=later)
        if role not in ("main", "repeat", "gold"):
            continue
        if part in status and reason != DECLINED:
            findings.equal(name, line, f"excluded_reason {what}", reason, status[part])
        elif items.get(unit) == "set-aside":
            findings.compare(name, line, f"excluded {what}", excluded, True, same=bool(excluded))
        if reason == EXCLUDED or (people.get(rater) == "exclude" and parts_of[rater] == {part}):
            logged = people.get(rater) == "exclude"
            same = logged == (reason in (EXCLUDED, DECLINED))
            expected = EXCLUDED if logged else "not excluded, by the log"
            findings.compare(name, line, f"excluded_reason {what}", reason, expected, same=same)
        elif reason == SET_ASIDE:
            same, expected = items.get(unit) == "set-aside", "an item that the log set aside"
            findings.compare(name, line, f"excluded_reason {what}", reason, expected, same=same)
        elif reason == DECLINED:
            same = bool(export.events_of("decline-late"))
            findings.compare(name, line, f"excluded_reason {what}", reason, "logged", same=same)
        elif reason:
            same, expected = reason in OUT, f"one of {', '.join((*OUT, SET_ASIDE, DECLINED))}"
            findings.compare(name, line, f"excluded_reason {what}", reason, expected, same=same)


def _answers(export: Export) -> list[tuple[object, ...]]:
    """Return what tells answers apart, of which a corrected one has the same again."""
    columns = ("participation", "unit", "criterion", "repeat", "hit_position", "role")
    return list(zip(*(export.rows[column] for column in columns), strict=True))


def _statuses(export: Export) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Return the status for which most answers of a participation are excluded, if any is.

    Ending a participation in such a way excludes all of its answers. The second result has the
    participations of each rater.
    """
    rows = export.rows
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    parts_of: dict[str, set[str]] = defaultdict(set)
    columns = ("rater", "participation", "role", "excluded_reason")
    for rater, part, role, reason in zip(*(rows[column] for column in columns), strict=True):
        parts_of[rater].add(part)
        if reason in OUT and role in ("main", "repeat", "gold"):
            reasons[part][reason] += 1
    return {part: counts.most_common(1)[0][0] for part, counts in reasons.items()}, parts_of

"""Hand-written SQL for the two requests that each answer needs: the next unit, and saving.

For queries over this many tables, the ORM took twenty times as long to compile the query as the
database took to answer it. Rows are returned as model instances with only the columns that these
requests need; the other columns are deferred.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from django.db import connection, models

from annotation.models import HIT, Assignment, HITUnit, Participation, Place, Rater, Rating
from annotation.models.rating import EXCLUDING_FLAGS
from jobs.clock import database_now, moment_of, moment_sql
from studies.models import Generation, Instance, Study, Unit, UnitText

Model = TypeVar("Model", bound=models.Model)

STUDY = (
    *("public_id", "title", "status", "abandoned", "lease_minutes", "repeat_distance"),
    *("hits_per_annotator", "hits_per_day", "most_answers", "most_answers_per_day"),
    *("annotators_per_address", "unconfirmed_leases", "comparisons_per_hit", "repeats_per_hit"),
    *("source_format", "generation_format", "source_label", "left_label", "right_label"),
    *("fields", "translation", "comments", "nonresponses", "unlabelled_tasks"),
)
PERSON = (
    *("id", "public_id", "study_id", "rater_id", "status", "order_seed", "simulated", "address"),
    *("warned_at", "paid_per", "consented_version_id"),
)
WORK = (
    *("id", "public_id", "hit_id", "rater_id", "participation_id", "study_version_id"),
    *("status", "parity", "position", "run", "check_unit_id", "opened"),
)
PLACE = ("id", "study_id", "hit_id", "number", "remaining", "assignment_id")
HIT_UNIT = ("id", "hit_id", "unit_id", "repeat", "side_bit")
MOMENTS = ("lease_until", "completed_at")
RATING = (
    *("id", "unit_id", "criterion_id", "repeat", "label", "client_key", "place_id"),
    *("nonresponse", "reason", "excluded_reason", *EXCLUDING_FLAGS),
)


@dataclass(frozen=True)
class Person:
    """A locked participation, with everything needed to decide whether it gets a place.

    `held` is the active assignment that has a place, even if its lease has run out, or if only its
    gold check is open. `hits_started` and
    `hits_completed` count the rater's HITs in this study, `items_opened` the units of completed ones,
    and `hits_total` the study's HITs. `agreed_tasks` is how many they agreed to for their pay, if any.
    `held_unconfirmed` counts the unverified annotators who hold a place now; it is 0 for an
    annotator who has already worked in this study. `last_task` is the public id of the HIT's
    assignment that was completed last in this participation.
    """

    participation: Participation
    study: Study
    held: Assignment | None
    lease_until: datetime | None
    # When the participation was locked, by the database's clock, which all hosts share.
    now: datetime
    check_rate: float
    is_cleared: bool
    held_unconfirmed: int
    hits_completed: int
    items_opened: int
    hits_started: int
    hits_total: int
    agreed_tasks: int | None
    version_id: int | None
    last_task: str | None

    @property
    def most_tasks(self) -> int | None:
        """How many tasks the rater may do, as `Participation.most_tasks` says."""
        return min(filter(None, (self.agreed_tasks, self.study.hits_per_annotator)), default=None)


def lock_person(public_id: str, now: datetime | None = None) -> Person:
    """Lock a participation, and read its study and current assignment in the same statement.

    ``now`` overrides the database's clock.
    """
    statement = _PERSON.format(now=_now()) + _lock("p")
    row = _one(statement, [now, now, public_id])
    if row is None:
        raise Participation.DoesNotExist
    person, study, work, rest = _split(row, PERSON, STUDY, WORK)
    participation = _instance(Participation, PERSON, person)
    participation.study = _study(study, rest[0])
    held = None
    if work[0] is not None and rest[1]:
        held = _work(work, participation)
    lease_until, locked_at = moment_of(rest[2]), moment_of(rest[3])
    assert locked_at is not None
    return Person(participation, participation.study, held, lease_until, locked_at, *rest[4:])


@dataclass(frozen=True)
class FreePlace:
    """A locked free place and, if there is one, the rater's abandoned assignment on its HIT."""

    place: Place
    abandoned_assignment_id: int | None


def lock_free_place(
    person: Person, *, wait: bool = False, is_unmet: bool = False
) -> FreePlace | None:
    """Lock the most urgent free place of a HIT that the rater has not worked on.

    With ``is_unmet``, no gold check that the rater was given may be on an instance of the HIT.
    Rows that others have locked are skipped. With ``wait``, the statement waits for them, always in
    the same order. A row that turns out to be taken stays locked until the transaction ends.
    """
    # With whole HITs, a rater may resume a HIT that they abandoned.
    resumable = (Assignment.Status.ABANDONED,) if person.study.abandoned == "whole_hit" else ("",)
    statement = _FREE.format(
        order="p.id" if wait else "p.remaining, p.draw",
        lock=_lock("p", skip=not wait),
        unmet=_UNMET if is_unmet else "",
    )
    rater = person.participation.rater_id
    unmet = (rater,) if is_unmet else ()
    row = _one(statement, [rater, person.study.pk, person.now, rater, *resumable, *unmet])
    if row is None:
        return None
    values, (abandoned,) = _split(row, (*PLACE, *MOMENTS))
    place = _place(values)
    place.hit = HIT(id=place.hit_id, study=person.study)
    return FreePlace(place, abandoned)


def find_work_of(assignment_id: str, participation_id: str, study_id: str) -> Assignment | None:
    """Return an annotator's own assignment by its public id, with everything that saving needs."""
    row = _one(_OWN, [assignment_id, participation_id, study_id])
    if row is None:
        return None
    person, study, work, (opened, kind) = _split(row, PERSON, STUDY, WORK)
    participation = _instance(Participation, PERSON, person)
    participation.study = _study(study, opened)
    assignment = _work(work, participation)
    assignment.rater = _instance(Rater, ("id", "kind"), (assignment.rater_id, kind))
    return assignment


@dataclass(frozen=True)
class LockedHIT:
    """All places of a HIT by number, its study's current state, and the time of locking.

    The time is the one that the caller passed, or else the database's. The HIT of a training or
    test has no places, so its study is not read and is None.
    """

    places: list[Place]
    study: Study | None
    now: datetime


def lock_places_of(hit_id: int, now: datetime | None = None) -> LockedHIT:
    """Lock all places of a HIT in the order of their numbers, and read the study's state."""
    rows = _all(_PLACES.format(now=_now(), lock=_lock("p")), [now, hit_id])
    if not rows:
        return LockedHIT([], None, now or database_now())
    places = [_place(_split(row, (*PLACE, *MOMENTS))[0]) for row in rows]
    study, (opened, moment) = _split(rows[0][len(PLACE) + len(MOMENTS) :], STUDY)
    locked_at = moment_of(moment)
    assert locked_at is not None
    return LockedHIT(places, _study(study, opened), locked_at)


@dataclass(frozen=True)
class OwnRatings:
    """All ratings of an assignment. `is_earlier` says whether a later one was opened since.

    `opened` is the last of its units that was opened.
    """

    rows: list[Rating]
    is_earlier: bool
    opened: int


def ratings_of(assignment: Assignment) -> OwnRatings:
    """Return all ratings of an assignment, and refresh the assignment's status."""
    ratings, is_earlier, opened = [], False, 0
    for row in _all(_RATINGS, [assignment.pk]):
        values, (status, is_earlier, opened) = _split(row, RATING)
        assignment.status = status
        rating = _instance(Rating, RATING, values)
        rating.assignment, rating.rater = assignment, assignment.rater
        if rating.pk is not None:
            ratings.append(rating)
    return OwnRatings(ratings, bool(is_earlier), opened)


def units_of_hit(hit: HIT) -> list[HITUnit]:
    """Return the HIT's units in planned order. Cached on the object, because they never change."""
    if "hit_units" not in hit.__dict__:
        rows = _all(_HIT_UNITS, [hit.pk])
        hit.__dict__["hit_units"] = [_instance(HITUnit, HIT_UNIT, row) for row in rows]
    hit_units: list[HITUnit] = hit.__dict__["hit_units"]
    return hit_units


def insert(row: models.Model) -> None:
    """Insert one row that has all values, as `save` would, by a statement built once per model."""
    fields, statement = _insert_into(type(row))
    values = [f.get_db_prep_save(f.pre_save(row, True), connection) for f in fields]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        (row.pk,) = cursor.fetchone()
    row._state.adding, row._state.db = False, connection.alias
    for field in filter(_is_the_databases, row._meta.concrete_fields):
        del row.__dict__[field.attname]  # read from the database if someone asks


def _is_the_databases(field: Any) -> bool:
    """Whether the database alone gives the field its value, as it does the time of an answer."""
    return bool(field.has_db_default() and not field.has_default())


@lru_cache(maxsize=8)
def _insert_into(model: type[models.Model]) -> tuple[list[Any], str]:
    columns_of = model._meta.concrete_fields
    fields = [f for f in columns_of if not (f.primary_key or _is_the_databases(f))]
    columns = ", ".join(connection.ops.quote_name(str(f.column)) for f in fields)
    parameters = ", ".join(["%s"] * len(fields))
    table = model._meta.db_table
    statement = f"INSERT INTO {table} ({columns}) VALUES ({parameters}) RETURNING id"  # noqa: S608
    return fields, statement


def hold_place(place: Place) -> None:
    """Store the holder and lease of a locked place."""
    with connection.cursor() as cursor:
        parameters = [place.assignment_id, place.lease_until, place.pk]
        cursor.execute(_HOLD, _adapted(parameters))


def complete_place(place: Place, now: datetime) -> None:
    """Complete a locked place, and decrement `remaining` of all places of its HIT."""
    pk = place.pk
    with connection.cursor() as cursor:
        cursor.execute(_COMPLETE, _adapted([pk, now, pk, pk, place.assignment_id, place.hit_id]))


def unit_with_texts(assignment: Assignment, hit_unit: HITUnit) -> tuple[Unit, str]:
    """Return a unit with the fields that a page shows, and the comment on it, or ""."""
    unit_id = hit_unit.unit_id
    shows_fields = bool(assignment.hit.study.fields)
    rows = _all(_TEXTS, [shows_fields, assignment.pk, hit_unit.repeat, unit_id])
    generations = (pk and Generation(id=pk, text=text) for *_, pk, text, _ in rows)
    texts = (UnitText(generation=generation) for generation in generations)
    instance, source, messages, metadata, *_ = rows[0]
    unit = Unit.of(texts, id=unit_id, instance_id=instance)
    if instance is not None:
        turns, facts = (json.loads(v) if isinstance(v, str) else v for v in (messages, metadata))
        unit.instance = Instance(id=instance, source=source, messages=turns, metadata=facts or {})
    return unit, rows[0][-1] or ""


def _columns(alias: str, names: Sequence[str]) -> str:
    # The names need no quotes, because none of them is a reserved word such as `order`.
    return ", ".join(f"{alias}.{name}" for name in names)


_PERSON = f"""
SELECT {_columns("p", PERSON)}, {_columns("s", STUDY)}, {_columns("a", WORK)}, s.opened_at,
    l.id IS NOT NULL, l.lease_until, {{now}},
    coalesce(c.check_rate, 0), p.cleared_at IS NOT NULL,
    CASE WHEN p.address <> '' AND NOT EXISTS (SELECT 1 FROM annotation_assignment d
            WHERE d.participation_id = p.id) THEN (SELECT count(*)
        FROM annotation_assignment d
        JOIN annotation_participation q ON q.id = d.participation_id
        JOIN annotation_place o ON o.assignment_id = d.id
        WHERE d.status = 'active' AND q.study_id = s.public_id AND q.address <> ''
            AND o.lease_until > {{now}}) ELSE 0 END,
    (SELECT count(*) FROM annotation_assignment d JOIN annotation_hit h ON h.id = d.hit_id
        WHERE d.rater_id = p.rater_id AND h.study_id = s.public_id AND h.kind = 'main'
            AND d.status = 'completed'),
    (SELECT coalesce(sum(d.opened), 0) FROM annotation_assignment d
        JOIN annotation_hit h ON h.id = d.hit_id
        WHERE d.rater_id = p.rater_id AND h.study_id = s.public_id AND h.kind = 'main'
            AND d.status = 'completed'),
    (SELECT count(*) FROM annotation_assignment d JOIN annotation_hit h ON h.id = d.hit_id
        WHERE d.rater_id = p.rater_id AND h.study_id = s.public_id AND h.kind = 'main'),
    (SELECT coalesce(max(h.number), 0) FROM annotation_hit h
        WHERE h.study_id = s.public_id AND h.kind = 'main'),
    (SELECT v.hits_per_annotator FROM studies_studyversion v
        WHERE v.id = p.consented_version_id AND v.reward IS NOT NULL),
    (SELECT v.id FROM studies_studyversion v WHERE v.study_id = s.public_id
        ORDER BY v.number DESC LIMIT 1),
    (SELECT d.public_id FROM annotation_assignment d
        WHERE d.participation_id = p.id AND d.status = 'completed' AND d.run = ''
        ORDER BY d.completed_at DESC, d.id DESC LIMIT 1)
FROM annotation_participation p
JOIN studies_study s ON s.public_id = p.study_id
LEFT JOIN annotation_assignment a ON a.participation_id = p.id AND a.status = 'active'
LEFT JOIN annotation_place l ON l.assignment_id = a.id
LEFT JOIN studies_screening c ON c.study_id = s.public_id
WHERE p.public_id = %s
"""  # noqa: S608  the names are constants of this module
_FREE = f"""
SELECT {_columns("p", (*PLACE, *MOMENTS))},
    (SELECT e.id FROM annotation_assignment e
        WHERE e.hit_id = p.hit_id AND e.rater_id = %s AND e.run = '' AND e."order" = '')
FROM annotation_place p
WHERE p.study_id = %s AND p.completed_at IS NULL
    AND (p.lease_until IS NULL OR p.lease_until <= %s)
    AND NOT EXISTS (SELECT 1 FROM annotation_assignment e
        WHERE e.hit_id = p.hit_id AND e.rater_id = %s AND e.run = '' AND e."order" = ''
            AND e.status <> %s)
    {{unmet}}
ORDER BY {{order}} LIMIT 1 {{lock}}
"""  # noqa: S608
# Of no row of the places, so that it is computed once, whatever the database knows of its tables.
_UNMET = """
    AND p.hit_id NOT IN (SELECT w.hit_id FROM annotation_assignment c
        JOIN studies_unit g ON g.id = c.check_unit_id
        JOIN studies_unit m ON m.instance_id = g.instance_id
        JOIN annotation_hitunit w ON w.unit_id = m.id
        WHERE c.rater_id = %s)
"""
_OWN = f"""
SELECT {_columns("p", PERSON)}, {_columns("s", STUDY)}, {_columns("a", WORK)}, s.opened_at, r.kind
FROM annotation_assignment a
JOIN annotation_participation p ON p.id = a.participation_id
JOIN studies_study s ON s.public_id = p.study_id
JOIN annotation_rater r ON r.id = a.rater_id
WHERE a.public_id = %s AND p.public_id = %s AND p.study_id = %s
"""  # noqa: S608
_PLACES = f"""
SELECT {_columns("p", (*PLACE, *MOMENTS))}, {_columns("s", STUDY)}, s.opened_at, {{now}}
FROM annotation_place p JOIN studies_study s ON s.public_id = p.study_id
WHERE p.hit_id = %s ORDER BY p.number {{lock}}
"""  # noqa: S608
_RATINGS = f"""
SELECT {_columns("r", RATING)}, a.status, a.status = 'completed' AND EXISTS (
    SELECT 1 FROM annotation_assignment d
    WHERE d.participation_id = a.participation_id AND d.id <> a.id
        AND (d.status = 'active' OR d.completed_at > a.completed_at)), a.opened
FROM annotation_assignment a LEFT JOIN annotation_rating r ON r.assignment_id = a.id
WHERE a.id = %s ORDER BY r.id
"""  # noqa: S608
_HIT_UNITS = f"""
SELECT {_columns("u", HIT_UNIT)} FROM annotation_hitunit u WHERE u.hit_id = %s ORDER BY u.id
"""  # noqa: S608
_HOLD = "UPDATE annotation_place SET assignment_id = %s, lease_until = %s WHERE id = %s"
_COMPLETE = """
UPDATE annotation_place SET remaining = remaining - 1,
    completed_at = CASE WHEN id = %s THEN %s ELSE completed_at END,
    lease_until = CASE WHEN id = %s THEN NULL ELSE lease_until END,
    assignment_id = CASE WHEN id = %s THEN %s ELSE assignment_id END
WHERE hit_id = %s
"""
# A row for each text; the first has the source, which may be long.
_TEXTS = """
SELECT u.instance_id, i.source, i.messages, CASE WHEN %s THEN i.metadata END, g.id, g.text, c.text
FROM studies_unit u
LEFT JOIN annotation_comment c ON c.unit_id = u.id AND c.assignment_id = %s AND c.repeat = %s
LEFT JOIN studies_unittext t ON t.unit_id = u.id
LEFT JOIN studies_generation g ON g.id = t.generation_id
LEFT JOIN studies_instance i ON i.id = u.instance_id AND coalesce(t.position, 0) = 0
WHERE u.id = %s ORDER BY t.position
"""


def _lock(alias: str, *, skip: bool = False) -> str:
    """Return the locking clause, or "" for SQLite, which runs one write transaction at a time."""
    if not connection.features.has_select_for_update_of:
        return ""
    return f"FOR UPDATE OF {alias}" + (" SKIP LOCKED" if skip else "")


def _now() -> str:
    """Return SQL for a parameter that overrides the database's clock if it is not null."""
    return f"coalesce(%s, {moment_sql()})"


def _one(statement: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    rows = _all(statement, parameters)
    return rows[0] if rows else None


def _all(statement: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, _adapted(parameters))
        return list(cursor.fetchall())


def _adapted(parameters: Sequence[Any]) -> list[Any]:
    return [connection.ops.adapt_unknown_value(value) for value in parameters]


def _split(row: Sequence[Any], *groups: Sequence[str]) -> list[Sequence[Any]]:
    """Split a row into one part per group of columns, and a last part with the other columns."""
    pieces, start = [], 0
    for group in groups:
        pieces.append(row[start : start + len(group)])
        start += len(group)
    return [*pieces, row[start:]]


def _instance(model: type[Model], names: Sequence[str], values: Sequence[Any]) -> Model:
    """Build a model instance as the ORM does; fields that are not named are deferred."""
    known = dict(zip(names, values, strict=True))
    fields = [f.attname for f in model._meta.concrete_fields if f.attname in known]
    return model.from_db(connection.alias, fields, [known[name] for name in fields])


def _study(values: Sequence[Any], opened_at: Any) -> Study:
    return _instance(Study, (*STUDY, "opened_at"), (*values, moment_of(opened_at)))


def _work(values: Sequence[Any], participation: Participation) -> Assignment:
    assignment = _instance(Assignment, WORK, values)
    assignment.participation = participation
    assignment.hit = HIT(id=assignment.hit_id, study=participation.study)
    return assignment


def _place(values: Sequence[Any]) -> Place:
    *plain, lease_until, completed_at = values
    moments = (moment_of(lease_until), moment_of(completed_at))
    return _instance(Place, (*PLACE, *MOMENTS), (*plain, *moments))

"""Evidence about annotators: computed by hand, undefined where nothing is known, and no outcome."""

import random
from dataclasses import dataclass

import pytest
from django.db import connection

from annotation import participant_evidence
from annotation.models import Assignment, Rating
from annotation.participant_evidence import (
    _checks,
    evidence_of,
    is_unlikely_run,
    longest_run,
    pair_agreement,
    typical_seconds,
    worth_a_look,
)
from annotation.selectors import worksheet
from annotation.services.ratings import Answer
from annotation.services.screening import CheckRecord
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.studies.factories import make_open_study, make_participation


@dataclass
class Row:
    rater_id: int
    unit_id: int
    label: str | None
    criterion_id: int = 1
    duration_ms: int | None = None


def test_agreement_is_the_share_of_equal_pairs_with_others():
    mine = [Row(1, 1, "a"), Row(1, 2, "b"), Row(1, 3, "a")]
    others = [Row(2, 1, "a"), Row(3, 1, "b"), Row(2, 2, "b"), Row(1, 3, "a")]
    agreement = pair_agreement(mine, others)
    assert (agreement.share, agreement.pairs) == (pytest.approx(2 / 3), 3)
    assert pair_agreement(mine, []).share is None
    assert pair_agreement([Row(1, 1, None), *mine], [*others, Row(4, 2, None)]) == agreement


def test_times_are_geometric_means_as_in_results_and_unknown_without_durations():
    rows = [Row(1, 1, "a", duration_ms=ms) for ms in (0, 1000, 4000)]
    assert typical_seconds(rows) == pytest.approx(4 ** (1 / 3) / 10)
    assert typical_seconds(rows[1:]) == pytest.approx(2)
    assert typical_seconds([Row(1, 1, "a")]) is None


def test_runs():
    assert longest_run("aabbbc") == 3
    assert longest_run("") == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("ab" * 20, False),
        ("a" * 20 + "b" * 20, True),
        ("a" * 40, False),  # whoever gives one answer only cannot be told by the order
        ("a" * 9 + "b" * 9, True),
        ("a" * 3 + "b" * 3, False),  # too few for so small a probability
        ("", False),
    ],
)
def test_a_run_is_unlikely_only_for_the_order_of_the_same_answers(values, expected):
    assert is_unlikely_run(longest_run(values), values) == expected


def test_the_bound_on_runs_covers_shuffled_answers():
    """With shuffled answers, unlikely runs occur no more often than the bound says."""
    rng = random.Random(1)
    values = list("a" * 20 + "b" * 20)
    hits = 0
    for _ in range(2000):
        rng.shuffle(values)
        hits += is_unlikely_run(longest_run(values), values)
    assert hits <= 2000 * 0.001 + 4


def study_of(**design):
    return make_open_study(instances=24, comparisons_per_hit=1, ratings_per_hit=2, **design)


def rated(study, name: str, labels: str, *, ms: int | None, participation=None):
    """An annotator who completes one HIT per label with it."""
    participation = participation or make_participation(study, name)
    for label in labels:
        assignment = take_place(participation=participation)
        sheet = worksheet(assignment)
        (hit_unit,) = sheet.hit_units.values()
        submit_rating(
            assignment=assignment,
            hit_unit=hit_unit,
            criterion=sheet.criteria[0],
            answer=Answer(label, client_key=f"k{hit_unit.pk}", duration_ms=ms),
        )
    return participation


@pytest.mark.django_db
class TestOfAParticipation:
    @pytest.fixture
    def study(self):
        return study_of(scale="ordinal:1..5")

    def test_it_works(self, study):
        quick = rated(study, "quick", "1" * 24, ms=100)
        rated(study, "slow", "1" * 24, ms=20_000)
        evidence = evidence_of(quick)
        signs = {sign.name: sign for sign in evidence.signs}
        assert (signs["seconds"].value, signs["seconds"].others) == pytest.approx((0.1, 20))
        assert signs["seconds"].is_unusual
        assert signs["agreement"].value == 1
        assert {sign.name for sign in evidence.signs if sign.is_unusual} <= {"seconds", "fast"}

    def test_many_are_told_apart_by_the_rules_of_each_alone(self, study, monkeypatch):
        people = [
            rated(study, name, "12345" * 4 + "1234", ms=ms)
            for name, ms in (("quick", 100), ("slow", 20_000))
        ]
        unusual = {
            one.pk for one in people if any(sign.is_unusual for sign in evidence_of(one).signs)
        }
        assert unusual == {people[0].pk}
        found = worth_a_look(people)
        assert set(found) == unusual
        shown = [sign for sign in evidence_of(people[0]).signs if sign.is_unusual]
        assert found[people[0].pk] == shown
        monkeypatch.setattr(participant_evidence, "MAX_AT_ONCE", 47)
        assert worth_a_look(people) == {}

    @pytest.mark.parametrize(
        ("answers", "fast", "is_unusual"), [(3, 3, True), (10, 3, True), (10, 2, False)]
    )
    def test_a_young_study_shows_who_cannot_have_read(self, study, answers, fast, is_unusual):
        person = rated(study, "new", "12345"[:fast], ms=700)
        rated(study, "", ("12345" * 2)[: answers - fast], ms=900, participation=person)
        assert evidence_of(person).answers == answers
        assert evidence_of(person).sign("fast").is_unusual == is_unusual
        assert set(worth_a_look([person])) == ({person.pk} if is_unusual else set())

    def test_times_of_few_answers_are_compared(self, study):
        quick, slow = (rated(study, str(ms), "12345", ms=ms) for ms in (900, 3000))
        assert evidence_of(quick).sign("seconds").is_unusual
        assert not evidence_of(slow).sign("seconds").is_unusual

    @pytest.mark.parametrize(
        ("right", "failed", "is_unusual"), [(3, 1, False), (4, 2, True), (8, 2, False)]
    )
    def test_failed_checks_are_a_sign(self, right, failed, is_unusual):
        assert _checks(CheckRecord(right, failed)).is_unusual == is_unusual

    def test_who_is_excluded_needs_no_look(self, study):
        person = rated(study, "quick", "123", ms=100)
        assert worth_a_look([person])
        person.status = "excluded"
        assert not worth_a_look([person])

    def test_fast_means_faster_than_the_texts_can_be_read(self, study):
        """Two texts of 4 words take 0.8 seconds at 600 words a minute."""
        fast = evidence_of(rated(study, "fast", "3" * 24, ms=700)).sign("fast")
        slow = evidence_of(rated(study, "slow", "3" * 24, ms=900)).sign("fast")
        assert (fast.value, fast.is_unusual) == (1, True)
        assert (slow.value, slow.is_unusual) == (0, False)

    def test_nothing_is_known_about_who_gave_no_answer(self, study):
        evidence = evidence_of(make_participation(study, "ann"))
        assert evidence.answers == 0
        assert {sign.value for sign in evidence.signs} == {None}
        assert not any(sign.is_unusual for sign in evidence.signs)

    def test_it_does_not_depend_on_which_system_was_preferred(self):
        """Swapping the systems of every answer changes no sign."""
        study = study_of()
        ann = rated(study, "ann", "01" * 12, ms=900)
        rated(study, "bob", "11" * 12, ms=900)
        before = evidence_of(ann)
        flip = {"-1": "1", "1": "-1", "0": "0"}
        swap = {"left": "right", "right": "left"}
        rows = list(Rating.objects.all())
        for row in rows:
            row.label, row.side_a = flip[row.label], swap[row.side_a]
        _write(rows)
        assert evidence_of(ann) == before

    def test_excluded_work_is_still_looked_at(self, study):
        ann = rated(study, "ann", "1" * 24, ms=100)
        Rating.objects.update(excluded=True)
        Assignment.objects.update(status="excluded")
        assert evidence_of(ann).answers == 24


def _write(rows: list[Rating]) -> None:
    """Change what is append-only, which only a test does."""
    with connection.cursor() as cursor:
        for row in rows:
            cursor.execute(
                "UPDATE annotation_rating SET label = %s, side_a = %s WHERE id = %s",
                [row.label, row.side_a, row.pk],
            )

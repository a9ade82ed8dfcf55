"""Before the planned number of responses is reached, only confidence sequences lead to findings."""

from dataclasses import replace
from math import isnan

import pytest

from annotation.models import Place
from annotation.planned_order import planned_pairs
from annotation.selectors import is_a_first
from annotation.services.planning import grow_ratings_per_hit
from annotation.services.ratings import Answer
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report, watermark
from recruitment.services.lifecycle import close_study, reopen_study
from studies.models import Study
from tests.annotation.answers import submit_unit
from tests.annotation.places import hit_units_of, take_place
from tests.metrics.studies import validator
from tests.pages import numbers_in
from tests.studies.factories import make_open_study, make_participation
from tiebreak.reading.agreement_findings import NO_ALPHA_HEADING, agreement_finding
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.of_report import figures_of
from tiebreak.reading.figures.systems.systems import win_rates_figure
from tiebreak.reading.findings import (
    win_rate_finding,
)
from tiebreak.reading.leading_numbers import leading_numbers, scope_of
from tiebreak.reading.messages import NO_FINDING_YET, NOTHING_SHOWN, WATCHED_SCOPE
from tiebreak.reading.shown import section_of
from tiebreak.reading.while_open import has_sequences, still_missing, unreached
from tiebreak.stats import undefined

pytestmark = pytest.mark.django_db

A_WINS, B_WINS = "-1", "1"


def answer(study: Study, name: str, label: str, *, hits: int = 1) -> list[int]:
    """Let an annotator complete HITs with one label in system order, and return the HITs' keys."""
    participation, done = make_participation(study, name), []
    for _ in range(hits):
        assignment = take_place(participation=participation)
        done.append(assignment.hit_id)
        for unit in hit_units_of(assignment):
            is_turned = unit.unit.system_ids[1:] and not is_a_first(assignment, unit)
            shown = str(-int(label)) if is_turned else label
            answers = {c: Answer(shown, f"{name}-{unit.pk}") for c in study.criteria.all()}
            submit_unit(assignment=assignment, hit_unit=unit, answers=answers)
    return done


def section(study: Study):
    snapshot = refresh_report(study=study)
    validator().validate(snapshot.report)
    return stored_report(snapshot).criteria["preference"]


def small_study(**design):
    options = {"instances": 16, "samples": 1, "comparisons_per_hit": 1, "ratings_per_hit": 1}
    return make_open_study(**{**options, **design})


def nothing_shown(about) -> str:
    return NOTHING_SHOWN.format(still_missing(about.stopping))


def test_the_heading_says_how_many_responses_are_missing():
    study = small_study()
    answer(study, "ann", A_WINS, hits=2)
    about = section(study)
    assert (about.stopping.responses, about.stopping.planned_responses) == (2, 16)
    assert numbers_in(win_rate_finding(about)[0]) == {"14", "16"}


def test_a_running_study_states_what_the_sequence_excludes():
    study = small_study()
    answer(study, "ann", A_WINS, hits=14)
    about = section(study)
    heading, sentence = win_rate_finding(about)
    assert heading == "With these annotators, system-0 wins more often than system-1"
    assert "14 of 16 instances entered" in sentence
    assert win_rates_figure(about).rows[0][4] == pytest.approx(
        about.stopping.pairs["system-0 vs system-1"].win_rate.high
    )


@pytest.mark.thorough
def test_a_running_study_states_nothing_from_an_interval_for_one_look():
    study = small_study(instances=40)
    for turn in range(30):
        answer(study, f"r{turn}", B_WINS if turn % 10 in {0, 4, 7} else A_WINS)
    about = section(study)
    at_one_look = win_rate_finding(replace(about, stopping=None))[0]
    assert "system-0 wins more often than it loses" in at_one_look
    assert win_rate_finding(about)[0] == nothing_shown(about)
    shown = section_of("preference", about)
    assert shown.sets is None or shown.sets[1].startswith(NO_FINDING_YET)
    for figure in figures_of(about):
        if figure.name != "win-rates" and figure.title:
            assert (figure.finding, figure.sentence) == (figure.title, NO_FINDING_YET)
    assert scope_of(about).startswith(NO_FINDING_YET)
    assert not any("highest" in number.sentence for number in leading_numbers(about))


def draws_an_interval(figure: Figure) -> bool:
    ends = [i for i, name in enumerate(figure.columns) if name.startswith(("low", "high"))]
    return any(row[i] is not None for row in figure.rows for i in ends)


@pytest.mark.parametrize("hits", [1, 2])
def test_where_no_interval_is_drawn_none_is_limited(hits):
    """Fewer than 10 instances, of which no item may be complete, so that no sequence begins."""
    study = small_study(instances=4, ratings_per_hit=2)
    answer(study, "ann", A_WINS, hits=hits)
    about = section(study)
    without = [figure for figure in figures_of(about) if not draws_an_interval(figure)]
    assert {"differences", "win-rates"} <= {figure.name for figure in without}
    said = [scope_of(about, page) for page in ("systems", "raters", "machines", "planning")]
    said += [figure.sentence for figure in without]
    limits = ("interval", WATCHED_SCOPE)
    assert not [sentence for sentence in said if any(limit in sentence for limit in limits)]
    assert has_sequences(unreached(about)) == (WATCHED_SCOPE in win_rate_finding(about)[1])


def test_agreement_stands_without_a_finding():
    study = small_study(instances=20, ratings_per_hit=2, most_answers=39)
    for name in ("ann", "bob"):
        for turn in range(4):
            answer(study, f"{name}{turn}", B_WINS if turn == 3 else A_WINS, hits=4)
    about = section(study)
    assert agreement_finding(replace(about, stopping=None))[0] != NO_ALPHA_HEADING
    assert agreement_finding(about)[0] == NO_ALPHA_HEADING
    assert NO_FINDING_YET in agreement_finding(about)[1]


def test_the_planned_number_ends_the_watch():
    study = small_study()
    answer(study, "ann", A_WINS, hits=15)
    assert unreached(section(study))
    answer(study, "bob", A_WINS)
    assert not unreached(section(study))


def test_closing_early_keeps_the_sequence_and_closing_at_the_end_does_not():
    early, complete = small_study(), small_study()
    answer(early, "ann", A_WINS, hits=12)
    answer(complete, "bob", A_WINS, hits=16)
    close_study(study=early)
    close_study(study=complete)
    assert unreached(section(early))
    assert not unreached(section(complete))
    # Freeing a place afterwards does not undo that the planned number was reached.
    Place.objects.filter(study=complete, number=0).update(completed_at=None)
    assert not unreached(section(complete))


def test_more_ratings_decided_after_a_look_are_watched():
    study = small_study()
    answer(study, "ann", A_WINS, hits=16)
    close_study(study=study)
    before = watermark(study)
    reopen_study(study=study)
    grow_ratings_per_hit(study=study, ratings_per_hit=2)
    assert watermark(study) != before
    answer(study, "bob", B_WINS, hits=16)
    about = section(study)
    assert unreached(about)
    # The observations stay those that were planned: one rating of each instance.
    assert about.stopping.pairs["system-0 vs system-1"].win_rate.value == 1


def test_a_mixed_design_is_watched_in_the_order_drawn_at_planning():
    study = small_study(instances=8, further_share=0.25)
    first = Place.objects.filter(study=study, number=0).order_by("draw")
    order, drawn = list(first.values_list("hit", flat=True)), further_hits_of(study)
    assert answer(study, "ann", A_WINS, hits=8) == order

    def known():
        (pair,) = planned_pairs(study, study.criteria.get(), ratings_per_hit=1)
        return {
            hit: n
            for hit, mean, n in zip(order, pair.means, pair.ratings, strict=True)
            if not isnan(mean)
        }

    assert known() == {hit: 1 for hit in order if hit not in drawn}
    assert set(answer(study, "bob", B_WINS, hits=2)) == drawn
    complete = {hit: 1 + (hit in drawn) for hit in order}
    assert known() == complete
    about = section(study)
    assert not unreached(about)
    agreement = about.all_units.human_human
    assert agreement.percentage_agreement.n == agreement.krippendorff_alpha.n == len(drawn) == 2
    grow_ratings_per_hit(study=study, ratings_per_hit=2)
    study.refresh_from_db()
    answer(study, "cid", B_WINS, hits=8)
    assert known() == complete


def further_hits_of(study: Study) -> set[int]:
    return set(Place.objects.filter(study=study, number=1).values_list("hit", flat=True))


def test_a_raised_maximum_of_responses_is_watched():
    study = small_study(most_answers=10)
    answer(study, "ann", A_WINS, hits=10)
    assert not unreached(section(study))
    Study.objects.filter(pk=study.pk).update(most_answers=12)
    study.refresh_from_db()
    answer(study, "bob", A_WINS, hits=2)
    assert unreached(section(study))


def test_instances_enter_in_the_order_drawn_at_planning():
    study = small_study(instances=8, ratings_per_hit=2)
    order = list(
        dict.fromkeys(
            Place.objects.filter(study=study).order_by("draw").values_list("hit", flat=True)
        )
    )
    done = [answer(study, "ann", A_WINS, hits=3), answer(study, "bob", B_WINS, hits=2)]
    complete = set(done[0]) & set(done[1])
    (pair,) = planned_pairs(study, study.criteria.get(), ratings_per_hit=2)
    known = [not isnan(mean) for mean in pair.means]
    assert known == [hit in complete for hit in order]
    assert {mean for mean in pair.means if not isnan(mean)} == {0.5}


def test_an_unfinished_instance_holds_back_later_ones():
    study = small_study(instances=8)
    answer(study, "ann", A_WINS, hits=5)
    first = Place.objects.filter(study=study).order_by("draw").first()
    Place.objects.filter(pk=first.pk).update(completed_at=None)
    sequence = section(study).stopping.pairs["system-0 vs system-1"]
    assert (sequence.win_rate.n, sequence.complete, sequence.held_back) == (0, 4, 4)


def test_win_rates_are_of_the_first_system_by_name():
    study = small_study(instances=4)
    system = study.dataset.systems.get(name="system-0")
    system.name = "zeta"
    system.save()
    answer(study, "ann", A_WINS, hits=2)
    sequence = section(study).stopping.pairs["system-1 vs zeta"]
    assert sequence.win_rate.value == 0


def test_the_level_is_split_over_pairs_and_criteria():
    study = small_study(systems=3)
    assert section_after_one(study).stopping.statements == 3
    assert section_after_one(study).stopping.confidence_level == pytest.approx(1 - 0.05 / 3)


def section_after_one(study: Study):
    if not study.participations.exists():
        answer(study, "ann", A_WINS)
    return section(study)


def test_a_study_without_comparisons_states_nothing_either():
    study = small_study(unit_kind="generation", scale="ordinal:1..5")
    answer(study, "ann", "4")
    about = section(study)
    assert about.stopping.pairs == {}
    assert about.stopping.reason


def test_a_study_that_was_not_opened_here_is_not_watched():
    study = small_study()
    answer(study, "ann", A_WINS, hits=3)
    study.events.all().delete()
    assert section(study).stopping is None


def test_before_the_first_instance_is_complete_the_rates_are_points_without_intervals():
    study = small_study(instances=20, ratings_per_hit=2, most_answers=39)
    for turn in range(6):
        answer(study, f"r{turn}", A_WINS)
    about = section(study)
    started = win_rates_figure(about)
    (pair,) = about.stopping.pairs.values()
    waiting = replace(pair, path=(), win_rate=undefined("waits"))
    stopping = replace(about.stopping, pairs={"pair": waiting})
    figure = win_rates_figure(replace(about, stopping=stopping))
    assert started.chart
    assert figure.chart
    low = figure.columns.index("low")
    assert [row[low] for row in figure.rows] == [None, None]
    assert figure.finding == nothing_shown(about)
    assert not has_sequences(stopping)

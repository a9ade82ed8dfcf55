"""A report of bots' ratings says so before anything else, in every format, and who entered."""

from dataclasses import replace

import pytest
from django.db.models import QuerySet

from annotation.counts import study_counts
from annotation.models import Rating
from metrics.exports.document.study_facts import (
    ALSO_BOTS,
    NO_FLOW,
    ONLY_BOTS,
    entry_sentence,
    flow_table,
    limitations,
    simulated_notice,
)
from recruitment.services.entry import Entrant, give_consent
from studies.models import Study
from tests.metrics.exports.document.test_report_document import document_of, section, study, texts
from tests.studies.factories import make_open_study
from tiebreak.reading.document.html import as_html
from tiebreak.reading.document.latex import as_latex
from tiebreak.reading.document.pdf import _source

pytestmark = pytest.mark.django_db
__all__ = ["study"]


def simulate(study, names=("r0", "r1", "r2")) -> None:
    """Mark ratings as given by bots, which the pages do when they store them."""
    QuerySet.update(Rating.objects.filter(rater__pseudonym__in=names), simulated=True)


def enter(study, *, people: int, bots: int) -> None:
    for number in range(people + bots):
        name, is_bot = f"one-{number}", number >= people
        entrant = Entrant(provider="test", external_id=name, submission_id=name, simulated=is_bot)
        give_consent(study=study, entrant=entrant)


@pytest.mark.parametrize(
    ("people", "bots", "sentence"),
    [
        (0, 0, NO_FLOW),
        (2, 0, ""),
        (0, 3, ONLY_BOTS.format("3 bots")),
        (2, 1, ALSO_BOTS.format("1 bot")),
    ],
)
def test_who_entered_is_said_of_people_and_bots(people, bots, sentence):
    study = make_open_study(instances=1)
    enter(study, people=people, bots=bots)
    assert entry_sentence(study) == sentence
    entered = dict(flow_table(study).rows)["Entered"] if people else None
    assert entered == (str(people) if people else None)


def test_the_document_has_the_bots_that_entered(study):
    assert NO_FLOW in texts(document_of(study))
    study.status = Study.Status.OPEN
    study.save()
    enter(study, people=0, bots=2)
    entered = section(document_of(study), "Participants and ratings").blocks[0]
    assert entered.text == ONLY_BOTS.format("2 bots")


def test_the_notice_counts_the_ratings_of_annotators_only(study):
    assert simulated_notice(study_counts(study)) == ""
    simulate(study)
    counts = study_counts(study)
    assert (counts.rows.people, counts.rows.machines) == (15, 5)
    share = "15 of 15 counted ratings by annotators"
    assert share in simulated_notice(counts)
    assert any(text.startswith(share) for text in limitations(study, counts))
    assert "3 of 15 counted" in simulated_notice(
        replace(counts, rows=replace(counts.rows, simulated=3))
    )


def test_the_notice_stands_before_the_summary_in_every_format(study):
    simulate(study)
    document = document_of(study)
    assert document.notice == simulated_notice(study_counts(study))
    first_finding = document.sections[0].blocks[0].text[:30]
    for text in (as_html(document), as_latex(document), "\n".join(_source(document))):
        assert 0 < text.index(document.notice) < text.index(first_finding)


def test_a_report_of_people_has_no_notice(study):
    document = document_of(study)
    assert document.notice == ""
    assert 'class="simulated"' not in as_html(document)
    assert r"\textbf" not in as_latex(document)
    assert "luma(235)" not in "\n".join(_source(document))

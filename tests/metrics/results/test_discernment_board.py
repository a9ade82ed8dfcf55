"""Raters by their discernment in several studies: which are offered, the numbers, and what is missing."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.services.planning import plan_hits
from machine_raters.services.machine_raters import start_machine_rater
from metrics.results.discernment_board import NOT_IN_ALL, board_of, rows_of
from metrics.results.sections import refresh_section, stored_section
from metrics.results.services import refresh_report
from studies.data.perturbed_copies import add_perturbed_copies
from studies.models import Study
from tests.machine_raters.judging.scripted import material, model
from tests.machine_raters.judging.test_judging import judge_for
from tests.studies.data.test_perturbed_copies import TYPOS, scoring_study
from tests.studies.factories import open_knowingly
from tests.tiebreak.report.sections.machines.test_discernment import (
    COPIES,
    ORIGINALS,
    scores,
    section_of,
)

pytestmark = pytest.mark.django_db
__all__ = ["model"]


def section(**more):
    """The section of a judge that sees damage, and of more raters by their copies' scores."""
    rows = [*scores(ORIGINALS, COPIES, rater="judge", kind="machine")]
    for rater, copies in more.items():
        rows += scores(ORIGINALS, copies, rater=rater, kind="machine")
    return section_of(rows)


def test_raters_are_in_the_order_of_their_means_and_one_that_lacks_a_study_is_last():
    sees, blind = section(blind=ORIGINALS), section(blind=ORIGINALS, other=COPIES)
    rows = rows_of({Study(pk="a"): sees, Study(pk="b"): blind})
    assert [row.rater for row in rows] == ["judge", "blind", "other"]
    d = sees.all_criteria["judge"].average.value
    assert [one.value for one in rows[0].scores] == [d, d]
    assert (rows[0].mean.value, rows[1].mean.value) == (d, 0)
    assert rows[2].mean.reason == NOT_IN_ALL
    assert [one.reason is None for one in rows[2].scores] == [False, True]


def judged(user, title: str) -> Study:
    """A study with copies, whose discernment a judge's ratings give."""
    study = scoring_study(instances=4, samples=1)
    Study.objects.filter(pk=study.pk).update(title=title)
    study.members.add(user)
    add_perturbed_copies(study=study, names=[TYPOS])
    plan_hits(study=study)
    study = open_knowingly(study)
    start_machine_rater(machine=judge_for(study))
    refresh_report(study=study)
    refresh_section(study=study, name="discernment")
    return study


def test_the_page_offers_studies_that_one_sees_and_compares_those_chosen(client, model):
    model(lambda request: "5" if "It was written by the clerk" in material(request) else "2")
    ada, eve = (User.objects.create_user(name, is_staff=True) for name in ("ada", "eve"))
    first, second, hidden = judged(ada, "First"), judged(ada, "Second"), judged(eve, "Hidden")
    client.force_login(ada)
    address = reverse("metrics:section", args=[first.pk, "preference", "discernment"])
    page = client.get(address)
    assert page.context["others"] == [(second, False)]
    assert page.context["board"] is None
    page = client.get(address, {"with": [second.pk, hidden.pk]})
    assert page.context["others"] == [(second, True)]
    heads = page.context["board"]["heads"]
    assert [head.partition(" (")[0] for head in heads] == ["First", "Second", "Mean"]
    shown = page.content.decode()
    assert "Hidden" not in shown
    average = (
        stored_section(
            first.report_snapshots.get(digest="").sections.get(name="discernment"), "preference"
        )
        .part.all_criteria["gpt"]
        .average
    )
    assert f">{average.value:.2f}</span>" in shown
    assert board_of(first, [second.pk], eve)["board"] is None

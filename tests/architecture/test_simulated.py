"""Every page that may show people or ratings of a study whose ratings are not real says so."""

import re

import pytest
from django.db.models import QuerySet
from django.urls import get_resolver

from annotation.models import Rater, Rating
from metrics.results.services import refresh_report
from studies.design.steps import StudyFrame
from studies.models import Study
from tests.annotation.annotators import annotator
from tests.architecture.test_roles import OF_NO_STUDY, member
from tests.architecture.test_urls import address, patterns
from tests.studies.factories import make_open_study

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


@pytest.fixture
def study() -> Study:
    study = make_open_study(instances=2, reward="1.00", hits_per_annotator=2)
    annotator(study).choose()
    QuerySet.update(Rating.objects.all(), simulated=True)
    assert refresh_report(study=study).report["simulated"]
    return study


def test_pages_with_people_or_results_of_a_simulated_study_say_so(study):
    client = member(study, "owner")
    participation = study.participations.get()
    names = set(Rater.objects.values_list("pseudonym", flat=True))
    silent, spoke = set(), 0
    for name, route, _ in patterns(get_resolver()):
        if "<" not in route or route.startswith(("s/", "rate/", "api/")):
            continue
        if any(part in name for part in OF_NO_STUDY):
            continue
        of_person = route.replace("<public_id:participation_id>", participation.public_id)
        page = client.get(address(of_person, study.pk))
        if page.status_code != 200 or page.context is None:
            continue
        html, frame = page.content.decode(), page.context.get("frame")
        shows = any(one in html for one in names)
        if isinstance(frame, StudyFrame) and "<html" in html:
            shows |= frame.room in {"Collect", "Results"}
            said = len(re.findall('class="[a-z -]*simulated"', html))
            spoke += said
            if shows and said != 1:
                silent.add((name, said))
    assert silent == set()
    assert spoke > 5

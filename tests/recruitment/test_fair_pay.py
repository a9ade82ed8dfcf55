"""Proposals of pay: after one is taken, there is nothing more to propose and nothing to warn of."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from recruitment.costs import forecast, proposal_for
from recruitment.messages import DIVIDES_NOT
from recruitment.models import Channel
from studies.models import Screening, Study
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db

TRIPLE = ("minutes_per_hit", "promised_hourly_rate", "reward")
THE_PILOT = {
    "hits": 46,
    "ratings_per_hit": 3,
    "hits_per_annotator": 20,
    "comparisons_per_hit": 1,
    "minutes_per_hit": 1.0,
    "promised_hourly_rate": Decimal(9),
    "words": 60,
    "test": 3,
}
designs = st.fixed_dictionaries(
    {
        "hits": st.integers(2, 90),
        "ratings_per_hit": st.integers(1, 5),
        "hits_per_annotator": st.integers(1, 40),
        "minutes_per_hit": st.integers(3, 100).map(lambda tenths: tenths / 10),
        "promised_hourly_rate": st.decimals(5, 30, places=2),
        "words": st.integers(0, 2000),
        "test": st.integers(0, 12),
    }
)
rewards = st.none() | st.decimals("0.10", 20, places=2)


def study_with(design: dict, **others: object) -> Study:
    study = Study.objects.get()
    values = {name: value for name, value in (design | others).items() if name != "hits"}
    study.consent, study.guidelines = "", "word " * values.pop("words")
    test = {"qualification_units": values.pop("test")}
    Screening.objects.update_or_create(study=study, defaults=test)
    vars(study).update(values)
    if study.minutes_per_hit is not None:
        study.minutes_per_hit = float(study.minutes_per_hit)
    return study


@pytest.fixture
def _stored(db):
    make_study(reward=None)


@pytest.fixture(params=["open-link", "prolific"])
def _channel(request, _stored):
    Channel.objects.create(study=Study.objects.get(), provider=request.param)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(design=designs, reward=rewards, missing=st.sampled_from([*TRIPLE, None]))
@example(THE_PILOT, None, "reward")
@example(THE_PILOT, Decimal("3.50"), None)
@example(THE_PILOT | {"hits": 139, "ratings_per_hit": 1}, Decimal("3.50"), None)
@example(THE_PILOT, Decimal("3.50"), "promised_hourly_rate")
@example(THE_PILOT, Decimal("3.50"), "minutes_per_hit")
@pytest.mark.usefixtures("_channel")
def test_after_a_proposal_of_pay_is_taken_nothing_more_is_proposed(design, reward, missing):
    hits = design["hits"]
    design = design | {"reward": reward} | ({missing: None} if missing else {})
    proposed = proposal_for(study_with(design), hits=hits)
    if proposed is None:
        return
    tasks = proposed.maximum or design["hits_per_annotator"]
    taken = {proposed.field: proposed.value, "hits_per_annotator": tasks}
    study = study_with(design, **taken)
    assert proposal_for(study, hits=hits) is None
    told = forecast(study, hits=hits).against_the_promise
    assert not told, (proposed, told)


@pytest.mark.usefixtures("_stored")
def test_one_proposal_has_the_maximum_of_tasks_and_the_reward_for_it():
    proposed = proposal_for(study_with(THE_PILOT, reward=None), hits=46)
    assert proposed == ("reward", Decimal("3.95"), 23)  # 138 responses are 6 times 23


@pytest.mark.usefixtures("_stored")
def test_where_no_maximum_divides_the_responses_the_last_person_decides_the_reward():
    design = THE_PILOT | {"hits": 47, "ratings_per_hit": 1, "hits_per_annotator": 20}
    study = study_with(design, reward=Decimal("3.60"))
    (code, sentence) = forecast(study, hits=47).against_the_promise[0]
    proposed = proposal_for(study, hits=47)
    assert code == "last_is_under_promise"
    assert str(proposed.value) in sentence
    assert f"{proposed.maximum} tasks" in sentence
    # The minutes also follow from the last person, at the maximum that was entered.
    asked = proposal_for(study_with(design, reward=Decimal("3.60"), minutes_per_hit=None), hits=47)
    assert (asked.field, asked.maximum) == ("minutes_per_hit", None)


@pytest.mark.usefixtures("_stored")
def test_where_no_pay_is_fair_to_the_last_person_the_page_says_what_can_be_done():
    """By whichever maximum from 4 to 8, one response is left, after reading for longer than the tasks take."""
    design = THE_PILOT | {"hits": 8, "ratings_per_hit": 106, "hits_per_annotator": 8, "words": 9000}
    design |= {"most_answers": 4 * 5 * 6 * 7 + 1}
    proposed = proposal_for(study_with(design, reward=None), hits=8)
    assert (proposed.field, proposed.maximum) == ("reward", None)
    study = study_with(design, reward=proposed.value)
    assert proposal_for(study, hits=8) is None
    ((code, sentence),) = forecast(study, hits=8).against_the_promise
    assert code == "last_is_under_promise"
    assert DIVIDES_NOT in sentence

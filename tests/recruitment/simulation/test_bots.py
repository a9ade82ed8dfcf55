"""Bots follow pages as people do, handle every kind of page and field, and always stop."""

from io import StringIO
from random import Random

import httpx
import pytest
from django.core.management import CommandError, call_command

from annotation.models import Participation, Rating
from annotation.services.planning import plan_hits
from annotation.services.reference_units import ReferencePair, add_reference_units, degrade_copies
from recruitment.models import Channel
from recruitment.simulation.bot_pages import Page
from recruitment.simulation.bots import MAX_SAME_PAGE, Bot, Walk
from recruitment.simulation.raters import one_connection, simulate_raters, walk_study
from studies.models import ComprehensionQuestion, Criterion, Generation, Screening, Study, Unit
from tests.studies.factories import make_open_study, make_participation, make_study, open_knowingly
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db

PREFERENCES = ["preference", "preference:tie", "preference:5", "preference:7"]
SCALES = [
    *PREFERENCES,
    *(f"{scale}+bad" for scale in PREFERENCES),
    "ordinal:1..5",
    "ordinal:1..50",
    "nominal:a,b,c",
    "interval:1..5",
    "interval:-10..60",
    "interval",
    "ratio",
]
# One text alone is preferred to nothing.
ASKED = [
    *(("comparison", scale) for scale in SCALES),
    *(("generation", scale) for scale in SCALES if not scale.startswith("preference")),
]


def with_long_texts(study: Study) -> Study:
    rng = Random(0)
    for generation in Generation.objects.filter(instance__dataset=study.dataset_id):
        generation.text = " ".join(f"word{rng.randrange(400)}" for _ in range(40))
        generation.save()
    return study


def known(study: Study, role: Unit.Role, n: int, **labels: str) -> None:
    """Reference units of the study's first instances, with these expected labels."""
    first, second = study.ordered_systems()
    is_pair = study.unit_kind == Study.UnitKind.COMPARISON
    pairs = [
        ReferencePair(
            Generation.objects.get(instance=instance, system=first, sample_index=0),
            Generation.objects.get(instance=instance, system=second, sample_index=0)
            if is_pair
            else None,
            labels,
            "Because.",
        )
        for instance in study.dataset.instances.order_by("pk")[:n]
    ]
    add_reference_units(study=study, role=role, pairs=pairs)


def a_label(scale: str) -> str:
    labels = Criterion(scale=scale).parsed_scale.labels
    return str(labels[0]) if labels else "7"


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "scale"), ASKED)
def test_every_scale_is_answered_in_training_and_in_the_study(kind, scale):
    design = {"unit_kind": kind, "comparisons_per_hit": 1, "ratings_per_hit": 1}
    study = make_study(instances=5, samples=1, scale=scale, **design)
    Criterion.objects.create(study=study, name="second", question="And?", scale=scale, position=1)
    right = a_label(scale)
    known(study, Unit.Role.TRAINING, 3, preference=right, second=right)
    plan_hits(study=study)
    Screening.objects.create(study=study, training_units=3)
    study = open_knowingly(study)
    places = study.places.count()
    simulate_raters(study=study, bots=[Bot("b")], seed=1)
    assert study.places.filter(completed_at=None).count() == 0
    ratings = Rating.objects.filter(unit__study=study, simulated=True)
    assert ratings.filter(unit__role="main").count() == places * 2
    assert ratings.filter(unit__role="training", superseded=False).count() == 3 * 2


def test_training_is_answered_once_a_unit():
    study = make_study(instances=8, samples=1, comparisons_per_hit=1)
    known(study, Unit.Role.TRAINING, 4, preference="-1")
    plan_hits(study=study)
    Screening.objects.create(study=study, training_units=4)
    study = open_knowingly(study)
    with one_connection():
        visit = walk_study(study=study, bot=Bot("a"), rng=Random(0)).finish()
    assert visit.problem == ""
    assert visit.answers == 4 + study.places.filter(completed_at__isnull=False).count()
    assert visit.pages["Practice"] == 8  # each unit, and what is held right


@pytest.mark.thorough
def test_a_screened_study_with_everything_comes_to_its_end():
    study = make_study(
        instances=12, samples=2, bundling="mixed", comparisons_per_hit=3, repeats_per_hit=1
    )
    with_long_texts(study)
    Criterion.objects.create(
        study=study, name="ease", question="Which is easier?", scale="preference:5", position=1
    )
    Criterion.objects.create(
        study=study, name="grade", question="How far apart?", scale="ratio", position=2
    )
    plan_hits(study=study)
    for role, n in ((Unit.Role.TRAINING, 2), (Unit.Role.QUALIFICATION, 4), (Unit.Role.GOLD, 4)):
        degrade_copies(study=study, role=role, n=n)
    Screening.objects.create(
        study=study,
        training_units=2,
        qualification_units=2,
        pass_mark=1,
        qualification_tries=3,
        shows_answers=True,
        check_rate=0.5,
    )
    ComprehensionQuestion.objects.create(study=study, text="Which?", choices="a\nb\nc", answer=2)
    study = open_knowingly(study)
    bots = [Bot(f"b{n}", accuracy=0.9) for n in range(9)]
    simulate_raters(study=study, bots=bots, seed=1)
    ratings = Rating.objects.filter(unit__study=study)
    assert study.places.filter(completed_at=None).count() == 0
    assert {"main", "gold", "training", "qualification"} == set(
        ratings.values_list("unit__role", flat=True)
    )
    assert ratings.filter(simulated=False).count() == 0
    ends = set(Participation.objects.values_list("status", flat=True))
    assert ends <= {"finished", "screened_out", "active"}


def served(pages: dict[str, str]) -> httpx.Client:
    """A browser on a site of fixed pages."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=pages[request.url.path])

    return httpx.Client(transport=httpx.MockTransport(answer), base_url="http://site.test")


def test_a_page_that_leads_back_to_itself_ends_the_visit_with_its_name():
    here = "<main><h2>Round</h2><p class=alarm>Again.</p><a class='primary' href='/'>On</a></main>"
    visit = Walk(bot=Bot("a"), entry="/", browser=served({"/": here}), rng=Random(0)).finish()
    assert visit.pages == {"Round": MAX_SAME_PAGE}
    assert "Round" in visit.problem
    assert "Again." in visit.problem


def test_pages_that_lead_around_in_a_ring_end_the_visit():
    ring = {
        "/": "<main><h2>One</h2><a class='primary' href='/two'>On</a></main>",
        "/two": "<main><h2>Two</h2><a class='primary' href='/'>On</a></main>",
    }
    visit = Walk(bot=Bot("a"), entry="/", browser=served(ring), rng=Random(0)).finish()
    assert sum(visit.pages.values()) == 2 * MAX_SAME_PAGE - 1
    assert visit.problem


def test_pages_that_count_on_for_ever_end_the_visit(monkeypatch):
    numbers = iter(range(10_000))

    def answer(request: httpx.Request) -> httpx.Response:
        text = f"<main><h2>Page</h2>{next(numbers)}<a class='primary' href='/'>On</a></main>"
        return httpx.Response(200, text=text)

    monkeypatch.setattr("recruitment.simulation.bots.MAX_PAGES", 50)
    browser = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://site.test")
    visit = Walk(bot=Bot("a"), entry="/", browser=browser, rng=Random(0)).finish()
    assert visit.pages == {"Page": 50}
    assert visit.problem


def test_every_kind_of_field_is_filled_in_and_the_button_is_sent():
    sent = []

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(
                200,
                text="""<main><h2>Form</h2><form method=post action="/go" id=f>
                <input type=hidden name=token value=xyz>
                <label>Age <input type=number name=age min=18 max=20 step=1 required></label>
                <label>Land <select name=land><option value="">-</option><option>FI</option></select></label>
                <fieldset><legend>Sure?</legend><label><input type=radio name=sure value=1> yes</label></fieldset>
                <label><input type=checkbox name=must required> read</label>
                <label><input type=checkbox name=may> news</label>
                <label>Words <textarea name=words></textarea></label> <input name=off disabled>
                <button name=skip value=1>No</button></form>
                <button class="primary" form=f name=choice value=agree>Yes</button></main>""",
            )
        sent.append(dict(httpx.QueryParams(request.content.decode())))
        return httpx.Response(200, text="<main><h2>Thank you</h2></main>")

    browser = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://site.test")
    visit = Walk(bot=Bot("a"), entry="/", browser=browser, rng=Random(0)).finish()
    assert visit.ending == "Thank you"
    (data,) = sent
    assert 18 <= int(data.pop("age")) <= 20
    assert data == {
        "token": "xyz",
        "land": "FI",
        "sure": "1",
        "must": "on",
        "words": "a",
        "choice": "agree",
    }


def test_a_link_to_another_site_is_the_end():
    page = Page("http://here/", "<main><a class='primary' href='http://there/'>Back</a></main>")
    assert page.step is None


def test_a_bot_that_is_refused_says_what_it_read():
    study = make_open_study(instances=1)
    Channel.objects.create(study=study, provider="invitation", settings={"people": "ann"})
    with pytest.raises(DomainError) as refusal:
        simulate_raters(study=study, bots=[Bot("a")])
    assert refusal.value.code == "bot_stuck"


def test_bots_stay_away_from_a_study_that_people_rated():
    study = make_open_study(instances=2)
    make_participation(study)
    with pytest.raises(DomainError) as refusal:
        simulate_raters(study=study, bots=[Bot("a")])
    assert refusal.value.code == "has_people"
    with pytest.raises(CommandError):
        call_command("simulate_raters", study.pk, stdout=StringIO())
    assert not Rating.objects.exists()


def test_bots_stay_away_from_a_study_with_a_connected_platform():
    study = make_open_study(instances=2)
    Channel.objects.create(study=study, provider="prolific", external_id="abc")
    with pytest.raises(DomainError) as refusal:
        simulate_raters(study=study, bots=[Bot("a")])
    assert refusal.value.code == "has_platform"

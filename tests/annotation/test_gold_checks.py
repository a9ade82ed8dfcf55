"""Gold checks and planned repeats look like other units in counters, markup and addresses."""

import re
from collections import Counter
from dataclasses import dataclass
from html.parser import HTMLParser
from math import ceil

import pytest
from lxml.html import fromstring

from annotation.gold_checks import has_check
from annotation.models import HIT, Assignment, HITUnit, Participation, Rating
from annotation.selectors import TaskPosition, is_a_first, marks_differences, worksheet
from annotation.services.planning import plan_hits
from annotation.services.ratings import Answer
from annotation.services.reference_units import (
    ReferencePair,
    add_reference_units,
    degrade_copies,
    expect_labels,
)
from annotation.services.screening import check_record
from recruitment.services.launch_checks import launch_checks
from studies.models import Generation, Screening, Study, Unit
from tests.annotation.annotators import Annotator, Page, annotator, form_of, unit_of
from tests.annotation.answers import submit_unit
from tests.annotation.places import take_place
from tests.studies.factories import make_participation, make_study, open_knowingly

pytestmark = pytest.mark.django_db

PROSE = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."


def study_with_checks(
    *, gold: int, check_rate: float = 1, instances: int = 8, n: int = 3, **design
) -> Study:
    """Return an open study with gold checks and three comparisons of one instance per HIT."""
    study = make_study(instances=instances, comparisons_per_hit=n, **design)
    Generation.objects.update(text=PROSE)
    if study.unit_kind == Study.UnitKind.GENERATION:
        texts = Generation.objects.filter(sample_index=0, system__name="system-0")[:gold]
        pairs = [ReferencePair(text, None, {"preference": "5"}) for text in texts]
        add_reference_units(study=study, role=Unit.Role.GOLD, pairs=pairs)
    else:
        degrade_copies(study=study, role=Unit.Role.GOLD, n=gold)
    plan_hits(study=study)
    Screening.objects.create(study=study, check_rate=check_rate)
    return open_knowingly(study)


def take_all(participation: Participation, hits: int) -> list[Assignment]:
    """Complete this number of HITs with correct answers, and return the assignments."""
    done = []
    for _ in range(hits):
        assignment = take_place(participation=participation)
        done.append(assignment)
        sheet = worksheet(assignment)
        for hit_unit in sheet.hit_units.values():
            known = "-1" if int(hit_unit.side_bit) ^ assignment.parity == 0 else "1"
            answers = {
                c: Answer(known, client_key=f"{hit_unit.unit_id}-{c.pk}") for c in sheet.criteria
            }
            submit_unit(assignment=assignment, hit_unit=hit_unit, answers=answers)
    return done


def instances_in_order(assignment: Assignment) -> list[int]:
    hit_units = worksheet(assignment).hit_units.values()
    of_unit = dict(Unit.objects.values_list("pk", "instance_id"))
    return [of_unit[hit_unit.unit_id] for hit_unit in hit_units]


def test_a_check_is_of_its_hits_own_instance_where_there_is_one_of_it():
    study = study_with_checks(gold=8)
    for assignment in take_all(make_participation(study), 8):
        assert assignment.check_unit_id is not None
        assert len(set(instances_in_order(assignment))) == 1


RATES = [0.07, 0.1, 0.2, 0.3, 1 / 3, 0.5, 0.8, 1]


@pytest.mark.parametrize("rate", RATES)
def test_each_rater_meets_the_share_of_checks_and_soon_one(rate):
    n, row = 0, ceil(1 / rate)
    for seed in "abcdefghij":
        checks = [has_check(seed, task, rate) for task in range(10 * row)]
        assert all(any(checks[i : i + row]) for i in range(0, len(checks), row))
        assert abs(sum(checks) - rate * len(checks)) < 1
        n += sum(checks)
    assert n == pytest.approx(rate * 100 * row, abs=6)


@pytest.mark.parametrize("rate", RATES)
def test_each_task_has_a_check_as_often_as_any_other(rate):
    """So none can be foreseen: the share of 2,000 raters is within four standard errors."""
    for task in range(6):
        share = sum(has_check(str(seed), task, rate) for seed in range(2000)) / 2000
        assert abs(share - rate) <= 4 * (rate * (1 - rate) / 2000) ** 0.5


def test_no_rate_is_no_check():
    assert not any(has_check("a", task, 0) for task in range(20))


def test_who_does_ten_tasks_with_a_fifth_of_checks_meets_two():
    study = study_with_checks(gold=4, n=1, check_rate=0.2, instances=10, ratings_per_hit=4)
    for i in range(4):
        done = take_all(make_participation(study, f"person-{i}"), 10)
        assert sum(one.check_unit_id is not None for one in done) == 2


def test_a_check_of_another_instance_stands_at_an_edge():
    study = study_with_checks(gold=1, ratings_per_hit=6)
    people = [make_participation(study, f"person-{i}") for i in range(6)]
    first = [take_all(ann, 1)[0] for ann in people]
    edges = set()
    for assignment in first:
        shown = instances_in_order(assignment)
        (shared, n), *other = Counter(shown).most_common()
        assert n == len(shown) - len(other)
        edges |= {i for i, instance in enumerate(shown) if instance != shared}
    assert edges
    assert edges <= {0, 3}


@pytest.mark.thorough
def test_checks_are_as_frequent_as_asked_for_and_mostly_of_their_hits_instance():
    study = study_with_checks(gold=10, instances=40, n=2, check_rate=0.2, ratings_per_hit=4)
    people = [make_participation(study, f"person-{i}") for i in range(4)]
    done = [assignment for ann in people for assignment in take_all(ann, 30)]
    carrying = [assignment for assignment in done if assignment.check_unit_id is not None]
    fitting = [
        assignment for assignment in carrying if len(set(instances_in_order(assignment))) == 1
    ]
    assert 0.1 < len(carrying) / len(done) < 0.32
    assert len(fitting) / len(carrying) > 0.8


def test_where_every_unit_has_its_own_source_a_check_has_one_too():
    study = study_with_checks(gold=8, n=3, bundling=Study.Bundling.MIXED, samples=1)
    for assignment in take_all(make_participation(study), 2):
        shown = instances_in_order(assignment)
        assert len(shown) == len(set(shown))


def test_checks_are_made_of_instances_that_the_plan_asks_about():
    study = make_study(instances=12)
    Generation.objects.update(text=PROSE)
    half = [f"note-{i}" for i in range(6)]
    Generation.objects.filter(instance__key__in=half, system__name="system-1").delete()
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=6)
    planned = set(HIT.objects.main().values_list("instance", flat=True))
    checked = set(Unit.objects.filter(role="gold").values_list("instance", flat=True))
    assert checked <= planned


def test_where_others_may_complete_a_place_a_check_is_never_last():
    study = study_with_checks(gold=4, abandoned=Study.Abandoned.UNITS)
    for assignment in take_all(make_participation(study), 8):
        *_, last = worksheet(assignment).hit_units.values()
        assert last.unit_id != assignment.check_unit_id
    assert check_record(make_participation(study)).of == 4


class Screen(HTMLParser):
    """A page's tags, attributes and words. Numbers and random keys are masked."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag, attrs):
        masked = [(name, self._masked(value or "")) for name, value in attrs if name != "checked"]
        self.parts.append(f"<{tag} {masked}>")

    def handle_endtag(self, tag):
        self.parts.append(f"</{tag}>")

    def handle_data(self, data):
        if words := " ".join(data.split()):
            self.parts.append(re.sub(r"\d+", "#", words))

    def _masked(self, value: str) -> str:
        # The address of the page after the last unit has neither its task nor a number.
        addressed = r"(?<=/)task/[0-9a-z]{12}/\d+/$|(?<=/)\d+/$"
        return re.sub(rf"[0-9a-f]{{8}}-[0-9a-f-]{{27}}|{addressed}|\d+", "", value)


def screen(response: Page) -> tuple[object, ...]:
    """Return all that a response shows and sends, but texts, numbers and random keys."""
    page = re.sub(
        r'(<p class="text[^>]*>).*?</p>', r"\1</p>", response.content.decode(), flags=re.S
    )
    page = re.sub(r'(name="(?:csrfmiddlewaretoken|assignment)" value=)"[^"]*"', r'\1"key"', page)
    reader = Screen()
    reader.feed(page)
    changing = {"Content-Length", "Expires", "X-Request-ID"}
    sent = {name: value for name, value in response.items() if name not in changing}
    return (*reader.parts, response.status_code, *sorted(sent.items()))


@dataclass
class Seen:
    """One screen: what it is for, where it stands, what it shows, and the answer to saving."""

    assignment: str
    position: int
    counter: list[str]
    counted: list[str]
    shown: tuple[object, ...]
    saved: tuple[object, ...]
    # The answer to changing the previous item in another tab, while this one is open.
    corrected: tuple[object, ...]
    values: set[str]


def screens(page: Annotator, tasks: int, headers: dict[str, str]) -> list[Seen]:
    """Work through whole tasks, and return every screen."""
    seen: list[Seen] = []
    form = None
    while page.participation.assignments.filter(status="completed").count() < tasks:
        shown = page.here()
        corrected = screen(page.send(form.filled(1), **headers)) if form else ()
        form = form_of(shown)
        html = shown.content.decode()
        counter = re.search(r'<p class="task">(.*?)</p>', html)[1]
        counted = re.findall(r"\d+", re.search(r'id="unit-heading">(.*?)</h2>', html)[1])
        saved = screen(page.send(form.filled(0), **headers))
        place = form.hidden["assignment"], int(form.hidden["position"])
        # But of the counter's bar, which is compared below.
        values = set(map(str, fromstring(html).xpath("//@*[not(parent::progress)]")))
        numbers = re.findall(r"\d+", counter)
        seen.append(Seen(*place, numbers, counted, screen(shown), saved, corrected, values))
    return seen


TEXTS = {"unit_kind": "generation", "scale": "ordinal:1..5", "samples": 3}
DESIGNS = {
    "one comparison": {"n": 1},
    "three comparisons": {"n": 3},
    "one text": {"n": 1, **TEXTS},
    "three texts": {"n": 3, **TEXTS, "samples": 2},  # 3 of 4 are rated, and one is a check
    "repeats": {"n": 3, "repeats_per_hit": 1, "repeat_distance": 1},
    "one comparison and its repeat": {"n": 1, "repeats_per_hit": 1, "repeat_distance": 1},
}


@pytest.mark.thorough
@pytest.mark.parametrize("design", DESIGNS)
def test_checks_and_repeats_look_like_any_other_item(design):
    design_of_study = {"hits_per_annotator": 12, **DESIGNS[design]}
    study = study_with_checks(gold=12, check_rate=0.5, instances=12, **design_of_study)
    for headers in ({"hx_request": "true"}, {}):  # 24 tasks are hardly ever alike by chance
        page = annotator(study)
        seen = screens(page, 12, headers)
        size = study.comparisons_per_hit + study.repeats_per_hit
        # The first task cannot be stopped, and nothing precedes the first item.
        looks = [{(one.shown, one.saved) for one in part} for part in parts(seen, size + 1)]
        corrected = [{one.corrected for one in part} for part in parts(seen[1:], size + 1)]
        assert {len(of_kind) for of_kind in looks + corrected} == {1}
        shared = Counter(value for one in seen[size + 1 :] for value in one.values)
        n_shared = {n for n in shared.values() if n > 1}
        assert n_shared == {len(seen) - size - 1}
        assert not any(one.counted for one in seen)
        done = [100 * (n - 1) // max(12 * size + 6, n) for n in range(1, len(seen) + 1)]
        assert [one.counter for one in seen] == [["100", *[str(n)] * 2] for n in done]
    assert Rating.objects.filter(superseded=True).count() == 0
    assert 0 < Assignment.objects.filter(check_unit__isnull=False).count() < 24


@pytest.mark.parametrize("role", ["gold", "qualification", "training"])
@pytest.mark.parametrize("of_copies", [True, False])
def test_no_page_marks_what_was_changed_in_a_copy(role, of_copies):
    study = make_study(instances=4)
    for system in study.systems.all():
        Generation.objects.filter(system=system).update(text=f"{PROSE} So says {system.name}.")
    if of_copies:
        degrade_copies(study=study, role=Unit.Role(role), n=1)
    else:
        a, b = Generation.objects.filter(instance=study.dataset.instances.first(), sample_index=0)
        pairs = [ReferencePair(a, b, {"preference": "-1"})]
        add_reference_units(study=study, role=Unit.Role(role), pairs=pairs)
    plan_hits(study=study)
    sizes = {"check_rate": 0.5} if role == "gold" else {f"{role}_units": 1, "pass_mark": 1}
    Screening.objects.create(study=study, **sizes)
    reveals = of_copies and role != "training"
    assert marks_differences(study) is not reveals
    shown = annotator(open_knowingly(study)).here().content.decode()
    assert ('id="differences"' in shown) is not reveals
    assert ("<kbd>D</kbd>" in shown) is not reveals


def parts(seen: list[Seen], n: int) -> tuple[list[Seen], list[Seen]]:
    return seen[:n], seen[n:]


def test_items_are_resumed_and_no_address_tells_which_share_a_task():
    page = annotator(study_with_checks(gold=8, n=1))
    keys = []
    for _ in range(2):
        first, again = (form_of(page.here()).hidden["assignment"] for _ in range(2))
        assert first == again
        keys.append(first)
        page.choose()
        assert {page.client.get(page.at(n))["Location"] for n in (1, 2)} == {page.at()}
    assert len(set(keys)) == 2
    task = page.participation.assignments.get(status="completed")
    assert list(task.ratings.values_list("position", flat=True)) == [1, 2]
    page.send(form_of(page.here()).filled() | {"assignment": keys[0]})
    assert task.ratings.count() == 2


def test_no_page_of_a_task_says_what_a_unit_is_for():
    study = study_with_checks(gold=8, repeats_per_hit=1, repeat_distance=1)
    page = annotator(study)
    for _ in range(10):
        shown = page.here()
        saved = page.send(form_of(shown).filled(), hx_request="true")
        for html in (shown.content.decode(), saved.content.decode()):
            said = re.sub(r'no-repeat|"resend"', "", html).lower()
            assert not re.findall("gold|check_unit|known|spoilt|perturbed|repeat", said)


def test_where_no_checks_are_mixed_in_a_task_says_its_one_number():
    page = annotator(study_with_checks(gold=2, check_rate=0, repeats_per_hit=1, repeat_distance=1))
    for n in range(1, 5):
        assert unit_of(page.here()) == (n, "4")
        page.choose()


def test_the_page_of_a_planned_repeat_is_built_like_every_other():
    study = make_study(instances=2, comparisons_per_hit=4, repeats_per_hit=2, repeat_distance=1)
    plan_hits(study=study)
    page = annotator(open_knowingly(study))
    for _ in range(6):
        page.choose()
    assert len({screen(page.client.get(page.at(n))) for n in range(2, 7)}) == 1


def of_both_systems(study: Study, role: Unit.Role, labels: list[str]) -> None:
    """Add reference units that compare the study's own systems, with these expected labels."""
    texts = Generation.objects.filter(instance__dataset=study.dataset_id, sample_index=0)
    sides = (texts.filter(system=system).order_by("pk") for system in study.ordered_systems())
    pairs = [
        ReferencePair(a, b, {"preference": label})
        for a, b, label in zip(*sides, labels, strict=False)
    ]
    add_reference_units(study=study, role=role, pairs=pairs)


def right_side(assignment: Assignment, hit_unit: HITUnit) -> str:
    known = Unit.objects.get(pk=hit_unit.unit_id).known_labels["preference"]
    is_left = (known == "-1") == is_a_first(assignment, hit_unit)
    return "left" if is_left else "right"


@pytest.mark.parametrize("labels", [["-1"] * 6, ["1", "1", "-1", "1", "-1", "-1"]])
def test_the_right_answers_of_one_annotator_are_on_both_sides_in_turn(labels):
    study = make_study(instances=6, comparisons_per_hit=1, ratings_per_hit=3)
    of_both_systems(study, Unit.Role.GOLD, labels)
    plan_hits(study=study)
    Screening.objects.create(study=study, check_rate=1)
    study = open_knowingly(study)
    for n in range(3):
        sides = []
        for assignment in take_all(make_participation(study, f"person-{n}"), 6):
            hit_units = worksheet(assignment).hit_units.values()
            check = next(u for u in hit_units if u.unit_id == assignment.check_unit_id)
            sides.append(right_side(assignment, check))
        assert [set(sides[i : i + 2]) for i in (0, 2, 4)] == [{"left", "right"}] * 3


@pytest.mark.parametrize("seed", "abcdefgh")
def test_the_right_answers_of_a_test_are_as_often_left_as_right(seed):
    study = make_study(instances=4, seed=seed)
    of_both_systems(study, Unit.Role.QUALIFICATION, ["-1", "-1", "1", "1"])
    expect_labels(study=study, key="qualification-3", labels={"preference": "-1"})
    expect_labels(study=study, key="qualification-0", labels={"preference": "1"})
    shown = HITUnit.objects.filter(hit__kind="qualification").select_related("hit")
    sides = Counter(right_side(Assignment(hit=one.hit), one) for one in shown)
    assert sides == {"left": 2, "right": 2}


@pytest.mark.parametrize("role", ["gold", "qualification"])
@pytest.mark.parametrize(
    ("labels", "is_warned"),
    [
        (["1", "1", "1", "1"], True),
        (["1", "1", "-1", "1"], True),
        (["1", "-1", "-1", "1"], False),
        (["1", "0", "0", "-1"], False),
        (["1"], False),
    ],
)
def test_it_is_said_before_opening_that_checks_favour_a_system(role, labels, is_warned):
    study = make_study(instances=4)
    of_both_systems(study, Unit.Role(role), labels)
    plan_hits(study=study)
    checks = {check.code: check.is_error for check in launch_checks(study)}
    checks.pop("shown_before_rated", None)  # of so few instances none is set aside
    assert checks == ({f"{role}_favours_a_system": False} if is_warned else {})


def test_copies_favour_no_system():
    study = make_study(instances=4)
    Generation.objects.update(text=PROSE)
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=4)
    assert not any("favours" in check.code for check in launch_checks(study))


@pytest.mark.parametrize("design", [{"n": 1}, {"n": 2, "bundling": "mixed", "samples": 1}])
def test_nobody_meets_an_instance_both_as_a_gold_check_and_as_a_task_while_there_are_others(design):
    study = study_with_checks(
        gold=8, check_rate=0.2 * design["n"], instances=24, ratings_per_hit=6, **design
    )
    size = design["n"]
    for name in "abc":
        person = make_participation(study, name)
        checks, rated = [], []
        for assignment in take_all(person, 14 // size):
            check, units = assignment.check_unit, assignment.hit.hit_units.all()
            checks += [check.instance_id] if check else []
            rated += units.values_list("unit__instance", flat=True)
        assert checks
        assert not set(checks) & set(rated)


def test_where_no_other_instance_is_left_everything_is_rated_all_the_same():
    study = study_with_checks(gold=3, check_rate=0.5, instances=6, n=1)
    assert len(take_all(make_participation(study), 6)) == 6


@pytest.mark.parametrize("total", [0, 1, 3, 199, 1000])
def test_progress_is_never_rounded_up_to_full(total):
    assert TaskPosition(max(total, 1), total).percent_done < 100


def test_progress_has_a_number_and_is_not_full_before_the_last_answer():
    study = study_with_checks(gold=4, check_rate=0.5, instances=4, n=1)
    person, done = annotator(study), []
    while found := re.search(r"data-done>(\d+)%<", (page := person.here()).text):
        (bar,) = re.findall(r'<p class="task">.*?<progress max="100" value="(\d+)"', page.text)
        assert bar == found[1]
        done.append(int(bar))
        person.send(form_of(page).filled(0))
    assert len(done) > 4
    assert done[0] == 0
    assert done == sorted(done)
    assert max(done) < 100

"""Gold checks and planned repeats look like other units in counters, markup and addresses."""

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from annotation.models import HIT, Assignment, Participation
from annotation.selectors import worksheet
from annotation.services.places import take_place
from annotation.services.planning import plan_hits
from annotation.services.ratings import Answer
from annotation.services.reference_units import degrade_copies
from annotation.services.screening import check_record
from studies.models import Generation, Screening, Study, Unit
from tests.annotation.annotators import Annotator, annotator, form_of
from tests.annotation.answers import submit_unit
from tests.pages import numbers_in
from tests.studies.factories import make_participation, make_study, open_knowingly

pytestmark = pytest.mark.django_db

PROSE = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."


def study_with_checks(
    *, gold: int, check_rate: float = 1, instances: int = 8, n: int = 3, **design
) -> Study:
    """Return an open study with gold checks and three comparisons of one instance per HIT."""
    study = make_study(instances=instances, comparisons_per_hit=n, **design)
    Generation.objects.update(text=PROSE)
    plan_hits(study=study)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=gold)
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


class Structure(HTMLParser):
    """A page's tags and attributes without its texts. Numbers and random keys are masked."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag, attrs):
        masked = [(name, self._masked(value or "")) for name, value in attrs if name != "checked"]
        self.parts.append(f"<{tag} {masked}>")

    def handle_endtag(self, tag):
        self.parts.append(f"</{tag}>")

    def _masked(self, value: str) -> str:
        # The address of the page after the last unit has neither its task nor a number.
        addressed = r"(?<=/)task/[0-9a-z]{12}/\d+/$|(?<=/)\d+/$"
        return re.sub(rf"[0-9a-f]{{8}}-[0-9a-f-]{{27}}|{addressed}|\d+", "", value)


def structure(page: str) -> list[str]:
    reader = Structure()
    # Keys and tokens differ between any two pages, so they are masked.
    page = re.sub(r'(name="(?:csrfmiddlewaretoken|assignment)" value=)"[^"]*"', r'\1"key"', page)
    reader.feed(page)
    return reader.parts


def walk(page: Annotator) -> dict[int, tuple[str, str, str]]:
    """Return the page, the address and the response to saving of each unit of the current task."""
    shown = {}
    while True:
        response = page.here()
        form = form_of(response)
        number = int(form.hidden["position"])
        if number in shown or len(shown) > 10:
            return shown
        answer = page.send(form.filled(0), hx_request="true")
        shown[number] = response.content.decode(), page.at(number), answer.content.decode()
        if answer.context["progress"].is_hit_done:
            return shown


def test_the_page_of_a_check_is_built_like_every_other():
    study = study_with_checks(gold=8)
    page = annotator(study)
    shown = walk(page)
    assignment = Assignment.objects.get()
    check = next(
        number
        for number, hit_unit in worksheet(assignment).hit_units.items()
        if hit_unit.unit_id == assignment.check_unit_id
    )
    pages = {number: structure(html) for number, (html, _, _) in shown.items()}
    # The first page has no link to a previous page, unlike all other pages.
    ordinary = next(n for n in pages if n not in (check, 1))
    if check != 1:
        assert pages[check] == pages[ordinary]
    back = {n: structure(page.client.get(page.at(n)).content.decode()) for n in shown}
    later = [parts for n, parts in back.items() if n != 1]
    assert all(parts == later[0] for parts in later)
    assert re.sub(r"\d+", "#", shown[check][1]) == re.sub(r"\d+", "#", shown[ordinary][1])


@pytest.mark.parametrize("word", ["gold", "check_unit", "known", "spoilt", "perturbed", "repeat"])
def test_no_page_of_a_task_says_what_a_unit_is_for(word):
    study = study_with_checks(gold=8, repeats_per_hit=1, repeat_distance=1)
    for html, _, answer in walk(annotator(study)).values():
        assert word not in re.sub(r'no-repeat|"resend"', "", html).lower()
        assert word not in answer.lower()


WORDS = re.compile(r"<(script|style|article|pre)\b.*?</\1>|<[^>]+>", re.S)


def words_of(html: str) -> str:
    """What a page says apart from its texts and the number of its task."""
    return re.sub(r"Task \d+|\s+", " ", WORDS.sub(" ", html)).replace(PROSE, "")


@pytest.mark.parametrize("n", [1, 3])
def test_the_words_and_controls_of_a_task_do_not_tell_whether_it_has_a_check(n):
    study = study_with_checks(gold=8, check_rate=0.5, n=n)
    page, looks, sizes = annotator(study), set(), set()
    for _ in range(8):
        shown = walk(page)
        sizes.add(len(shown))
        later = shown.items() if n == 1 else list(shown.items())[-1:]
        if Assignment.objects.count() > 1:  # from the second task on, one may stop
            looks |= {
                (
                    tuple(structure(html)),
                    tuple(structure(answer)),
                    words_of(answer).replace("4 of", "3 of"),
                )
                for _, (html, _, answer) in later
            }
    assert sizes == {n, n + 1}
    assert len(looks) == 1


def counters(page: Annotator) -> list[tuple[str, ...]]:
    """Return the numbers that each page gives as the total of units: one number, or two."""
    lines = (
        re.search(r'id="unit-heading">.*?> \d+ (.*?)</span></h2>', html, re.S)[1]
        for html, _, _ in walk(page).values()
    )
    return [tuple(sorted(numbers_in(line))) for line in lines]


def test_a_task_with_a_check_counts_like_one_without():
    study = study_with_checks(gold=8, check_rate=0.5)
    totals = set()
    for page in (annotator(study), annotator(study)):  # 16 tasks are hardly ever alike by chance
        for _ in range(8):
            totals |= set(counters(page))
    carried = Assignment.objects.filter(check_unit__isnull=False).count()
    assert 0 < carried < Assignment.objects.count()
    assert totals == {("3", "4")}


def test_where_no_checks_are_mixed_in_a_task_says_its_one_number():
    study = study_with_checks(gold=2, check_rate=0, repeats_per_hit=1, repeat_distance=1)
    assert set(counters(annotator(study))) == {("4",)}


def test_the_page_of_a_planned_repeat_is_built_like_every_other():
    study = make_study(instances=2, comparisons_per_hit=4, repeats_per_hit=2, repeat_distance=1)
    plan_hits(study=study)
    page = annotator(open_knowingly(study))
    numbers = walk(page)
    back = [structure(page.client.get(page.at(n)).content.decode()) for n in numbers if n != 1]
    assert len(back) == 5
    assert all(parts == back[0] for parts in back)

"""A system joins after people have begun: machines judge it, and nothing of people's changes."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.counts import progress_of
from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Place, Rating
from machine_raters.models import MachineRater
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from machine_raters.uploads.ratings import add_machine_ratings
from metrics.models import Licence
from metrics.results.joining import (
    join_or_go_on,
    join_system,
    let_machines_judge,
    systems_to_join,
)
from metrics.results.sections import refresh_section, stored_section
from metrics.results.services import refresh_report, watermark
from recruitment.costs import accounts, places_total
from recruitment.models import Channel
from studies.models import Generation, Study, System
from tests.api.clients import at, problem_of, program
from tests.machine_raters.judging.scripted import material, model
from tests.machine_raters.judging.test_judging import judge_for
from tests.machine_raters.juries.test_juries import jury_of
from tests.refusals import refused, refused_file
from tests.studies.factories import make_study
from tests.tiebreak.formats.bundles import make_bundle, write_lines
from tiebreak.reading.figures.systems.leaderboard import ALONE, board_figure

__all__ = ["model"]
pytestmark = pytest.mark.django_db
ITEMS, KINDS = 8, ("chat", "news")


@pytest.fixture
def study(tmp_path):
    """Two systems that three people rated on items of two kinds; a third has texts alone."""
    bundle = make_bundle(tmp_path / "bundle")
    names = [f"i{n}" for n in range(ITEMS)]
    instances = [
        {"id": name, "source": "S", "category": KINDS[n % 2]} for n, name in enumerate(names)
    ]
    texts = [
        {"instance": name, "system": system, "sample_index": 0, "text": f"{system} {name}"}
        for name in names
        for system in ("old", "new")
    ]
    rows = [
        {
            **{
                "unit": f"u-{name}",
                "instance": name,
                "rater": rater,
                "label": [1, 1, -1, -1][n % 4],
            },
            **{"system_a": "old", "system_b": "new", "sample_index": 0},
        }
        for n, name in enumerate(names)
        for rater in ("r", "s", "t")
    ]
    for name, lines in (("instances", instances), ("generations", texts), ("ratings", rows)):
        write_lines(bundle / f"{name}.jsonl", lines)
    study = import_study(path=bundle).study
    late = System.objects.create(dataset=study.dataset, name="late")
    Generation.objects.bulk_create(
        Generation(instance=one, system=late, sample_index=0, text=f"late {one.key}")
        for one in study.dataset.instances.all()
    )
    return study


def prefers():
    """A model that prefers the text that stands later in this list."""
    order = ["old", "new", "late"]

    def reply(request) -> str:
        shown = [
            line.split()[0]
            for line in material(request).splitlines()
            if line.split()[:1] and line.split()[0] in order
        ]
        return "AB"[order.index(shown[1]) > order.index(shown[0])]

    return reply


def judged(study, model):
    model(prefers())
    judge = judge_for(study)
    start_machine_rater(machine=judge)
    return judge


def of_people(study, folder) -> dict:
    """Return everything that is counted of people, and an export but for its log."""
    study = Study.objects.get(pk=study.pk)
    report = refresh_report(study=study).report
    export_study(study=study, out=folder)
    files = {
        path.name: path.read_text()
        for path in folder.glob("*.*")
        if path.name not in {"log.jsonl", "manifest.json", "report.json"}
    }
    return {
        "report": report["criteria"],
        "places": list(Place.objects.filter(study=study).order_by("pk").values()),
        "ratings": list(Rating.objects.filter(unit__study=study).order_by("pk").values()),
        "units": list(study.units.order_by("pk").values()),
        "hits": list(study.hits.order_by("pk").values()),
        "systems": [one.name for one in study.ordered_systems()],
        "files": files,
    }


def board(study, *, licensed=""):
    if licensed:
        judge = study.machine_raters.get(name=licensed).rater
        Licence.objects.create(
            study=study, criterion=study.criteria.get(), rater=judge, annotators="crowd",
            valid_until="2999-01-01", evidence={}, granted_at="2026-01-01T00:00Z",
        )  # fmt: skip
    refresh_report(study=study)
    snapshot = refresh_section(study=study, name="leaderboard")
    return stored_section(snapshot, study.criteria.get().name).part


def test_nothing_of_people_changes_when_a_system_joins_and_is_judged(study, model, tmp_path):
    judged(study, model)
    before = of_people(study, tmp_path / "before")
    joined = join_system(study=study, name="late")
    assert let_machines_judge(joined=joined) == {}
    after = of_people(study, tmp_path / "after")
    for name in before:
        assert after[name] == before[name], name
    assert Rating.objects.filter(unit__study=joined.study).count() == 2 * 2 * ITEMS


def test_its_pairs_with_each_system_are_in_a_closed_study_without_places(study, model):
    Channel.objects.create(study=study, provider="open_link")
    joined = join_system(study=study, name="late")
    pairs = {tuple(unit.system_names) for unit in joined.study.units.all()}
    assert {frozenset(pair) for pair in pairs} == {
        frozenset({"late", "old"}), frozenset({"late", "new"})
    }  # fmt: skip
    assert joined.study.status == Study.Status.CLOSED
    assert not Place.objects.filter(study=joined.study).exists()
    assert progress_of(joined.study).places == places_total(accounts(joined.study).plan) == 0
    assert not joined.study.channels.exists()
    assert study.events.filter(verb="join-system").count() == 1


def test_the_board_has_its_row_while_the_machine_has_a_licence(study, model):
    judged(study, model)
    joined = join_system(study=study, name="late")
    state = watermark(study)
    let_machines_judge(joined=joined)
    assert watermark(study) != state  # so pages compute the board anew
    part = board(study)
    assert part.machines_only["gpt"]["late"].value == 1
    assert "late" not in part.win_rate
    assert not any(row[0] == "late" for row in board_figure(part).rows)
    figure = board_figure(board(study, licensed="gpt"))
    [row] = [row for row in figure.rows if row[0] == "late"]
    assert row[:4] == ("late", ALONE, "", "by gpt")
    rates = part.machines["gpt"] | part.machines_only["gpt"]
    assert rates["late"].scope == rates["old"].scope
    assert "rated by no annotator" in figure.reading


def test_columns_of_people_are_the_same_with_a_joined_system(study, model):
    judged(study, model)
    before = board(study)
    let_machines_judge(joined=join_system(study=study, name="late"))
    after = board(study)
    for name in ("win_rate", "controlled", "powered", "rank_sets", "categories", "machines"):
        assert getattr(after, name) == getattr(before, name), name


def test_simple_raters_and_a_composite_judge_it_by_what_people_said_of_others(study, model):
    judged(study, model)
    criterion = study.criteria.get()
    create_machine_rater(
        study=study, kind="baseline", name="longer", criterion=criterion, method="longer", seed=0
    )
    jury_of(study, "gpt", "longer", rule="composite", name="best")
    joined = join_system(study=study, name="late")
    assert let_machines_judge(joined=joined) == {}
    made = MachineRater.objects.filter(study=joined.study).values_list("name", flat=True)
    assert {*made} == {"gpt", "longer", "best"}
    rated = Rating.objects.filter(unit__study=joined.study, rater__pseudonym="best")
    assert rated.count() == 2 * ITEMS
    assert {*board(study).machines_only} >= {"gpt", "best"}


def test_machine_raters_go_on_where_they_stopped(study, model):
    judged(study, model)
    joined = join_system(study=study, name="late")
    let_machines_judge(joined=joined)
    number = Rating.objects.count()
    assert let_machines_judge(joined=joined) == {}
    assert Rating.objects.count() == number


def test_a_machine_that_rates_elsewhere_waits_for_an_upload(study, tmp_path):
    unit = study.units.first()
    row = {"unit": unit.key, "rater": "far", "kind": "machine", "label": -1}
    (tmp_path / "far.jsonl").write_text(json.dumps(row))
    add_machine_ratings(study=study, path=tmp_path / "far.jsonl")
    joined = join_system(study=study, name="late")
    assert [*let_machines_judge(joined=joined)] == ["far"]
    there = row | {"unit": joined.study.units.first().key}
    (tmp_path / "there.jsonl").write_text(json.dumps(there))
    add_machine_ratings(study=joined.study, path=tmp_path / "there.jsonl")
    assert let_machines_judge(joined=joined) == {}


def test_a_system_joins_once_and_not_one_that_competes(study):
    assert [one.name for one in systems_to_join(study)] == ["late"]
    join_system(study=study, name="late")
    for name in ("late", "old"):
        with refused("joined_already"):
            join_system(study=study, name=name)
    with refused("unknown_system"):
        join_system(study=study, name="nobody")


def test_a_draft_plans_the_system_for_people_instead():
    with refused("study_is_draft"):
        join_system(study=make_study(), name="system-0")


def test_a_page_lets_a_system_join_and_be_judged(study, model, admin_client):
    judged(study, model)
    page = reverse("metrics:board", args=[study.pk])
    assert "<option>late</option>" in admin_client.get(page).content.decode()
    address = reverse("metrics:join-system", args=[study.pk])
    assert admin_client.post(address, {"system": "late"}).status_code == 302
    shown = admin_client.get(page).content.decode()
    assert 'data-joined="late"' in shown
    assert "<option>late</option>" not in shown
    assert study.joined_systems.get().study.machine_raters.get().name == "gpt"


def texts(*rows, name="texts.jsonl"):
    return SimpleUploadedFile(name, "\n".join(map(json.dumps, rows)).encode())


def test_a_system_joins_with_the_texts_of_a_file(study, model, admin_client, tmp_path):
    judged(study, model)
    before = of_people(study, tmp_path / "before")
    rows = [{"instance": f"i{n}", "text": f"late of a file {n}"} for n in range(ITEMS)]
    form = {"name": "filed", "texts": texts(*rows)}
    assert (
        admin_client.post(reverse("metrics:join-system", args=[study.pk]), form).status_code == 302
    )
    assert of_people(study, tmp_path / "after") == before
    joined = study.joined_systems.get()
    assert joined.system.name == "filed"
    assert Rating.objects.filter(unit__study=joined.study).count() == 2 * 2 * ITEMS


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"instance": "i0", "text": "x", "score": 1}, "unknown_column"),
        ({"instance": "nowhere", "text": "x"}, "unknown_instance"),
        ({"instance": "i1", "text": "x", "system": "old"}, "other_system"),
        ({"instance": "i1", "text": "x", "sample_index": 0}, "repeated"),
        ({"instance": "i1"}, "not_a_text"),
    ],
)
def test_a_file_with_anything_else_is_refused_whole(study, row, code):
    rows = [{"instance": f"i{n}", "text": "x"} for n in range(1, ITEMS)]
    with refused_file(("texts.jsonl", ITEMS, code)):
        join_system(study=study, name="filed", texts=texts(*rows, row))
    assert not study.dataset.systems.filter(name="filed").exists()


def test_a_file_that_lacks_an_instance_is_refused_and_a_name_is_given_once(study):
    with refused("texts_missing"):
        join_system(study=study, name="filed", texts=texts({"instance": "i0", "text": "x"}))
    assert not study.dataset.systems.filter(name="filed").exists()
    with refused("name_taken"):
        join_system(study=study, name="old", texts=texts({"instance": "i0", "text": "x"}))


def test_a_program_lets_a_system_join_and_machine_raters_go_on(study, model, admin_user):
    judged(study, model)
    client, where = program(admin_user), at("board-join", study.pk)
    assert client.get(at("board-list", study.pk)).json()["can_join"] == ["late"]
    assert client.post(where, {"name": "late"}).json() == {"has_joined": True, "waiting": {}}
    assert client.post(where, {"name": "late"}).json() == {"has_joined": False, "waiting": {}}
    shown = client.get(at("board-list", study.pk)).json()
    [joined] = shown["joined"]
    assert (joined["system"], shown["can_join"]) == ("late", [])
    assert Study.objects.get(pk=joined["study"]).machine_raters.get().name == "gpt"
    only_this = program(admin_user, studies=[study])
    assert problem_of(only_this.post(where, {"name": "late"})) == (403, "needs_all_studies")


def test_texts_of_a_system_that_joined_already_are_refused_and_not_left_unread(study):
    join_system(study=study, name="late")
    with refused("name_taken"):
        join_or_go_on(study=study, name="late", texts=texts({"instance": "i0", "text": "x"}))

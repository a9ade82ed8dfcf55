"""What ratings from elsewhere cost is said with them, can change, and is never guessed."""

import json
from decimal import Decimal

import lxml.html
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.models import Rater
from jobs.models import Job
from machine_raters.models import StatedCost
from machine_raters.services.machine_raters import create_machine_rater
from machine_raters.services.rating_costs import rating_costs, state_rating_cost
from tests.api.clients import at, problem_of, program
from tests.refusals import refused
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(ruth):
    return make_open_study(instances=3, comparisons_per_hit=1, ratings_per_hit=1, member=ruth)


def file_of(study, **labels: list[int]) -> SimpleUploadedFile:
    """A ratings file: for each rater its labels of the first items, in both orders or in one."""
    units = list(study.units.order_by("pk"))
    rows = [
        {"unit": unit.key, "rater": rater, "kind": "machine", "order": order, "label": label}
        for rater, orders in labels.items()
        for order, label in zip(("ab", "ba"), orders, strict=False)
        for unit in units
    ]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    return SimpleUploadedFile("ratings.jsonl", text.encode())


def send(client, study, file, **more: str):
    address = reverse("machine_raters:upload-verdicts", args=[study.pk])
    return client.post(address, {"ratings": file, "format": "ratings", **more})


def amounts(study) -> dict[str, Decimal | None]:
    return {name: cost.amount for name, cost in rating_costs(study).items()}


def row_on_page(client, study, name: str):
    page = client.get(reverse("machine_raters:judges", args=[study.pk]))
    (row,) = lxml.html.fromstring(page.content).xpath(f"//tr[@data-elsewhere='{name}']")
    return row


def test_an_upload_says_what_a_rating_cost_and_the_page_can_change_it(client, study):
    assert send(client, study, file_of(study, gpt=[1])).status_code == 302
    assert amounts(study) == {"gpt": None}
    assert row_on_page(client, study, "gpt").find_class("undefined")
    assert send(client, study, file_of(study, gpt=[1]), cost="0.0035").status_code == 302
    assert amounts(study) == {"gpt": Decimal("0.0035")}
    row = row_on_page(client, study, "gpt")
    assert row.xpath(".//input[@name='cost']/@value") == ["0.0035"]
    assert study.currency in row.text_content() + "".join(row.xpath(".//input/@aria-label"))
    assert send(client, study, file_of(study, gpt=[1])).status_code == 302
    assert amounts(study) == {"gpt": Decimal("0.0035")}, (
        "an upload that says nothing changes nothing"
    )
    address = reverse("machine_raters:rating-cost", args=[study.pk])
    for typed, stored in (("0", Decimal(0)), ("many", Decimal(0)), ("-1", Decimal(0)), ("", None)):
        assert client.post(address, {"rater": "gpt", "cost": typed}).status_code == 302
        assert amounts(study) == {"gpt": stored}
    said = [event.details["cost"] for event in study.events.filter(verb="state-rating-cost")]
    assert said == ["unknown", "0", "0.0035"]


def test_a_cost_that_is_none_refuses_the_whole_file(client, study):
    for cost in ("-1", "0.000000001", "NaN", "dear"):
        assert send(client, study, file_of(study, gpt=[1]), cost=cost).status_code == 400
    assert not Rater.objects.filter(kind="machine").exists()
    assert not StatedCost.objects.exists()


def test_a_large_file_keeps_its_cost_for_the_worker(client, study, settings):
    settings.TIEBREAK_IMPORT_AT_ONCE_BYTES = 10
    assert send(client, study, file_of(study, gpt=[1]), cost="0.002").status_code == 302
    assert amounts(study) == {"gpt": Decimal("0.002")}
    assert Job.objects.get(kind="verdicts").result == {"added": 3, "known": 0}


def test_programs_say_and_read_costs(ruth, study):
    ask, url = program(ruth), at("machine-rating-list", study.pk)
    body = {"ratings": file_of(study, gpt=[1], llama=[1]), "cost": "0.01"}
    assert ask.post(url, body).json() == {"added": 6, "known": 0}
    change = at("machine-rating-cost", study.pk)
    answer = ask.post(change, {"rater": "llama", "cost": None}, content_type="application/json")
    assert answer.json()["cost"] is None
    assert answer.json()["unknown_because"]
    gpt, llama = ask.get(url).json()
    assert (gpt["name"], gpt["ratings"], Decimal(gpt["cost"])) == ("gpt", 3, Decimal("0.01"))
    assert (llama["name"], llama["cost"]) == ("llama", None)
    nobody = {"rater": "nobody", "cost": "1"}
    answer = ask.post(change, nobody, content_type="application/json")
    assert problem_of(answer) == (404, "no_such_machine_rater")


def test_a_machine_that_was_made_here_has_no_stated_cost(study):
    length = create_machine_rater(
        study=study,
        kind="baseline",
        name="length",
        method="longer",
        criterion=study.criteria.get(name="preference"),
    )
    with refused("made_here"):
        state_rating_cost(study=study, rater=str(length), cost=Decimal(1))
    assert amounts(study) == {"length": 0}


def test_a_jury_costs_what_its_members_cost_together(client, study):
    send(client, study, file_of(study, x=[1, 1], y=[1]), cost="0.01")
    members = Rater.objects.filter(kind="machine")
    criterion = study.criteria.get(name="preference")
    jury = create_machine_rater(
        study=study, kind="jury", name="both", criterion=criterion, members=members
    )
    assert amounts(study)["both"] == Decimal("0.03"), "x answers each item in both orders"
    page = client.get(reverse("machine_raters:juries", args=[study.pk])).content.decode()
    assert f"0.03 {study.currency}" in page
    state_rating_cost(study=study, rater="y", cost=None)
    cost = rating_costs(study)[str(jury)]
    assert cost.amount is None
    assert "y" in cost.unknown_because


def test_an_export_says_what_a_rating_cost(client, study, tmp_path):
    send(client, study, file_of(study, gpt=[1]), cost="0.0035")
    export_study(study=study, out=tmp_path / "export")
    (line,) = (tmp_path / "export" / "machine_raters.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert (row["rater"], row["kind"]) == ("gpt", "uploaded")
    assert row["settings"] == {"cost_of_a_rating": "0.0035"}

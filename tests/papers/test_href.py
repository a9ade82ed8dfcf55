"""Lyu et al. 2024 (HREF): judges with and without the human reference, a composite, and a board of systems.

Four people compare systems by their answers to two kinds of instructions. A judge that reads the reference is right
about closed questions, and one that does not is right about open ones, so a composite beats both. One system is
judged by machines alone. What differs from the paper stands in docs/judges.md.
"""

import json
import re
import zipfile
from io import BytesIO
from itertools import combinations

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from lxml.html import document_fromstring

from annotation.models import Rater
from machine_raters.models import MachineRater
from metrics.exports.document.machine_raters import cost_sections
from metrics.models import Licence
from metrics.results.selectors import stored_report
from studies.models import Study
from tests.api.clients import at
from tests.papers.test_dhp import exported, post
from tests.tiebreak.gateway.stub_server import Handler, text_of
from tiebreak.cli import main
from tiebreak.reading.figures.systems.leaderboard import ALONE

pytestmark = pytest.mark.django_db
ITEMS, PEOPLE, KINDS = 24, 4, ("closed", "open")
RATED, NEW = ("good", "fair", "poor"), "late"
QUALITY = {"good": 3, "fair": 2, "poor": 1, NEW: 4}
DESIGN = """
title = "Instructions"
systems = ["good", "fair", "poor", "late"]
guidelines = "Prefer what follows the instruction."
comparisons_per_hit = 6
ratings_per_hit = 4
[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which answer is better?"
"""


class Models(Handler):
    """A judge that knows closed questions only by their reference, and that a reference misleads elsewhere."""

    def _choice(self, body, index):
        reply = {"message": {"role": "assistant", "content": self._reply(text_of(body))}}
        return {"index": index, "finish_reason": "stop", **reply}

    def _reply(self, asked: str) -> str:
        if "Answer this." in asked:
            return "What a model made up."
        a, b = (QUALITY[re.search(rf"\[{name} \w+\]\n(\w+) ", asked)[1]] for name in ("A", "B"))
        (kind,) = re.search(r"\[source \w+\]\nA (\w+) question", asked).groups()
        is_right = ("What a person answered" in asked) == (kind == "closed")
        if "What a model made up" in asked:
            is_right = False
        return "A" if (a > b) == is_right else "B"


def kind_of(item: int) -> str:
    return KINDS[item % 2]


def ratings():
    """Yield what people say, who err in one answer of twenty, and of the late system a machine."""
    rng = np.random.default_rng(0)
    for item in range(ITEMS):
        for a, b in combinations((*RATED, NEW), 2):
            unit = {"unit": f"i{item:02}-{a}-{b}", "instance": f"i{item:02}"}
            about = unit | {"system_a": a, "system_b": b, "sample_index": 0}
            if NEW in (a, b):
                yield about | {"rater": "uploaded", "kind": "machine", "label": 1}
                continue
            for person in range(PEOPLE):
                yield about | {"rater": f"p{person}", "label": 1 if rng.random() < 0.05 else -1}


def created(client: Client) -> str:
    instances = [
        {"id": f"i{n:02}", "source": f"A {kind_of(n)} question {n}.", "category": kind_of(n)}
        | {"reference": f"What a person answered to {n}."}
        for n in range(ITEMS)
    ]
    texts = [
        {"instance": f"i{n:02}", "system": system, "sample": 0, "text": f"{system} answer {n}"}
        for n in range(ITEMS)
        for system in (*RATED, NEW)
    ]
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("study.toml", DESIGN)
        for name, rows in (
            ("instances", instances),
            ("generations", texts),
            ("ratings", ratings()),
        ):
            archive.writestr(f"{name}.jsonl", "\n".join(map(json.dumps, rows)))
    file.seek(0)
    file.name = "bundle.zip"
    answer = client.post(at("study-list"), {"bundle": file})
    assert answer.status_code == 201, answer.content
    return answer.json()["study"]["id"]


def judged(client: Client, browser: Client, study: str) -> None:
    """Let judges rate that differ in the reference, on their pages, and a composite of them."""
    writer = {"server": "lab", "language_model": "w", "prompt_template": "Answer this. {source}"}
    saved(browser, reverse("studies:written-fields", args=[study]), name="written", **writer)
    page = reverse("machine_raters:judges", args=[study])
    for name, reads in (
        ("reader", {"with_reference": "on"}),
        ("other", {}),
        ("misled", {"with_reference": "on", "reference_field": "written"}),
    ):
        named = {"server": "lab", "language_model": "m", "prompt_price": "1", "answer_price": "1"}
        begun = browser.get(page, {"add": "judge", "preset": "href"}).content.decode()
        (form,) = document_fromstring(begun).xpath("//*[@id='add']//form")
        filled = {key: value for key, value in form.form_values() if key != "with_reference"}
        saved(browser, page, **filled | named | reads, name=name)
        judge = MachineRater.objects.get(study=study, name=name)
        saved(browser, reverse("machine_raters:act", args=[study, judge.public_id, "start"]))
        assert judge.judge.verdicts.count() == 2 * judge.study.units.count()
    composite = {"kind": "jury", "rule": "composite", "criterion": "preference"}
    post(
        client,
        "machine-rater-list",
        study,
        name="both",
        members=["reader", "other", "misled"],
        **composite,
    )


def saved(browser: Client, address: str, **values) -> None:
    """Send a form; its page leads on to the next."""
    page = browser.post(address, values)
    assert page.status_code == 302, re.findall(r"errorlist.*?</ul>", page.content.decode(), re.S)


def figures_of(browser: Client, study: str, section: str) -> dict:
    address = reverse("metrics:section", args=[study, "preference", section])
    page = browser.get(address)
    if page.context["is_waiting"]:
        page = browser.get(address)
    return {figure.name: figure for figure in page.context["figures"]}


def rows_of(figure, *columns: str) -> dict[tuple, dict]:
    every = [dict(zip(figure.columns, row, strict=True)) for row in figure.rows]
    return {tuple(row[name] for name in columns): row for row in every}


def test_the_experiment_of_the_paper_from_ratings_to_board(ruth, tmp_path):
    client, browser = ruth
    study = created(client)
    judged(client, browser, study)
    browser.get(reverse("metrics:results-tab", args=[study, "machines"]))  # has the report built

    composite = figures_of(browser, study, "composite")
    agreement = rows_of(composite["composite-categories"], "rater")
    assert agreement[("other",)]["closed"] < 0.1
    assert agreement[("reader",)]["closed"] > 0.9
    assert agreement[("reader",)]["open"] < 0.1
    assert agreement[("other",)]["open"] > 0.9
    best = (agreement[("reader",)]["closed"] + agreement[("other",)]["open"]) / 2
    assert agreement[("composite",)]["all items"] == pytest.approx(best)
    assert agreement[("both",)]["all items"] == pytest.approx(best)

    board = rows_of(figures_of(browser, study, "leaderboard")["board"], "system", "column")
    rated = {name: board[name, "annotators"] for name in RATED}
    assert rated["good"]["ranks"] == "1"
    assert rated["good"]["low"] > rated["fair"]["value"] > rated["poor"]["high"]
    assert board["good", "by both"]["value"] == 1
    assert board["good", "by reader"]["value"] == board["good", "by other"]["value"] == 0.5
    for kind in KINDS:
        assert board["good", kind]["n"] == ITEMS
    assert not any(name == NEW for name, _ in board)
    licensed(study)
    board = rows_of(figures_of(browser, study, "leaderboard")["board"], "system", "column")
    assert board[NEW, "by both"]["rated_by"] == ALONE
    assert board[NEW, "by both"]["value"] == 1
    assert (NEW, "annotators") not in board

    tests = figures_of(browser, study, "paired_tests")
    curve = [row["median"] for row in rows_of(tests["p-values-1"], "instances").values()]
    assert curve[-1] < 0.001 < curve[1]  # of the fewest instances some agree wholly, which is p = 0
    grid_is_that_of_the_definition(browser, study)
    by_command(client, study, tmp_path, board, best)


def licensed(study: str) -> None:
    """Put a licence for all items in force; what it takes to get one is tested elsewhere."""
    one = Study.objects.get(pk=study)
    Licence.objects.create(
        study=one,
        criterion=one.criteria.get(),
        rater=Rater.objects.get(pseudonym="both"),
        annotators="crowd",
        valid_until=timezone.now().date(),
        granted_at=timezone.now(),
        evidence={},
    )


def grid_is_that_of_the_definition(browser: Client, study: str) -> None:
    page = browser.get(reverse("metrics:results-tab", args=[study, "each-machine"]))
    (figure,) = [one for one in page.context["figures"] if one.name == "prompt-grid"]
    cells = rows_of(figure, "judge")
    assert {name: row["reference"] for (name,), row in cells.items()} == {
        "reader": "the item's own",
        "other": "none",
        "misled": "written, by a model",
    }
    assert cells[("misled",)]["value"] < 0.1
    del cells[("misled",)]
    assert "guidelines" not in figure.columns  # in which they do not differ
    for row in cells.values():
        assert row["value"] == pytest.approx(0.5, abs=0.05)
        assert next(cell for name, cell in row.items() if name.endswith("for 100 ratings"))
    report = stored_report(Study.objects.get(pk=study).report_snapshots.get(digest=""))
    (written,) = cost_sections(Study.objects.get(pk=study), report)
    assert "prompt-grid" in {block.name for block in written.blocks}
    # Each is right about half of the comparisons of each system, so it ranks none.
    assert {row["rank_correlation_of_win_rates"] for row in cells.values()} == {None}


def by_command(client: Client, study: str, folder, board: dict, best: float) -> None:
    """The command says the same of the exported ratings, without knowing the licence."""
    out = folder / "report.json"
    sections = [word for name in ("leaderboard", "composite") for word in ("--section", name)]
    scale = ["--scale", "preference=preference:tie"]
    ratings = exported(client, study, folder)
    assert main(["analyze", str(ratings), *sections, *scale, "--out", str(out)]) == 0
    about = json.loads(out.read_text())["criteria"]["preference"]
    assert about["composite"]["composite"]["all_units"]["value"] == pytest.approx(best)
    found = about["leaderboard"]
    for name in RATED:
        assert found["win_rate"][name]["value"] == board[name, "annotators"]["value"]
        assert str(found["rank_sets"][name]["best"]) == board[name, "annotators"]["ranks"][0]
    assert found["machines_only"]["both"][NEW]["value"] == 1

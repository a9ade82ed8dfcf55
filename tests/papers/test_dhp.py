"""Wang et al. 2024 (DHP): judges of known behaviour, from the texts to the table of D.

A judge that sees the damage, one that answers at random and one that always says the same score
originals and copies of four kinds by three criteria. Experts say on their pages which criterion each
kind damages. What differs from the paper stands in docs/judges.md.
"""

import hashlib
import html
import json
import re
import zipfile
from io import BytesIO
from math import log

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from scipy.stats import wilcoxon

from studies.models import Generation, Study
from tests.annotation.annotators import annotator
from tests.api.clients import at
from tests.pages import send
from tests.tiebreak.gateway.stub_server import Handler, text_of
from tiebreak.cli import main
from tiebreak.stats import discernment, summarise_discernment

pytestmark = pytest.mark.django_db
TEXTS = 16  # of fewer than 14, each test goes through all signs, which takes long
CRITERIA = ("coherence", "fluency", "relevance")
TYPOS, GRAMMAR = "characters/typos/major", "words/grammar/major"
ORDER, REWRITTEN = "sentences/reordering/major", "sentences/model-rewriting/major"
DAMAGED = {TYPOS: "fluency", GRAMMAR: "fluency", ORDER: "coherence", REWRITTEN: "relevance"}
FOREIGN = "Elephants remember where water was."
DESIGN = """
title = "Summaries"
systems = ["writer"]
unit_kind = "generation"
bundling = "mixed"
guidelines = "Score summaries of notes."
consent = "Ruth asks you; write to ruth@example.org."
comparisons_per_hit = 10
ratings_per_hit = 1
""" + "".join(
    f'[[criteria]]\nname = "{name}"\nscale = "ordinal:1..5"\nquestion = "How good is the {name}?"\n'
    for name in CRITERIA
)


def summary(n: int) -> str:
    return (
        f"In the year {1900 + n} the harbour of Ashford was built by {n + 20} workers. It is on the river"
        f" that the town has taken its name from. The ships of the {n + 3} merchants are kept in it. They"
        " have been painted by the same family for a century. Visitors are asked to leave by noon."
    )


class Models(Handler):
    """A model server with a writer and three judges; `damage` says what is wrong with a copy."""

    damage: dict[str, str]

    def _choice(self, body, index):
        chat = {"message": {"role": "assistant", "content": self._reply(body)}}
        return {"index": index, "finish_reason": "stop", **chat}

    def _reply(self, body) -> str:
        asked = text_of(body)
        if "evaluation steps" in asked and "[text" not in asked:
            return "1. Read the text. 2. Score it."
        text = re.search(r"\[text \w+\]\n(.*)\n\[end", asked, re.S)[1]
        if body["model"] == "writer":
            return re.sub(r"\. (\w)", rf". {FOREIGN} \1", text)
        criterion = re.search(r"Criterion: How good is the (\w+)", asked)[1]
        if body["model"] == "constant":
            return "4"
        if body["model"] == "coin":
            return str(1 + hashlib.sha256(f"{text} {criterion}".encode()).digest()[0] % 5)
        return "3" if self.damage.get(text) == criterion else "5"


@pytest.fixture(autouse=True)
def _nothing_is_damaged(monkeypatch):
    monkeypatch.setattr(Models, "damage", {}, raising=False)


def post(client: Client, view: str, *arguments, **values):
    answer = client.post(at(view, *arguments), json.dumps(values), content_type="application/json")
    assert answer.status_code in {200, 201}, answer.content
    return answer.json()


def opened(client: Client, study: str) -> None:
    post(client, "study-plan", study)
    checks = client.get(at("study-launch-checks", study)).json()
    warnings = [check["code"] for check in checks if check["severity"] == "warning"]
    assert post(client, "study-open", study, confirmed_warnings=warnings)["status"] == "open"


def created(client: Client) -> str:
    rows = [{"id": f"note-{n}", "source": f"Note {n}: {summary(n)}"} for n in range(TEXTS)]
    texts = [
        {"instance": f"note-{n}", "system": "writer", "sample": 0, "text": summary(n)}
        for n in range(TEXTS)
    ]
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("study.toml", DESIGN)
        archive.writestr("instances.jsonl", "\n".join(map(json.dumps, rows)))
        archive.writestr("generations.jsonl", "\n".join(map(json.dumps, texts)))
    file.seek(0)
    file.name = "bundle.zip"
    answer = client.post(at("study-list"), {"bundle": file})
    assert answer.status_code == 201, answer.content
    return answer.json()["study"]["id"]


def with_copies(client: Client, study: str) -> dict[str, str]:
    """Have all copies made, and return the criterion that each damages, by its text."""
    made = post(client, "study-perturbed-copies", study, names=[TYPOS, GRAMMAR, ORDER], seed=1)
    assert (made["copies"], made["refused"]) == (3 * TEXTS, {})
    asked = {"names": [REWRITTEN], "server": "lab", "language_model": "writer"}
    job = post(client, "job-perturbed-copies", study, **asked)
    assert (job["status"], job["done"], job["failed"]) == ("done", TEXTS, 0)
    copies = Generation.objects.exclude(system__perturbation="").select_related("system")
    assert copies.count() == 4 * TEXTS
    return {copy.text: DAMAGED[copy.system.perturbation] for copy in copies}


def voted(browser: Client, client: Client, study: str) -> Study:
    """Let three experts vote: two for what is damaged, and one always for coherence."""
    browser.post(reverse("metrics:expert-survey", args=[study]))
    survey = Study.objects.get(survey_for=study)
    opened(client, survey.pk)
    shown = Generation.objects.filter(system__dataset=survey.dataset).select_related("system")
    kinds = {one.text: one.system.name for one in shown}
    for expert in range(3):
        person = annotator(survey)
        for _ in kinds:
            page = html.unescape(person.here().content.decode())
            (kind,) = (kind for text, kind in kinds.items() if text in page)
            chosen = "coherence" if expert == 2 else DAMAGED[kind]
            person.choose(CRITERIA.index(chosen))
    page = reverse("metrics:expert-weights", args=[study])
    send(browser, page, {"survey": survey.pk})
    return survey


def judged(client: Client, study: str) -> None:
    for name in ("sees", "coin", "constant"):
        judge = post(
            client, "machine-rater-list", study, kind="judge", name=name, preset="dhp",
            server="lab", language_model=name, criteria=list(CRITERIA),
        )  # fmt: skip
        job = post(client, "machine-rater-start", study, judge["id"])
        assert (job["status"], job["failed"]) == ("done", 0), job
        assert job["done"] == 5 * TEXTS * len(CRITERIA)


def figures_on(browser: Client, study: str) -> dict:
    browser.get(reverse("metrics:results-tab", args=[study, "machines"]))  # has the report built
    page = browser.get(reverse("metrics:section", args=[study, CRITERIA[0], "discernment"]))
    if page.context["is_waiting"]:
        page = browser.get(page.wsgi_request.path)
    return {figure.name: figure for figure in page.context["figures"]}


def table_of(figure) -> dict[tuple[str, str, str], float]:
    at_value = figure.columns.index("value")
    return {tuple(row[:3]): row[at_value] for row in figure.rows}


def score(p_damaged: float, share: float) -> float:
    """D over the criteria if one has this p-value and weight, and the others have p = 1."""
    return -log(share / p_damaged + 1 - share) / log(0.05)


def chance(rng, draws: int = 300) -> np.ndarray:
    """The average D of judges that answer at random, by the definition."""
    levels = {name: name.partition("/")[0] for name in DAMAGED}
    shape = (TEXTS, len(CRITERIA))
    averages = []
    for _ in range(draws):
        originals = rng.integers(1, 6, shape)
        scores = {
            name: discernment(originals, rng.integers(1, 6, shape)).score.value for name in levels
        }
        averages.append(summarise_discernment(scores, levels).average.value)
    return np.array(averages)


def test_judges_of_known_behaviour_get_the_table_that_the_definition_says(ruth, tmp_path):
    client, browser = ruth
    study = created(client)
    Models.damage = with_copies(client, study)
    survey = voted(browser, client, study)
    opened(client, study)
    judged(client, study)
    figures = figures_on(browser, study)
    table = table_of(figures["discernment-summary"])

    p = float(wilcoxon([2.0] * TEXTS, alternative="greater").pvalue)
    weights = {TYPOS: 2 / 3, GRAMMAR: 2 / 3, ORDER: 1.0, REWRITTEN: 2 / 3}
    for kind, shares in (
        ("equal weights", dict.fromkeys(weights, 1 / 3)),
        ("expert weights", weights),
    ):
        d = {name: score(p, share) for name, share in shares.items()}
        levels = {"characters": d[TYPOS], "words": d[GRAMMAR]}
        levels["sentences"] = (d[ORDER] + d[REWRITTEN]) / 2
        expected = {f"level {name}": value for name, value in levels.items()}
        expected |= {"average": sum(levels.values()) / 3, "minimum": min(d.values())}
        found = {what: table["sees", kind, what] for what in expected}
        assert found == pytest.approx(expected)
        assert {table["constant", kind, what] for what in expected} == {0}
        assert expected["minimum"] > 1  # it is shown to see each kind of damage
    by_chance = chance(np.random.default_rng(3))
    low, high = np.quantile(by_chance, (0.005, 0.995))
    assert low <= table["coin", "equal weights", "average"] <= high
    assert by_chance.mean() < 0.6
    assert table["sees", "equal weights", "minimum"] > high
    assert table["sees", "expert weights", "average"] > table["sees", "equal weights", "average"]

    styles = {row[:2]: row[2:] for row in figures["response-styles"].rows}
    assert styles["sees", "5"][0] == 1
    assert styles["constant", "4"] == (1, 1)
    assert {row[:2] for row in figures["score-correlations"].rows} == {
        *(("coin", "constant"), ("coin", "sees"), ("constant", "sees")),
    }
    assert by_command(client, study, survey.pk, tmp_path) == pytest.approx(
        {what: table["sees", "expert weights", what] for what in ("average", "minimum")}
    )


def by_command(client: Client, study: str, survey: str, folder) -> dict[str, float]:
    """Return what the command says of the exported ratings and votes."""
    ratings, votes = (exported(client, one, folder) for one in (study, survey))
    out = folder / "report.json"
    options = ["--section", "discernment", "--expert-weights", str(votes), "--out", str(out)]
    scales = [word for name in CRITERIA for word in ("--scale", f"{name}=ordinal:1..5")]
    assert main(["analyze", str(ratings), *options, *scales]) == 0
    section = json.loads(out.read_text())["criteria"]["fluency"]["discernment"]
    sees = section["expert_weighted"]["sees"]
    return {what: sees[what]["value"] for what in ("average", "minimum")}


def exported(client: Client, study: str, folder):
    job = post(client, "job-export", study, formats=["jsonl"])
    answer = client.get(at("job-download", study, job["id"]))
    archive = zipfile.ZipFile(BytesIO(b"".join(answer.streaming_content)))
    (name,) = (one for one in archive.namelist() if one.endswith("ratings.jsonl"))
    path = folder / f"{study}.jsonl"
    path.write_bytes(archive.read(name))
    return path

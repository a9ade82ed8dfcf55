"""Ghosh et al. 2024 (SEPARABILITY): two models of known difference, from prompts to SEP-Elo and the figures.

On note n, the models differ in n mod 11 of 10 words, whatever the sample, so ROUGE-1 gives δ = (n mod 11) / 10.
Three people prefer the second model where more than half of the words differ, and else whatever stands at the
left. What differs from the paper stands in docs/methods/.
"""

import html
import json
import random
import re
import zipfile
from io import BytesIO

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse

from annotation.exports.ratings import rating_rows
from metrics.results.services import refresh_report
from studies.models import Generation, SeparabilityScore, Study
from tests.annotation.annotators import annotator, texts_of
from tests.api.clients import at, rows_of
from tests.papers.test_dhp import post
from tests.tiebreak.gateway.stub_server import Handler, text_of

pytestmark = pytest.mark.django_db
NOTES, WORDS, K, DRAWN, PAIRS, PEOPLE = 22, 10, 5, 14, 5, 3
DESIGN = f"""
title = "Notes"
systems = ["plain", "fancy"]
similarity = "rouge1"
guidelines = "Choose the better text."
consent = "Ruth asks you; write to ruth@example.org."
comparisons_per_hit = {PAIRS}
ratings_per_hit = {PEOPLE}
hits_per_annotator = {DRAWN}
[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which text is better?"
"""


def correlation(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Return Spearman's ρ of items of which there are so many; those with one value share their ranks."""
    ranks = [(np.less(v, v[:, None]) + np.equal(v, v[:, None]) / 2) @ weights for v in (x, y)]
    cov = np.cov(ranks, aweights=weights)
    return cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1])


def difference(note: int) -> int:
    return note % (WORDS + 1)


class Models(Handler):
    """A model server whose two models differ in as many words as the prompt's note says."""

    def _choice(self, body, index):
        note = int(re.search(r"note (\d+)", text_of(body))[1])
        changed = difference(note) if body["model"] == "fancy" else 0
        words = [f"{'q' if n < changed else 'k'}{note}n{n}" for n in range(WORDS)]
        random.Random(index).shuffle(words)
        chat = {"message": {"role": "assistant", "content": " ".join(words)}}
        return {"index": index, "finish_reason": "stop", **chat}


def created(client: Client) -> Study:
    rows = [{"id": f"note-{n}", "source": f"Write about note {n}."} for n in range(NOTES)]
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("study.toml", DESIGN)
        archive.writestr("instances.jsonl", "\n".join(map(json.dumps, rows)))
        archive.writestr("generations.jsonl", "")
    file.seek(0)
    file.name = "bundle.zip"
    answer = client.post(at("study-list"), {"bundle": file})
    assert answer.status_code == 201, answer.content
    study = Study.objects.get()
    systems = [
        {"name": name, "language_model": name, "server": "lab", "prompt_template": "{source}"}
        for name in ("plain", "fancy")
    ]
    answer = client.patch(
        at("study-systems", study.pk), json.dumps(systems), content_type="application/json"
    )
    assert answer.status_code == 200, answer.content
    return study


def opened(client: Client, study: Study) -> None:
    checks = client.get(at("study-launch-checks", study.pk)).json()
    warnings = [check["code"] for check in checks if check["severity"] == "warning"]
    assert post(client, "study-open", study.pk, confirmed_warnings=warnings)["status"] == "open"


def rate(study: Study) -> None:
    person = annotator(study)
    for _ in range(DRAWN * PAIRS):
        shown = [html.unescape(text) for text in texts_of(person.here())]
        of_fancy = [text.count("q") for text in shown]
        person.choose(of_fancy.index(max(of_fancy)) * 2 if max(of_fancy) > WORDS / 2 else 0)


def consistency(labels: list[int]) -> float:
    """Return eq. 4."""
    return 0.0 if {-1, 1} <= set(labels) else float(np.mean(np.abs(labels)))


def expected_elo(units: dict[str, tuple[float, list[int]]], orders: int = 2000) -> float:
    """Return the mean final rating of the second system by eqs. 5 and 6 over random orders."""
    rng = np.random.default_rng(0)
    deltas = np.array([delta for delta, _ in units.values()])
    steps = 4 * 2 / (1 + np.exp(-6 * (deltas - 0.4)))
    wins = [np.array([(1 + label) / 2 for label in labels]) for _, labels in units.values()]
    finals = []
    for _ in range(orders):
        lead = 0.0
        for k in rng.permutation(len(deltas)):
            chance = 1 / (1 + 10 ** (-lead / 400))
            lead += 2 * steps[k] * (rng.choice(wins[k]) - chance)
        finals.append(1000 + lead / 2)
    return float(np.mean(finals))


def part(browser: Client, study: Study, name: str) -> dict:
    address = reverse("metrics:section", args=[study.pk, "preference", name])
    page = browser.get(address)
    if page.context["is_waiting"]:
        page = browser.get(address)
    return {figure.name: figure for figure in page.context["figures"]}


def test_models_of_known_difference_give_what_the_definitions_say(ruth):
    client, browser = ruth
    study = created(client)
    job = post(client, "job-sampling", study.pk, server="lab", samples=K)
    assert (job["status"], job["failed"]) == ("done", 0), job
    assert Generation.objects.count() == 2 * K * NOTES
    assert post(client, "job-scoring", study.pk)["status"] == "done"
    known = {f"note-{n}": difference(n) / WORDS for n in range(NOTES)}
    scores = rows_of(client.get(at("score-list", study.pk)))
    for name in ("delta", "delta_normalised"):  # as the alignments are from 0 to 1
        assert {row["instance"]: row[name] for row in scores} == pytest.approx(known)
    assert SeparabilityScore.objects.count() == NOTES

    drawn = post(
        client, "study-selection", study.pk,
        design="proportional", instances=DRAWN, control_share=0.5, weights="logistic", seed=1,
    )  # fmt: skip
    assert drawn["drawn"] == DRAWN
    phases = list(study.selected.values_list("phase", flat=True))
    assert phases.count("control") == DRAWN / 2
    opened(client, study)
    study.refresh_from_db()
    for _ in range(PEOPLE):
        rate(study)
    ratings = list(rating_rows(study))
    assert len(ratings) == DRAWN * PAIRS * PEOPLE
    frozen = {row["instance"]: row["separability"] for row in ratings}
    assert frozen == pytest.approx({note: known[note] for note in frozen})

    sets: dict[tuple[str, str], list[int]] = {}
    for row in ratings:
        sets.setdefault((row["instance"], row["rater"]), []).append(row["label"])
    by_note: dict[str, list[float]] = {}
    for (note, _), labels in sets.items():
        by_note.setdefault(note, []).append(consistency(labels))
    means = {note: float(np.mean(values)) for note, values in by_note.items()}
    clear = [mean for note, mean in means.items() if known[note] > 0.5]
    unclear = [mean for note, mean in means.items() if known[note] <= 0.5]
    assert set(clear) == {1}
    assert np.mean(unclear) < 0.7

    # A note counts as often as there are notes like it for each that was drawn.
    counts = {row["instance"]: 1 / row["inclusion_probability"] for row in ratings}
    weights = np.array([counts[note] for note in means])
    report = refresh_report(study=study).report["criteria"]["preference"]
    mean = np.average(list(means.values()), weights=weights)
    assert report["rating_sets"]["consistency"]["value"] == pytest.approx(mean)
    trend = report["rating_sets"]["spearman_separability"]
    of_notes = np.array([known[note] for note in means]), np.array(list(means.values()))
    expected = correlation(*of_notes, weights)
    assert trend["value"] == pytest.approx(expected)
    assert trend["low"] > 0
    top = report["rating_sets"]["by_separability"][-1]
    assert (top["consistency"]["value"], top["zero"]["value"]) == (1, 0)

    units: dict[str, tuple[float, list[int]]] = {}
    for row in ratings:
        units.setdefault(row["unit"], (known[row["instance"]], []))[1].append(row["label"])
    elo = {row[:2]: row[2] for row in part(browser, study, "elo")["elo"].rows}
    assert elo["fancy", "SEP-Elo"] == pytest.approx(expected_elo(units), abs=0.5)
    assert min(elo["fancy", "SEP-Elo"], elo["fancy", "Elo"]) > 1000

    figures = part(browser, study, "set_values")
    consistent = [row for row in figures["set-consistency"].rows if row[4] == 1]
    assert [row[5] for row in consistent][-1] == 1
    assert consistent[-1][:4] == ("plain vs fancy", "annotators", top["low"], top["high"])
    assert figures["set-trends"].rows[0][2] == pytest.approx(expected)

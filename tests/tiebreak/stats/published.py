"""The labels of the published studies, as arrays, and the values they must give."""

import csv
import json
from functools import cache

import numpy as np

from tests.paths import GOLDEN
from tiebreak.stats import count_matrix


@cache
def golden():
    """(dataset, statistic, stratum) → value, as text, of every row."""
    with (GOLDEN / "golden.csv").open(encoding="utf-8") as lines:
        return {
            (row["dataset"], row["statistic"], row["stratum"]): row["value"]
            for row in csv.DictReader(lines)
        }


@cache
def pandalm():
    """(999, 3) labels 0 tie, 1, 2 of three annotators."""
    rows = json.loads((GOLDEN / "pandalm" / "testset-v1.json").read_text())
    return np.array([[row[f"annotator{number}"] for number in (1, 2, 3)] for row in rows])


@cache
def pandalm_machine():
    """(999,) labels of PandaLM-7B."""
    rows = json.loads((GOLDEN / "pandalm" / "pandalm-7b-testset-v1.json").read_text())
    return np.array([row["pandalm_result"] for row in rows])


@cache
def gpt_machine():
    """(999,) labels of gpt-3.5, −1 where its answer could not be read."""
    rows = json.loads((GOLDEN / "pandalm" / "gpt-3.5-turbo-testset-v1.json").read_text())
    labels = {"Tie": 0, "1": 1, "2": 2}
    return np.array([labels.get(str(row["gpt_result"]), -1) for row in rows])


@cache
def summeval(criterion):
    """(1600, 5) counts of three experts' labels 1–5."""
    path = GOLDEN / "summeval" / "experts_coherence_relevance.jsonl"
    labels = np.array([json.loads(line)[criterion] for line in path.read_text().splitlines()])
    return counts_of(labels - 1, 5)


@cache
def separability(name):
    """Long ratings of one configuration: label in system order, instance, rater, unit."""
    path = GOLDEN / "separability" / f"{name}_pref_data.csv"
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    texts = [f"Input.model{side}_summary{k}" for side in (1, 2) for k in range(1, 6)]
    instances = {}
    long = []
    for row in rows:
        instance = instances.setdefault(tuple(row[text] for text in texts), len(instances))
        for k in range(1, 6):
            left_is_first = row[f"Input.id{k}"] == "1"
            shown = int(float(row[f"Answer.pref{k}"]))
            label = shown if left_is_first else -shown
            long.append((label, instance, row["WorkerId"], 5 * instance + k - 1))
    labels, places, raters, units = zip(*long, strict=True)
    return np.array(labels), np.array(places), np.array(raters), np.array(units)


def counts_of(labels, n_labels):
    """Counts of aligned labels (units, raters), −1 missing."""
    units = np.repeat(np.arange(len(labels)), labels.shape[1] if labels.ndim > 1 else 1)
    return count_matrix(units, labels.ravel(), n_units=len(labels), n_labels=n_labels)

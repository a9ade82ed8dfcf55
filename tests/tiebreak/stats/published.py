"""Labels of the published studies, as arrays, and the published values."""

import csv
import json
from functools import cache

import numpy as np

from tests.paths import GOLDEN
from tiebreak.stats import count_matrix


@cache
def golden():
    """Return the value of every row, as text, by dataset, statistic and stratum."""
    with (GOLDEN / "golden.csv").open(encoding="utf-8") as lines:
        return {
            (row["dataset"], row["statistic"], row["stratum"]): row["value"]
            for row in csv.DictReader(lines)
        }


@cache
def pandalm():
    """Return labels (0 is a tie) of 999 units by three annotators, one column for each."""
    rows = json.loads((GOLDEN / "pandalm" / "testset-v1.json").read_text())
    return np.array([[row[f"annotator{number}"] for number in (1, 2, 3)] for row in rows])


@cache
def pandalm_machine():
    """Return the labels of 999 units by PandaLM-7B."""
    rows = json.loads((GOLDEN / "pandalm" / "pandalm-7b-testset-v1.json").read_text())
    return np.array([row["pandalm_result"] for row in rows])


@cache
def gpt_machine():
    """Return the labels of 999 units by gpt-3.5; −1 if its answer could not be read."""
    rows = json.loads((GOLDEN / "pandalm" / "gpt-3.5-turbo-testset-v1.json").read_text())
    labels = {"Tie": 0, "1": 1, "2": 2}
    return np.array([labels.get(str(row["gpt_result"]), -1) for row in rows])


@cache
def summeval(criterion):
    """Return counts of three experts' labels 1–5 for 1,600 units, one column for each label."""
    path = GOLDEN / "summeval" / "experts_coherence_relevance.jsonl"
    labels = np.array([json.loads(line)[criterion] for line in path.read_text().splitlines()])
    return counts_of(labels - 1, 5)


@cache
def separability(name):
    """Return the label (in system order), instance, rater and unit of each rating."""
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
    """Return counts of labels, from a matrix of units × raters in which −1 is missing."""
    units = np.repeat(np.arange(len(labels)), labels.shape[1] if labels.ndim > 1 else 1)
    return count_matrix(units, labels.ravel(), n_units=len(labels), n_labels=n_labels)

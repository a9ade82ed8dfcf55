import random

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

from metrics.similarity import SIMILARITIES, align, similarity
from metrics.stats import normalised_separability, separability
from studies.readers import READERS
from tests.metrics.test_golden_report import SEPARABILITY, check, golden
from tests.shared_data import shared_path

WORDS = [
    "the",
    "a",
    "cat",
    "cats",
    "sat",
    "sitting",
    "on",
    "mat.",
    "mats,",
    "3.5",
    "U.S.",
    "don't",
    "—",
    "Größe",
    "漢字",
]


def texts(n=40) -> list[str]:
    rng = random.Random(0)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(1, 25))) for _ in range(n)]


@pytest.mark.parametrize("name", SIMILARITIES)
def test_it_is_symmetric_and_bounded(name):
    measure = similarity(name)
    for first, second in zip(texts(), reversed(texts()), strict=True):
        value = measure(first, second)
        assert 0 <= value <= 1
        assert measure(second, first) == value
        assert measure(first, first) == pytest.approx(1)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_empty_against_empty_is_1_and_against_words_0(name):
    assert similarity(name)("", "") == 1
    assert similarity(name)("", "words") == 0


def test_rouge1_equals_the_reference_package():
    reference = RougeScorer(["rouge1"], use_stemmer=True)
    for first, second in zip(texts(), reversed(texts()), strict=True):
        expected = reference.score(first, second)["rouge1"].fmeasure
        assert similarity("rouge1")(first, second) == pytest.approx(expected, abs=1e-9)


def test_bleu_of_the_shorter_against_the_longer_equals_the_reference_package():
    reference, measure = BLEU(effective_order=True), similarity("bleu")
    compared = 0
    for first, second in zip(texts(), reversed(texts()), strict=True):
        a, b = measure.prepare(first), measure.prepare(second)
        if a.length == b.length:
            continue
        shorter, longer = (first, second) if a.length < b.length else (second, first)
        expected = reference.sentence_score(shorter, [longer]).score / 100
        assert measure(first, second) == pytest.approx(expected, abs=1e-9)
        compared += 1
    assert compared > 20


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="rouge1, bleu"):
        similarity("telepathy")


def test_alignments_have_every_pair():
    found = align(["a b", "a c"], ["a b", "d", "a"], similarity("rouge1"))
    assert found.self_a.shape == (2, 2)
    assert found.self_b.shape == (3, 3)
    assert found.cross[0].tolist() == pytest.approx([1, 0, 2 / 3])


@pytest.mark.parametrize("dataset", SEPARABILITY)
def test_separability_of_the_published_configurations(dataset):
    converted = READERS["mturk"]([shared_path("data", "separability", SEPARABILITY[dataset])], None)
    a, b = converted.spec.systems
    measure = similarity("rouge1")
    found = []
    for instance in converted.instances:
        of = {
            system: [
                g.text
                for g in converted.generations
                if (g.instance, g.system) == (instance.id, system)
            ]
            for system in (a, b)
        }
        matrices = align(of[a], of[b], measure)
        found.append(separability(matrices.self_a, matrices.self_b, matrices.cross))
    delta = np.array([each.delta for each in found])
    columns = [
        [getattr(each, name) for each in found]
        for name in ("self_alignment_a", "self_alignment_b", "cross_alignment")
    ]
    check(delta.mean(), dataset, "rouge1_separability_raw_mean", "25 pairs")
    normalised = normalised_separability(*columns, scope=dataset).delta
    check(normalised.mean(), dataset, "rouge1_separability_norm_mean", "25 pairs")
    low, high = golden()[dataset, "rouge1_separability_raw_min/max", "25 pairs"].split("/")
    assert (f"{delta.min():.4f}", f"{delta.max():.4f}") == (low, high)
    means = "/".join(f"{np.mean(column):.4f}" for column in columns)
    assert means == golden()[dataset, "mean_selfA/selfB/cross (rouge1)", "25 pairs"]

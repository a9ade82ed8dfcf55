"""Similarities against the packages that define them, on random and on real texts."""

import csv
import random

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from metrics.similarity import (
    SIMILARITIES,
    alignment_matrices,
    batched_alignment_matrices,
    similarity_named,
)
from tests.shared_data import shared_path

NAMES = sorted(SIMILARITIES)


def score(name, a, b):
    return alignment_matrices([a], [b], similarity=name).cross[0, 0]


def rouge_oracle(a, b):
    return RougeScorer(["rouge1"], use_stemmer=True).score(a, b)["rouge1"].fmeasure


def bleu_oracle(a, b):
    shorter, longer = sorted((a, b), key=lambda text: len(Tokenizer13a()(text).split()))
    return BLEU(effective_order=True).sentence_score(shorter, [longer]).score / 100


ORACLES = {"rouge1": rouge_oracle, "bleu": bleu_oracle}


def random_texts(n, seed):
    rng = random.Random(seed)
    words = [
        "The",
        "cats,",
        "jumped;",
        "over",
        "3.5",
        "running",
        "runner's",
        "ran",
        "e-mail",
        "&amp;",
        "dog.",
        "dogs!",
        "naïve",
        "猫",
    ]
    return [" ".join(rng.choices(words, k=rng.randrange(1, 30))) for _ in range(n)]


def real_texts(n):
    path = shared_path("data", "separability", "mistral-7b_vicuna-7b_samsum_pref_data.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return [row[f"Input.model{1 + k % 2}_summary{1 + k % 5}"] for k, row in enumerate(rows)][:n]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("texts", [random_texts(30, 1), None], ids=["random", "real"])
def test_scores_are_those_of_the_defining_package(name, texts):
    texts = texts or real_texts(40)
    half = len(texts) // 2
    cross = alignment_matrices(texts[:half], texts[half:], similarity=name).cross
    expected = [[ORACLES[name](a, b) for b in texts[half:]] for a in texts[:half]]
    np.testing.assert_allclose(cross, expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_symmetric_and_lie_between_0_and_1(name):
    both = alignment_matrices(random_texts(40, 2), [], similarity=name).self_a
    assert (both == both.T).all()
    assert ((both >= 0) & (both <= 1)).all()
    assert both.diagonal() == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_empty_texts(name):
    assert score(name, "", "") == 1
    assert score(name, " \n", "") == 1
    assert score(name, "", "a word") == 0
    assert score(name, "a word", "") == 0
    assert score(name, "word", "other") == 0


def test_texts_in_which_the_tokeniser_sees_nothing_are_undefined_unless_equal():
    assert np.isnan(score("rouge1", "犬", "猫"))
    assert score("rouge1", "猫", "猫") == 1
    assert score("rouge1", "猫", "cat") == 0
    assert score("bleu", "犬", "猫") == 0


def test_hand_arithmetic():
    # 3 of 4 and 3 of 5 tokens shared (running and runs have one stem): 2 · 3 / 9.
    assert score("rouge1", "the cat runs fast", "the old cat running away") == pytest.approx(2 / 3)
    # 13a tokens: 2 against 4; all n-grams match; brevity exp(1 − 4/2).
    assert score("bleu", "a b", "a b c d") == pytest.approx(np.exp(-1))


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_generation_is_not_a_zero(name):
    found = alignment_matrices(["a b", None], ["a b"], similarity=name)
    assert np.isnan(found.self_a[[0, 1, 1], [1, 0, 1]]).all()
    assert found.cross[0, 0] == pytest.approx(1)
    assert np.isnan(found.cross[1, 0])


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_says_what_each_instance_says_alone(name):
    texts = random_texts(60, 3)
    instances = [(texts[k : k + 3], texts[k + 2 : k + 7]) for k in range(0, 50, 5)]
    instances += [([None], [None, "x"]), ([], [])]
    batch = batched_alignment_matrices(instances, similarity=name)
    for (a, b), matrices in zip(instances, batch, strict=True):
        alone = alignment_matrices(a, b, similarity=name)
        np.testing.assert_array_equal(matrices.self_a, alone.self_a)
        np.testing.assert_array_equal(matrices.self_b, alone.self_b)
        np.testing.assert_array_equal(matrices.cross, alone.cross)
    assert batched_alignment_matrices([], similarity=name) == []


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="Take one of: rouge1, bleu"):
        similarity_named("rouge9")

"""ROUGE-1 and BLEU against the packages that define them."""

import random

import pytest
from hypothesis import given, strategies as st
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenize import tokenize
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from tests.tiebreak.similarity.measures import MIXED, texts
from tiebreak.similarity import similarity
from tiebreak.similarity.words import rouge_words, words_13a

PUNCTUATED = st.text(st.sampled_from("ab19.,-–&;:'\"<>[]{}()/@!\n ßÄ漢"), max_size=40)


def test_rouge1_equals_the_reference_package():
    reference, used = RougeScorer(["rouge1"], use_stemmer=True), similarity("rouge1")
    for first, second in zip(texts(), reversed(texts()), strict=True):
        expected = reference.score(first, second)["rouge1"].fmeasure
        assert used(first, second) == pytest.approx(expected, abs=1e-9)


def test_bleu_of_the_shorter_against_the_longer_equals_the_reference_package():
    reference, used = BLEU(effective_order=True), similarity("bleu")
    for first, second in zip(texts(), reversed(texts()), strict=True):
        lengths = len(words_13a(first)), len(words_13a(second))
        orders = [(first, second)] if lengths[0] <= lengths[1] else []
        orders += [(second, first)] if lengths[0] >= lengths[1] else []
        expected = [reference.sentence_score(short, [long]).score / 100 for short, long in orders]
        assert used(first, second) == pytest.approx(sum(expected) / len(expected), abs=1e-9)


def test_words_far_more_often_than_the_other_text_has_them_count_once_each():
    assert similarity("rouge1")("cat " * 1000, "cat") == pytest.approx(2 / 1001)


def test_grams_across_the_border_of_two_texts_are_nobodys():
    used = similarity("bleu")
    joined = used.between(used.prepare(["a b", "c d", "a b c d e"]))
    assert joined[0, 2] == used("a b", "a b c d e")
    assert joined[1, 2] == used("c d", "a b c d e")


@given(PUNCTUATED)
def test_13a_words_are_those_of_the_reference_package(text):
    assert words_13a(text) == Tokenizer13a()(text.rstrip()).split()


@pytest.mark.parametrize("text", [*MIXED, *texts(5), ".5 ,5 .,"])
def test_words_are_those_of_both_packages_in_any_script(text):
    from nltk.stem.porter import PorterStemmer

    assert rouge_words(text) == tokenize(text, PorterStemmer())
    assert words_13a(text) == Tokenizer13a()(text.rstrip()).split()


def test_a_long_text_is_compared_in_full():
    rng = random.Random(1)
    long = " ".join(rng.choices(["aa", "bb", "cc", "dd"], k=5000))
    expected = BLEU(effective_order=True).sentence_score("aa bb cc", [long]).score / 100
    assert similarity("bleu")(long, "aa bb cc") == pytest.approx(expected, abs=1e-9)

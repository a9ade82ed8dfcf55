"""Properties of all similarities."""

import json

import numpy as np
import pytest

from tests.refusals import refused
from tests.tiebreak.similarity.measures import MIXED, NAMES, measure, texts
from tiebreak.similarity import align, similarity

LOWEST = {name: -1 if name == "sentence_cosine" else 0 for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_symmetric_bounded_and_one_for_a_text_and_itself(name):
    used = measure(name)
    matrix = used.between(used.prepare(texts()))
    assert matrix.shape == (40, 40)
    assert matrix == pytest.approx(matrix.T, abs=1e-12)
    assert matrix.min() >= LOWEST[name]
    assert matrix.max() <= 1 + 1e-6
    assert np.diagonal(matrix) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_has_the_value_that_it_has_among_others(name):
    used = measure(name)
    some = texts(6)
    matrix = used.between(used.prepare(some))
    for i, first in enumerate(some):
        for j, second in enumerate(some):
            assert used(first, second) == pytest.approx(matrix[i, j], abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("empty", ["", " \n"])
def test_empty_against_empty_is_1_and_against_words_0(name, empty):
    used = measure(name)
    assert used(empty, "") == 1
    assert used(empty, "some words") == used("some words", empty) == 0


@pytest.mark.parametrize("name", NAMES)
def test_any_string_has_a_similarity_to_any_other(name):
    used = measure(name)
    matrix = used.between(used.prepare(MIXED))
    assert np.isfinite(matrix).all()
    assert matrix == pytest.approx(matrix.T, abs=1e-12)
    assert LOWEST[name] <= matrix.min()
    assert matrix.max() <= 1 + 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_no_texts_have_no_pairs(name):
    alignments = align([], ["one", "two"], measure(name))
    assert (alignments.self_a.shape, alignments.self_b.shape, alignments.cross.shape) == (
        (0, 0),
        (2, 2),
        (0, 2),
    )
    assert align([], [], measure(name)).cross.shape == (0, 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_settings_name_the_similarity_and_are_ready_for_json(name):
    settings = dict(measure(name).settings)
    assert json.loads(json.dumps(settings)) == settings
    assert settings["similarity"] == name


def test_an_unknown_name_lists_the_known_ones():
    with refused("unknown_similarity", naming=", ".join(NAMES)):
        similarity("telepathy")

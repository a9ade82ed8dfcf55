"""Matrices of many instances: order, duplicates, processes, truncation and published values."""

from itertools import islice

import numpy as np
import pytest

from tests.metrics.test_golden_report import SEPARABILITY, check
from tests.paths import GOLDEN
from tests.refusals import refused
from tests.tiebreak.similarity.measures import NAMES, measure, texts
from tests.tiebreak.stats.published import golden
from tiebreak.formats.readers import READERS
from tiebreak.similarity import Rouge1, align, align_many, similarity
from tiebreak.stats import normalised_separability, separability


def instances(n=70):
    some = texts()
    return [([some[i % 40], some[i % 7]], [some[i % 40], some[i % 11], ""]) for i in range(n)]


def same(first, second):
    return all(
        getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-6)
        for name in ("self_a", "self_b", "cross")
    )


class Counting(Rouge1):
    def __init__(self):
        self.prepared = []

    def prepare(self, texts):
        self.prepared += texts
        return super().prepare(texts)


def test_alignments_have_every_pair():
    alignments = align(["a b", "a c"], ["a b", "d", "a"], similarity("rouge1"))
    assert alignments.self_a.shape == (2, 2)
    assert alignments.self_b.shape == (3, 3)
    assert alignments.cross[0].tolist() == pytest.approx([1, 0, 2 / 3])


@pytest.mark.parametrize("name", NAMES)
def test_many_are_the_same_as_one_by_one(name):
    used = measure(name)
    many = list(align_many(instances(), used, chunk=9))
    assert len(many) == 70
    assert all(
        same(alignments, align(*instance, used))
        for alignments, instance in zip(many, instances(), strict=True)
    )


def test_each_distinct_text_of_a_chunk_is_prepared_once():
    used = Counting()
    list(align_many(instances(), used, chunk=70))
    assert len(used.prepared) == len(set(used.prepared)) == 41


class Elsewhere(Rouge1):
    """A similarity that claims to be computed on a device."""

    is_on_device = True

    def between_each(self, groups):
        if any(words == ["stop"] for group in groups for words in group):
            raise RuntimeError("the device is gone")
        return super().between_each(groups)


def test_a_device_has_the_next_chunk_made_ready_and_gives_them_in_order():
    alignments = list(align_many(instances(), Elsewhere(), chunk=3))
    expected = list(align_many(instances(), Rouge1()))
    assert all(same(one, other) for one, other in zip(alignments, expected, strict=True))
    remaining = iter(instances())
    next(align_many(remaining, Elsewhere(), chunk=3))
    assert len(list(remaining)) == 70 - 5 * 3


def test_what_a_device_did_before_it_failed_is_kept():
    alignments = align_many([*instances(6), (["stop"], ["a"])], Elsewhere(), chunk=3)
    assert len([next(alignments) for _ in range(6)]) == 6
    with pytest.raises(RuntimeError, match="gone"):
        next(alignments)


def test_no_more_is_read_than_a_chunk():
    remaining = iter(instances())
    next(align_many(remaining, similarity("rouge1"), chunk=8))
    assert len(list(remaining)) == 62


def test_equal_generations_are_exactly_alike():
    alignments = align(["a cat", "a cat"], ["a cat"], measure("bertscore"))
    assert alignments.self_a.tolist() == [[1, 1], [1, 1]]
    assert alignments.cross.tolist() == [[1], [1]]


def test_truncated_generations_are_counted_each_time_they_occur():
    used = measure("bertscore", window=6)
    long, short = "one two three four five", "one two three four"
    alignments = list(align_many([([long, short], [long]), ([short], [short])], used))
    assert [matrices.truncated for matrices in alignments] == [2, 0]


@pytest.mark.parametrize("name", ["rouge1", "bleu", "entities"])
def test_similarities_of_words_read_texts_whole(name):
    assert align(["word " * 5000], ["word"], measure(name)).truncated == 0


def test_processes_share_the_work_and_keep_the_order():
    used = similarity("bleu")
    alone = align_many(instances(), used)
    shared = align_many(instances(), used, chunk=8, workers=2)
    assert all(same(*pair) for pair in zip(alone, shared, strict=True))


def test_processes_can_be_left_before_the_end():
    alignments = align_many(instances(), similarity("bleu"), chunk=2, workers=2)
    assert len(list(islice(alignments, 3))) == 3
    alignments.close()


def test_a_model_is_not_loaded_once_a_process():
    with refused("one_process_only", naming="workers=1"):
        align_many([], measure("bertscore"), workers=2)


@pytest.mark.parametrize("dataset", SEPARABILITY)
def test_separability_of_the_published_configurations(dataset):
    converted = READERS["mturk"]([GOLDEN / "separability" / SEPARABILITY[dataset]], None)
    a, b = converted.spec.systems
    of = {}
    for generation in converted.generations:
        of.setdefault((generation.instance, generation.system), []).append(generation.text)
    generations = [(of[instance.id, a], of[instance.id, b]) for instance in converted.instances]
    scores = [
        separability(matrices.self_a, matrices.self_b, matrices.cross)
        for matrices in align_many(generations, similarity("rouge1"))
    ]
    delta = np.array([score.delta for score in scores])
    columns = [
        [getattr(score, name) for score in scores]
        for name in ("self_alignment_a", "self_alignment_b", "cross_alignment")
    ]
    check(delta.mean(), dataset, "rouge1_separability_raw_mean", "25 pairs")
    normalised = normalised_separability(*columns, scope=dataset).delta
    check(normalised.mean(), dataset, "rouge1_separability_norm_mean", "25 pairs")
    low, high = golden()[dataset, "rouge1_separability_raw_min/max", "25 pairs"].split("/")
    assert (f"{delta.min():.4f}", f"{delta.max():.4f}") == (low, high)
    means = "/".join(f"{np.mean(column):.4f}" for column in columns)
    assert means == golden()[dataset, "mean_selfA/selfB/cross (rouge1)", "25 pairs"]

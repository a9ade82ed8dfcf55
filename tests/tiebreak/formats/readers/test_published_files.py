"""The complete published files, if they are next to the repository; ours are excerpts of them."""

import numpy as np
import pytest

from tests.paths import shared_path
from tests.tiebreak.formats.readers.files import FOLDERS
from tiebreak.formats.readers import convert
from tiebreak.similarity import align_many, similarity

PUBLISHED = {"mturk": "separability", "pandalm": "pandalm", "summeval": "summeval"}


def whole(reader):
    return convert(reader, [shared_path("data", PUBLISHED[reader])])


def facts(converted):
    """Yield ratings in their order, with units and instances numbered by first appearance."""
    units, instances = {}, {}
    for row in converted.ratings:
        unit = units.setdefault(row.pop("unit"), len(units))
        instance = instances.setdefault(row.pop("instance"), len(instances))
        yield {"unit": unit, "instance": instance, **row}


@pytest.mark.parametrize("reader", PUBLISHED)
def test_the_labels_we_keep_are_the_published_ones(reader):
    assert list(facts(convert(reader, [FOLDERS[reader]]))) == list(facts(whole(reader)))


@pytest.mark.parametrize("reader", ["mturk", "pandalm"])
def test_generations_stand_for_the_published_ones(reader):
    kept, published = convert(reader, [FOLDERS[reader]]), whole(reader)
    assert [(generation.system, generation.sample_index) for generation in kept.generations] == [
        (generation.system, generation.sample_index) for generation in published.generations
    ]


def test_numbered_words_overlap_as_the_published_words_do():
    def overlaps(converted):
        of = {}
        for generation in converted.generations:
            of.setdefault(generation.instance, []).append(generation.text)
        used = similarity("rouge1")
        return [
            alignments.self_a
            for alignments in align_many([(texts, []) for texts in of.values()], used)
        ]

    kept = overlaps(convert("mturk", [FOLDERS["mturk"]]))
    assert np.array_equal(kept, overlaps(whole("mturk")))
    assert np.shape(kept) == (100, 10, 10)


@pytest.mark.parametrize(
    ("reader", "units", "ratings"), [("llmbar", 100, 500), ("mtbench", 1240, 2991)]
)
def test_files_of_which_we_keep_nothing_are_read(reader, units, ratings):
    rows = convert(reader, [shared_path("data", reader)]).ratings
    assert (len({row["unit"] for row in rows}), len(rows)) == (units, ratings)

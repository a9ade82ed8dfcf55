"""The demo study: its texts, its two systems and its bundle."""

import json
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest

from studies.demo.bundle import SAMPLES, generation_rows, write_demo_bundle
from studies.demo.prose import Sentence, read_sentences, sample_order, words
from studies.demo.retelling import retell
from studies.demo.sources import load_sources
from studies.demo.speech import predicate_of_speaker, shift_person
from studies.demo.systems import SYSTEMS, generate
from tests.refusals import refused

SOURCES = load_sources()
ROWS = list(generation_rows(SOURCES))


def generations(name: str) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = defaultdict(list)
    for row in ROWS:
        if row["system"] == name:
            texts[str(row["instance"])].append(str(row["text"]))
    return texts


def test_twelve_dialogues_and_twelve_notes():
    assert Counter(source.category for source in SOURCES) == {"dialogue": 12, "news": 12}


def test_ids_and_texts_are_unique():
    assert len({source.id for source in SOURCES}) == len({source.text for source in SOURCES}) == 24


def test_no_two_sources_share_a_sentence():
    for one, other in combinations(SOURCES, 2):
        shared = {s.text for s in read_sentences(one.text)} & {
            s.text for s in read_sentences(other.text)
        }
        assert not shared, (one.id, other.id)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)
def test_lengths_are_within_bounds(source):
    if source.category == "news":
        assert 90 <= len(source.text.split()) <= 180
        assert "\n" not in source.text
        assert {s.speaker for s in read_sentences(source.text)} == {""}
    else:
        assert 6 <= len(source.text.splitlines()) <= 14
        assert 2 <= len({s.speaker for s in read_sentences(source.text)} - {""}) <= 4


def test_every_system_has_k_generations_of_every_source():
    counts = Counter((row["instance"], row["system"]) for row in ROWS)
    assert set(counts.values()) == {SAMPLES}
    assert len(counts) == 24 * 2


@pytest.mark.parametrize("name", SYSTEMS)
def test_samples_of_one_source_vary(name):
    distinct = {key: len(set(texts)) for key, texts in generations(name).items()}
    assert min(distinct.values()) >= 2, distinct
    assert sum(distinct.values()) >= 0.8 * 24 * SAMPLES


def test_the_two_systems_write_different_texts():
    one, other = (generations(name) for name in SYSTEMS)
    assert all(not set(one[key]) & set(other[key]) for key in one)


def test_a_generation_is_a_text_shorter_than_its_source():
    sources = {source.id: source for source in SOURCES}
    for row in ROWS:
        source = sources[row["instance"]]
        text = row["text"]
        assert 12 <= len(words(text)) < 0.75 * len(words(source.text))
        assert text == text.strip()
        assert text[0].isupper()
        assert text[-1] in '.!?"'
        assert "  " not in text
        assert ".." not in text
        assert ".;" not in text
        assert ".," not in text
        assert "{" not in text


def test_the_excerpt_says_nothing_that_the_source_does_not_say():
    for source in SOURCES:
        known = {sentence.text for sentence in read_sentences(source.text)}
        for text in generations("excerpt")[source.id]:
            quoted = [s.text for s in read_sentences(text)]
            unlabelled = [q.split(": ", 1)[-1] if q not in known else q for q in quoted]
            assert set(unlabelled) <= known


def test_the_digest_keeps_the_numbers_of_the_source():
    for source in SOURCES:
        known = set(words(source.text))
        for text in generations("digest")[source.id]:
            assert {word for word in words(text) if word.isdigit()} <= known


def test_the_digest_tells_dialogues_in_the_third_person():
    for source in SOURCES:
        if source.category == "dialogue":
            for text in generations("digest")[source.id]:
                assert not {"i", "my", "me", "you", "your", "we", "our"} & set(words(text))


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_same_seed_gives_the_same_text_and_others_do_not(name):
    text = SOURCES[0].text
    again = [generate(name, text, seed=seed) for seed in range(8)]
    assert again == [generate(name, text, seed=seed) for seed in range(8)]
    assert len(set(again)) > 1


def test_generations_do_not_depend_on_the_hash_seed_of_the_process(tmp_path):
    code = (
        "from studies.demo.bundle import generation_rows; from studies.demo.sources import "
        "load_sources; import sys; sys.stdout.write(repr(list(generation_rows(load_sources()))))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {repr(ROWS).encode()}


@pytest.mark.parametrize("name", SYSTEMS)
def test_temperature_zero_never_leaves_out_the_best_scored_sentences(name):
    text = next(source.text for source in SOURCES if source.id == "news-water")
    firsts = {generate(name, text, seed=seed, temperature=0.0).split()[0] for seed in range(20)}
    assert firsts == {"Households"}


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("text", ["Snow fell.", "Ann: Hello.\nBo: Hi.", "one", "Ann: I?"])
def test_texts_with_little_in_them_still_get_a_summary(name, text):
    assert generate(name, text, seed=1).strip()


def test_refusals_say_what_to_do():
    with refused("unknown_system", naming="excerpt, digest"):
        generate("abstract", "A text.", seed=1)
    with refused("empty"):
        generate("digest", " \n", seed=1)
    with refused("out_of_range", naming="temperature"):
        generate("digest", SOURCES[0].text, seed=1, temperature=-1)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("I will wait", "will wait"),
        ("I am late, but I have a key", "is late but has a key"),
        ("I carry it", "carries it"),
        ("I only land at midnight", "lands at midnight"),
        ("I do not mind", "does not mind"),
        ("It is late", None),
    ],
)
def test_the_first_person_is_inflected_for_a_name(statement, told):
    assert predicate_of_speaker(statement) == told


def test_the_second_person_becomes_the_addressee():
    assert shift_person("you have my key when you leave your house", addressee="Bo") == (
        "Bo has their key when Bo leaves Bo's house"
    )


def test_a_named_addressee_takes_the_singular():
    assert shift_person("because you are early", addressee="Bo") == "because Bo is early"


def test_sampling_breaks_ties_by_position_whatever_the_last_digits():
    scores = np.array([1.0, 2.0, 2.0 + 1e-13, 0.0])
    rng = np.random.default_rng(1)
    assert sample_order(scores, 3, rng=rng, temperature=0.0) == [1, 2, 0]


def test_sampling_follows_the_softmax_of_the_scores():
    scores = np.log(np.array([0.5, 0.3, 0.2]))
    rng = np.random.default_rng(7)
    firsts = [sample_order(scores, 1, rng=rng, temperature=1.0)[0] for _ in range(4000)]
    shares = np.bincount(firsts, minlength=3) / 4000
    assert np.abs(shares - [0.5, 0.3, 0.2]).max() < 0.03


def test_the_bundle_holds_the_study(tmp_path):
    write_demo_bundle(tmp_path / "demo")
    study = tomllib.loads((tmp_path / "demo/study.toml").read_text())
    assert study["systems"] == list(SYSTEMS)
    assert (study["ratings_per_hit"], study["comparisons_per_hit"]) == (3, 5)
    assert study["abandoned"] == "whole_hit"
    assert study["criteria"][0]["scale"] == "preference:tie"
    for key in ("guidelines", "consent"):
        assert len((tmp_path / "demo" / study[key]).read_text().split()) > 60
    instances = read_rows(tmp_path / "demo/instances.jsonl")
    assert [row["source"] for row in instances] == [source.text for source in SOURCES]
    assert read_rows(tmp_path / "demo/generations.jsonl") == ROWS


def test_a_stored_generation_can_be_made_again_from_its_seed_and_parameters(tmp_path):
    write_demo_bundle(tmp_path)
    sources = {row["id"]: row["source"] for row in read_rows(tmp_path / "instances.jsonl")}
    for row in read_rows(tmp_path / "generations.jsonl"):
        source = sources[row["instance"]]
        assert generate(row["system"], source, seed=row["seed"], **row["params"]) == row["text"]


def test_writing_the_bundle_twice_gives_the_same_bytes(tmp_path):
    write_demo_bundle(tmp_path / "one")
    write_demo_bundle(tmp_path / "two")
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(files) == 5
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def read_rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "statement", ["Only when you are there, because she jumps.", "Yes, if somebody takes my visit."]
)
def test_half_an_answer_is_not_told_as_a_statement(statement):
    assert retell(Sentence(statement, turn=3, speaker="Ann", addressee="Bo")) is None

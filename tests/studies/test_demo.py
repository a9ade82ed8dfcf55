"""The demo study, which is stored as a bundle."""

from collections import Counter

from annotation.imports.sample_files import DEMO_BUNDLE
from tiebreak.formats import read_bundle

BUNDLE = read_bundle(DEMO_BUNDLE)
SOURCES = {item.id: item.source for item in BUNDLE.instances}
SAMPLES = 5


def test_the_bundle_holds_the_whole_study():
    spec = BUNDLE.spec
    assert not BUNDLE.unread
    assert spec.settings["ratings_per_hit"] == 3
    assert spec.settings["comparisons_per_hit"] == SAMPLES
    assert [criterion.scale for criterion in spec.criteria] == ["preference:tie"]
    assert min(len(text.split()) for text in (spec.guidelines, spec.consent)) > 60


def test_twelve_dialogues_and_twelve_notes():
    assert Counter(item.category for item in BUNDLE.instances) == {"dialogue": 12, "news": 12}
    assert len(set(SOURCES.values())) == 24


def test_every_system_has_different_samples_of_every_source():
    texts = {(text.instance, text.system): set[str]() for text in BUNDLE.generations}
    for text in BUNDLE.generations:
        texts[text.instance, text.system].add(text.text)
        assert 12 <= len(text.text.split()) < 0.75 * len(SOURCES[text.instance].split())
    counts = Counter((text.instance, text.system) for text in BUNDLE.generations)
    assert set(counts) == {(item, system) for item in SOURCES for system in ("excerpt", "digest")}
    assert set(counts.values()) == {SAMPLES}
    assert min(map(len, texts.values())) >= 2
    assert not any(texts[item, "excerpt"] & texts[item, "digest"] for item in SOURCES)

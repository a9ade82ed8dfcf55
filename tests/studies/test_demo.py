"""The demo's bundle: texts that read like minutes, and systems that differ."""

from collections import Counter

from annotation.imports.sample_files import DEMO_BUNDLE
from tiebreak.formats import read_bundle
from tiebreak.formats.bundle import FILES

BUNDLE = read_bundle(DEMO_BUNDLE)
SOURCES = {item.id: item.source for item in BUNDLE.instances}
SYSTEMS = ("ours-8b", "llama-3.1-8b", "bart-large")
SAMPLES = 2


def test_the_bundle_holds_the_whole_study():
    assert BUNDLE.unread == {FILES: ("comments.csv", "screening.toml")}
    assert tuple(BUNDLE.spec.systems) == SYSTEMS
    assert [criterion.scale for criterion in BUNDLE.spec.criteria] == ["preference:tie"]
    assert min(len(text.split()) for text in (BUNDLE.spec.guidelines, BUNDLE.spec.consent)) > 60
    assert sum(path.stat().st_size for path in DEMO_BUNDLE.iterdir()) < 400_000


def test_every_category_has_twelve_different_minutes():
    assert set(Counter(item.category for item in BUNDLE.instances).values()) == {12}
    assert len(set(SOURCES.values())) == 60


def test_every_system_has_different_samples_of_every_source():
    counts = Counter((text.instance, text.system) for text in BUNDLE.generations)
    assert set(counts) == {(item, system) for item in SOURCES for system in SYSTEMS}
    assert set(counts.values()) == {SAMPLES}
    assert len({(text.instance, text.text) for text in BUNDLE.generations}) == 60 * 3 * SAMPLES
    for text in BUNDLE.generations:
        assert 10 <= len(text.text.split()) < 0.75 * len(SOURCES[text.instance].split())

"""How the texts of a dataset are shown: as Markdown, where they have it."""

from collections.abc import Iterable
from itertools import islice

from studies.models import Dataset, Generation, Study
from studies.rendering.recognising import LOOKED_AT, n_with_markdown, recognised_format
from studies.rendering.renderers import RENDERERS


def recognised_formats(dataset: Dataset) -> dict[str, str]:
    """Return the settings of a study with these texts."""
    sources, texts = _sources(dataset), _texts(dataset)
    return {
        "generation_format": recognised_format(texts),
        "source_format": recognised_format(sources),
    }


def formats_in_words(study: Study) -> str:
    """Say how many texts have the Markdown with which they are shown, or return ""."""
    if study.dataset is None:
        return ""
    said = [
        _counted(texts, what)
        for texts, what, shown_as in (
            (_sources(study.dataset), "source texts", study.source_format),
            (_texts(study.dataset), "responses", study.generation_format),
        )
        if RENDERERS[shown_as].is_markup
    ]
    if not said:
        return ""
    return f"Shown with their Markdown: {' and '.join(said)}. Texts without Markdown keep their lines and spaces."


def _counted(texts: Iterable[str], what: str) -> str:
    looked_at = [*islice(texts, LOOKED_AT)]
    first = "the first " if len(looked_at) == LOOKED_AT else ""
    return f"{n_with_markdown(looked_at):,} of {first}{len(looked_at):,} {what}"


def _texts(dataset: Dataset) -> Iterable[str]:
    rows = Generation.objects.filter(instance__dataset=dataset).order_by("pk")
    return rows.values_list("text", flat=True)[:LOOKED_AT]


def _sources(dataset: Dataset) -> Iterable[str]:
    rows = dataset.instances.exclude(source="").order_by("pk")
    return rows.values_list("source", flat=True)[:LOOKED_AT]

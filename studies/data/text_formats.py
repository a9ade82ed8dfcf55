"""How the texts of a dataset are shown: as Markdown, where they have it."""

from collections.abc import Iterable
from itertools import islice

from studies.models import Dataset, Generation, Study
from studies.rendering.recognising import (
    LEAST_SHARE,
    LOOKED_AT,
    markdown_share,
    n_with_markdown,
    recognised_format,
)
from studies.rendering.renderers import RENDERERS
from tiebreak.digits import percent

RENDERED = "Shown with their Markdown: {}. Texts without Markdown keep their lines and spaces."
TOO_FEW = (
    "Shown as they were written, with the signs of Markdown in {}: fewer than {} have any. The step Task"
    " has the choice to show all as Markdown."
)


def recognised_formats(dataset: Dataset) -> dict[str, str]:
    """Return the settings of a study with these texts."""
    sources, texts = _sources(dataset), _texts(dataset)
    return {
        "generation_format": recognised_format(texts),
        "source_format": recognised_format(sources),
    }


def formats_in_words(study: Study) -> str:
    """Say how many texts have Markdown, and whether they are shown with it; "" where none has."""
    if study.dataset is None:
        return ""
    rendered, as_written = [], []
    for texts, what, shown_as in (
        (list(_sources(study.dataset)), "source texts", study.source_format),
        (list(_texts(study.dataset)), "responses", study.generation_format),
    ):
        if RENDERERS[shown_as].is_markup:
            rendered.append(_counted(texts, what))
        elif 0 < markdown_share(texts) < LEAST_SHARE:
            as_written.append(_counted(texts, what))
    said = []
    if rendered:
        said.append(RENDERED.format(" and ".join(rendered)))
    if as_written:
        said.append(TOO_FEW.format(" and ".join(as_written), percent(LEAST_SHARE)))
    return " ".join(said)


def _counted(texts: Iterable[str], what: str) -> str:
    looked_at = [*islice(texts, LOOKED_AT)]
    first = "the first " if len(looked_at) == LOOKED_AT else ""
    return f"{n_with_markdown(looked_at):,} of {first}{len(looked_at):,} {what}"


def _texts(dataset: Dataset) -> Iterable[str]:
    rows = Generation.objects.filter(system__in=dataset.systems.for_studies()).order_by("pk")
    return rows.values_list("text", flat=True)[:LOOKED_AT]


def _sources(dataset: Dataset) -> Iterable[str]:
    rows = dataset.instances.exclude(source="").order_by("pk")
    return rows.values_list("source", flat=True)[:LOOKED_AT]

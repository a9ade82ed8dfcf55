"""The overlap of the named entities of two texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tiebreak import optional
from tiebreak.similarity.measure import FloatArray, Similarity, with_empty_texts

PIPELINE = "en_core_web_sm"


class EntityRecogniser(Protocol):
    """What finds the entities that texts name.

    Attributes
    ----------
    settings : mapping of str to object
        Which recogniser it is, ready for JSON.
    """

    @property
    def settings(self) -> Mapping[str, object]:
        """Which recogniser it is, ready for JSON."""

    def entities(self, texts: Sequence[str]) -> Iterable[Iterable[str]]:
        """Find the entities of each text.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        iterable of iterable of str
            Entities of each text.
        """


@dataclass(frozen=True)
class NamedEntities:
    """The distinct entities of one text, and whether the text is empty."""

    entities: frozenset[str]
    is_empty: bool


class EntityJaccard(Similarity):
    """Share of the entities of two texts that both name, in [0, 1].

    Parameters
    ----------
    recogniser : EntityRecogniser
        What finds the entities.

    Notes
    -----
    Jaccard's coefficient of the sets of entities, 1 if neither text names any. An entity is its
    words, in any case and spacing and of whatever kind. A text of nothing but white space is empty.

    Examples
    --------
    >>> class Capitals:
    ...     settings = {"recogniser": "capitals"}
    ...     def entities(self, texts):
    ...         return [[word for word in text.split() if word.istitle()] for text in texts]
    >>> EntityJaccard(Capitals())("Ann met Bob", "Bob left")
    0.5
    """

    name = "entities"
    title = "entity Jaccard"

    def __init__(self, recogniser: EntityRecogniser) -> None:
        self.recogniser = recogniser

    @property
    def settings(self) -> Mapping[str, object]:
        """The recogniser's settings beside the similarity's own."""
        return {**super().settings, **self.recogniser.settings}

    def prepare(self, texts: Sequence[str]) -> list[NamedEntities]:
        """The distinct entities of each text."""
        return [
            NamedEntities(frozenset(map(_normalised, entities)), not text.strip())
            for entities, text in zip(self.recogniser.entities(texts), texts, strict=True)
        ]

    def between(self, prepared: Sequence[NamedEntities]) -> FloatArray:
        """Jaccard's coefficient of all pairs, (n, n)."""
        names = sorted(frozenset().union(*(text.entities for text in prepared)))
        mentions = np.array([[name in text.entities for name in names] for text in prepared])
        mentions = mentions.reshape(len(prepared), len(names)).astype(float)
        intersection = mentions @ mentions.T
        n_entities = mentions.sum(axis=1)
        union = n_entities[:, None] + n_entities - intersection
        jaccard = np.divide(intersection, union, out=np.ones_like(union), where=union > 0)
        return with_empty_texts(jaccard, np.array([text.is_empty for text in prepared], dtype=bool))


def _normalised(entity: str) -> str:
    return " ".join(entity.casefold().split())


class SpacyEntities:
    """Entities as a spaCy pipeline finds them.

    Parameters
    ----------
    pipeline : str, default "en_core_web_sm"
        Name of the pipeline.

    Raises
    ------
    MissingPackageError
        If spaCy or the pipeline is not installed.
    """

    def __init__(self, pipeline: str = PIPELINE) -> None:
        self._pipeline = _load(pipeline)

    @property
    def settings(self) -> dict[str, object]:
        """Name and version of the pipeline, ready for JSON."""
        meta = self._pipeline.meta
        return {
            "pipeline": f"{meta['lang']}_{meta['name']}",
            "version": meta["version"],
            "spacy": optional.load("spacy").__version__,
        }

    def entities(self, texts: Sequence[str]) -> list[list[str]]:
        """Find the entities of each text.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        list of list of str
            Entities of each text, as often as they occur.
        """
        return [[entity.text for entity in doc.ents] for doc in self._pipeline.pipe(texts)]


def _load(pipeline: str) -> Any:
    spacy = optional.load("spacy")
    try:
        return spacy.load(pipeline)
    except OSError as error:
        raise optional.MissingPackageError(
            f"The spaCy pipeline {pipeline} is not installed. Install it with: "
            f"python -m spacy download {pipeline}"
        ) from error

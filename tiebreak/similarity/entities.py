"""The overlap of two texts' named entities."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tiebreak import optional
from tiebreak.similarity.measure import FloatArray, Similarity, with_empty_texts

PIPELINE = "en_core_web_sm"


class EntityRecogniser(Protocol):
    """A recogniser of named entities in texts.

    Attributes
    ----------
    settings : mapping of str to object
        Settings that identify the recogniser, ready for JSON.
    """

    @property
    def settings(self) -> Mapping[str, object]:
        """Settings that identify the recogniser, ready for JSON."""

    def entities(self, texts: Sequence[str]) -> Iterable[Iterable[str]]:
        """Find the entities of each text.

        Parameters
        ----------
        texts : sequence of str
            The texts.

        Returns
        -------
        iterable of iterable of str
            Entities of each text, which may repeat.
        """


@dataclass(frozen=True)
class NamedEntities:
    """The distinct entities of one text, and whether the text is empty."""

    entities: frozenset[str]
    is_empty: bool


class EntityJaccard(Similarity):
    """Share of two texts' named entities that are in both texts, in [0, 1].

    Parameters
    ----------
    recogniser : EntityRecogniser
        Recogniser of the entities.

    Notes
    -----
    This is Jaccard's coefficient of the two sets of entities, or 1 if neither text has any.
    Entities are equal if their words are, regardless of case, spacing and kind of entity. A text
    that consists only of white space counts as empty.

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
        """Settings of the similarity and of its recogniser, ready for JSON."""
        return {**super().settings, **self.recogniser.settings}

    def prepare(self, texts: Sequence[str]) -> list[NamedEntities]:
        """Return the distinct entities of each text."""
        return [
            NamedEntities(
                frozenset(" ".join(entity.casefold().split()) for entity in entities),
                not text.strip(),
            )
            for entities, text in zip(self.recogniser.entities(texts), texts, strict=True)
        ]

    def between(self, prepared: Sequence[NamedEntities]) -> FloatArray:
        """Return Jaccard's coefficient of all pairs, in shape (texts, texts)."""
        names = sorted(frozenset().union(*(text.entities for text in prepared)))
        mentions = np.array([[name in text.entities for name in names] for text in prepared])
        mentions = mentions.reshape(len(prepared), len(names)).astype(float)
        intersection = mentions @ mentions.T
        n_entities = mentions.sum(axis=1)
        union = n_entities[:, None] + n_entities - intersection
        jaccard = np.divide(intersection, union, out=np.ones_like(union), where=union > 0)
        return with_empty_texts(jaccard, np.array([text.is_empty for text in prepared], dtype=bool))


class SpacyEntities(EntityRecogniser):
    """Recogniser of named entities with a spaCy pipeline.

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

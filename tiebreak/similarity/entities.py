"""The overlap of the entities that two texts name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tiebreak import optional
from tiebreak.similarity.measure import FloatArray, Similarity, settled_by_emptiness

PIPELINE = "en_core_web_sm"


class EntityRecogniser(Protocol):
    """What finds the entities that texts name; `settings` says which one it was."""

    @property
    def settings(self) -> Mapping[str, object]: ...

    def entities(self, texts: Sequence[str]) -> Iterable[Iterable[str]]: ...


@dataclass(frozen=True)
class Named:
    """The entities of one text, or that it is empty."""

    entities: frozenset[str]
    is_empty: bool


class EntityJaccard(Similarity):
    """Entities that both texts name over those that either names; in [0, 1].

    1 where neither names any. An entity is its words in any case and spacing, whatever its kind.
    A text of nothing but white space is empty.

    Parameters
    ----------
    recogniser : EntityRecogniser
    """

    name = "entities"
    title = "entity Jaccard"

    def __init__(self, recogniser: EntityRecogniser) -> None:
        self.recogniser = recogniser

    @property
    def settings(self) -> Mapping[str, object]:
        """The recogniser's settings beside the similarity's own."""
        return {**super().settings, **self.recogniser.settings}

    def prepare(self, texts: Sequence[str]) -> list[Named]:
        """The distinct entities of each text."""
        found = self.recogniser.entities(texts)
        return [
            Named(frozenset(" ".join(name.casefold().split()) for name in names), not text.strip())
            for names, text in zip(found, texts, strict=True)
        ]

    def between(self, prepared: Sequence[Named]) -> FloatArray:
        """Jaccard's coefficient of all pairs, (n, n)."""
        kinds = sorted(frozenset().union(*(each.entities for each in prepared)))
        names = np.array([[kind in each.entities for kind in kinds] for each in prepared])
        has = names.reshape(len(prepared), len(kinds)).astype(float)
        both = has @ has.T
        either = has.sum(axis=1)[:, None] + has.sum(axis=1) - both
        jaccard = np.divide(both, either, out=np.ones_like(both), where=either > 0)
        return settled_by_emptiness(np.array([e.is_empty for e in prepared], dtype=bool), jaccard)


class SpacyEntities:
    """Entities as a spaCy pipeline finds them.

    Parameters
    ----------
    pipeline : str, default "en_core_web_sm"

    Raises
    ------
    MissingPackageError
        Without spaCy or the pipeline.
    """

    def __init__(self, pipeline: str = PIPELINE) -> None:
        self._pipeline = _loaded(pipeline)

    @property
    def settings(self) -> dict[str, object]:
        """The pipeline and its version, ready for JSON."""
        meta = self._pipeline.meta
        return {
            "pipeline": f"{meta['lang']}_{meta['name']}",
            "version": meta["version"],
            "spacy": optional.load("spacy").__version__,
        }

    def entities(self, texts: Sequence[str]) -> list[list[str]]:
        """The entities of each text, as often as they occur."""
        return [[entity.text for entity in found.ents] for found in self._pipeline.pipe(texts)]


def _loaded(pipeline: str) -> Any:
    spacy = optional.load("spacy")
    try:
        return spacy.load(pipeline)
    except OSError as error:
        raise optional.MissingPackageError(
            f"The spaCy pipeline {pipeline} is not installed. Install it with: "
            f"python -m spacy download {pipeline}"
        ) from error

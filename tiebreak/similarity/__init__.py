"""Text similarities s(y, y′), and the alignment matrices of instances.

Every similarity is symmetric; asymmetric measures take the longer text as the reference. The
similarity of an empty and a non-empty text is 0, of two empty texts 1. The lexical similarities
need no optional package.
"""

from tiebreak.errors import InvalidInput
from tiebreak.gateway.encoders import TextEncoder, bundled_encoder
from tiebreak.similarity.alignment import Alignments, align, align_many
from tiebreak.similarity.bertscore import BertScore, LengthAdjustedBertScore, length_penalty
from tiebreak.similarity.entities import EntityJaccard, EntityRecogniser, SpacyEntities
from tiebreak.similarity.lexical import Bleu, Rouge1
from tiebreak.similarity.measure import Similarity
from tiebreak.similarity.sentences import SentenceCosine

DEFAULT = LengthAdjustedBertScore.name
LEXICAL: dict[str, type[Similarity]] = {kind.name: kind for kind in (Rouge1, Bleu)}
ENCODED: dict[str, type[BertScore] | type[SentenceCosine]] = {
    kind.name: kind for kind in (BertScore, LengthAdjustedBertScore, SentenceCosine)
}
SIMILARITIES: dict[str, type[Similarity]] = {
    **LEXICAL,
    **ENCODED,
    EntityJaccard.name: EntityJaccard,
}


def similarity_title(name: str) -> str:
    """Return the name of a similarity for display.

    Parameters
    ----------
    name : str
        Name of the similarity, one of `SIMILARITIES` or any other.

    Returns
    -------
    str
        Its title; another name is returned as it is.

    Examples
    --------
    >>> similarity_title("rouge1")
    'ROUGE-1'
    """
    return SIMILARITIES[name].title if name in SIMILARITIES else name


def similarity(name: str, *, encoder: TextEncoder | None = None) -> Similarity:
    """Return the similarity of a name.

    Parameters
    ----------
    name : str
        One of `SIMILARITIES`.
    encoder : TextEncoder, optional
        What BERTScore and the sentence cosine encode with, `bundled_encoder` by default. The others
        have no use for one.

    Returns
    -------
    Similarity
        A function of two texts, which also compares all pairs of many.

    Raises
    ------
    InvalidInput
        If there is no similarity of that name. The message lists them.
    MissingPackageError
        If it needs a package that is not installed. The message says how to install it.

    See Also
    --------
    align : Similarities of two systems' texts.

    Examples
    --------
    >>> similarity("rouge1")("a cat sat", "the cat sat")
    0.6666666666666666
    """
    if name in LEXICAL:
        return LEXICAL[name]()
    if name in ENCODED:
        return ENCODED[name](encoder or bundled_encoder())
    if name == EntityJaccard.name:
        return EntityJaccard(SpacyEntities())
    raise InvalidInput(
        "unknown_similarity", f"{name!r} is not a similarity; there are {', '.join(SIMILARITIES)}"
    )


__all__ = [
    "DEFAULT",
    "ENCODED",
    "SIMILARITIES",
    "Alignments",
    "BertScore",
    "Bleu",
    "EntityJaccard",
    "EntityRecogniser",
    "LengthAdjustedBertScore",
    "Rouge1",
    "SentenceCosine",
    "Similarity",
    "SpacyEntities",
    "align",
    "align_many",
    "length_penalty",
    "similarity",
    "similarity_title",
]

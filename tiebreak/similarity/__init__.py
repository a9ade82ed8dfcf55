"""Similarities of texts, and the alignment matrices of instances.

Every similarity is symmetric; asymmetric measures use the longer text as the reference. The
similarity of an empty and a non-empty text is 0, and of two empty texts is 1. The lexical
similarities need no optional package.
"""

from tiebreak.errors import InvalidInput
from tiebreak.field_docs import list_fields
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
    """Return the title of a similarity for display.

    Parameters
    ----------
    name : str
        Name of the similarity, from `SIMILARITIES` or not.

    Returns
    -------
    str
        Title of the similarity, or the name itself if it is not in `SIMILARITIES`.

    Examples
    --------
    >>> similarity_title("rouge1")
    'ROUGE-1'
    """
    return SIMILARITIES[name].title if name in SIMILARITIES else name


def similarity(name: str, *, encoder: TextEncoder | None = None) -> Similarity:
    """Create a similarity by name.

    Parameters
    ----------
    name : str
        Name of the similarity, from `SIMILARITIES`.
    encoder : TextEncoder, optional
        Encoder for BERTScore and the sentence cosine, by default `bundled_encoder`. The other
        similarities ignore it.

    Returns
    -------
    Similarity
        Similarity, which can be called with two texts and can compare all pairs of many texts.

    Raises
    ------
    InvalidInput
        If the name is unknown. The message lists the names.
    MissingPackageError
        If the similarity needs a package that is not installed. The message says how to install it.

    See Also
    --------
    align : Compare two systems' texts.

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
        "unknown_similarity",
        f"{name!r} is not a similarity. Use one of: {', '.join(SIMILARITIES)}.",
    )


__all__ = [
    "DEFAULT",
    "ENCODED",
    "LEXICAL",
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

list_fields(globals())

"""Converts the first person into the third: "I'll wait" → "(Mara) will wait"."""

import re

from studies.demo.prose import words

_CONTRACTIONS = (
    (r"\bcan't\b", "cannot"),
    (r"\bwon't\b", "will not"),
    (r"n't\b", " not"),
    (r"\b(I|[Ww]e|[Yy]ou|[Tt]hey)'ll\b", r"\1 will"),
    (r"\bI'm\b", "I am"),
    (r"\b([Ii]t|[Tt]hat|[Hh]e|[Ss]he|[Tt]here)'s\b", r"\1 is"),
)
_FILLERS = re.compile(
    r"^(?:(?:Oh no|Oh|Well|No|Yes|Fine|Great|Lovely|All right|Agreed|Deal|Of course|Hello|Wait"
    r"|Good morning|Thank you|Good idea|Back)[,.!?]\s*|(?:Then|And|[Bb]ut|So)\s+)+"
)
_HEDGES = re.compile(r"\b(?:I think (?:that )?)|\b(?:really|actually|rather|just|even|so often) ")
_MODALS = frozenset(words("can cannot could may might must shall should will would"))
_PASTS = frozenset(
    words(
        "ate began bought broke built came did fell found gave got had heard held knew left lost made "
        "met put said sat sent stood thought told took was went were wrote"
    )
)
_IRREGULAR = {"am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was"}
_SUBORDINATORS = "after|as|because|before|if|so|that|until|what|when|where|whether|while|and|but"
_SHIFTS = (
    (r"\bI am\b", "they are"),
    (r"\bI was\b", "they were"),
    (r"\b(?:I|[Ww]e)\b", "they"),
    (r"\b(?:me|us)\b", "them"),
    (r"\b(?:[Mm]y|[Oo]ur)\b", "their"),
    (r"\b(?:mine|ours)\b", "theirs"),
    (r"\bmyself\b", "themselves"),
)


def plain(text: str) -> str:
    """Remove contractions, opening fillers and hedges, and capitalise the first letter."""
    for pattern, replacement in _CONTRACTIONS:
        text = re.sub(pattern, replacement, text)
    text = _HEDGES.sub("", _FILLERS.sub("", text)).strip()
    return text[:1].upper() + text[1:]


def third_person(verb: str) -> str:
    """Inflect a verb that followed "I" or "you" for the third person."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _MODALS or verb in _PASTS or verb.endswith("ed"):
        return verb
    if re.search(r"(?:s|x|z|ch|sh)$", verb):
        return verb + "es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", verb) + "s"


def predicate_of_speaker(text: str) -> str | None:
    """Return what follows "I" at the start, in the third person, or None for any other start."""
    match = re.match(r"I (?:(?:also|only|still) )?(\w+)( not)?(.*)$", text)
    if match is None:
        return None
    rest = re.sub(r",? (and|but) I (\w+)", lambda m: f" {m[1]} {third_person(m[2])}", match[3])
    return third_person(match[1]) + (match[2] or "") + rest


def shift_person(text: str, *, addressee: str) -> str:
    """Report a sentence in the third person: "I" becomes "they", and "you" the addressee."""
    text = re.sub(r"\b[Yy]our\b", f"{addressee}'s", text)
    text = re.sub(
        rf"((?:^|\b(?:{_SUBORDINATORS}) ))[Yy]ou (\w+)",
        lambda match: f"{match[1]}{addressee} {third_person(match[2])}",
        text,
    )
    text = re.sub(r"\b[Yy]ou\b", addressee, text)
    for pattern, replacement in _SHIFTS:
        text = re.sub(pattern, replacement, text)
    return text

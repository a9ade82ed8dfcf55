"""Retells what one person says in a dialogue as a clause about that person."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from studies.demo.prose import Sentence, words
from studies.demo.speech import plain, predicate_of_speaker, shift_person

MIN_WORDS = 5
_IMPERATIVES = "Ask|Bring|Call|Give|Keep|Leave|Make|Meet|Take|Tell|Try|Put|Send"
_REQUEST = re.compile(r"(?:Can|Could|Would|Will) you (?:please )?(.+)\?$")
_ORDER = re.compile(rf"(?:Please (.+)|((?:{_IMPERATIVES})\b.+))$")
_ASIDE_REQUEST = re.compile(r"(?:, (?:so|and)|\.) please (.+)$")
_SUGGESTION = re.compile(r"(?:Let's|We could) (.+)$")
_PROPOSAL = re.compile(r"(?:How|What) about (.+)\?$")
_PERMISSION = re.compile(r"(?:Can|Could|May|Might) I (.+)\?$")
_WHETHER = re.compile(r"(Is|Are|Was|Has) (it|there|he|she|they) (.+)\?$")
_IN_ORDER = re.compile(r"((?:How many \w+|What|Who) (?:are|is|happens|has) .+)\?$")
_LEANS = re.compile(
    r"[Ii]f [^,]+$|Only when\b|.*\bthat,"
)  # ends or answers somebody else's sentence
_FINITE = re.compile(r"\b(?:can|could|do|had|have|may|might|must|will|would|\w+ed|\w+s|are|were)\b")
_VAGUE = re.compile(
    r"\b(?:him|her|them|that)$|\b(?:ask him|tell them)\b|^asks (?:what|who|whether)\b"
)
_FACT = re.compile(
    r"\b(?:\d[\d:]*|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|noon|midnight|tonight|tomorrow"
    r"|half past|two|three|four|five|six|seven|eight|nine|ten|eleven|ninth|twentieth|month)\b"
)


@dataclass(frozen=True)
class Clause:
    """What a person does or says. In the summary, `predicate` follows the person's name.

    `act` is "states", "is", "asks" or "plans". If it is "states", the predicate is a whole sentence
    that needs a verb of saying before it.
    """

    speaker: str
    act: str
    predicate: str
    turn: int
    worth: float


def retell(sentence: Sentence) -> Clause | None:
    """Return the clause for a sentence, or None if it contains nothing to report."""
    text = plain(sentence.text).rstrip(".!")
    text = re.sub(rf"^{sentence.addressee}, (\w)", lambda match: match[1].upper(), text)
    report = _asked(text) or _planned(text) or _stated(text)
    if report is None or len(words(text)) < MIN_WORDS:
        return None
    act, predicate = report
    predicate = shift_person(predicate, addressee=sentence.addressee)
    predicate = predicate.replace("{addressee}", sentence.addressee)
    return Clause(sentence.speaker, act, predicate, sentence.turn, _worth(sentence, act, predicate))


def _asked(text: str) -> tuple[str, str] | None:
    """Report a request, an order, or a question whose word order stays the same."""
    forms: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
        (_REQUEST, lambda match: f"asks {{addressee}} to {match[1]}"),
        (_ORDER, lambda match: f"tells {{addressee}} to {_lower_first(match[1] or match[2])}"),
        (_PERMISSION, lambda match: f"asks to {match[1]}"),
        (_PROPOSAL, lambda match: f"suggests {match[1]}"),
        (_WHETHER, lambda match: f"asks whether {match[2]} {match[1].lower()} {match[3]}"),
        (_IN_ORDER, lambda match: f"asks {_lower_first(match[1])}"),
    )
    return _first_form(text, "asks", forms)


def _planned(text: str) -> tuple[str, str] | None:
    """Report a promise or a suggestion."""
    promise = predicate_of_speaker(text) if text.startswith("I will ") else None
    if promise:
        return "plans", promise
    return _first_form(
        text, "plans", ((_SUGGESTION, lambda match: f"suggests that they {match[1]}"),)
    )


def _stated(text: str) -> tuple[str, str] | None:
    if text.endswith("?") or _LEANS.match(text):
        return None
    text = _ASIDE_REQUEST.sub("", text)
    text = re.sub(r"^I could (?!not)", "I offer to ", text)
    predicate = predicate_of_speaker(text)
    if predicate:
        return "is", predicate
    return ("states", text) if _FINITE.search(text) else None


def _first_form(
    text: str,
    act: str,
    forms: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...],
) -> tuple[str, str] | None:
    for pattern, predicate in forms:
        match = pattern.match(text)
        if match:
            return act, predicate(match)
    return None


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _worth(sentence: Sentence, act: str, predicate: str) -> float:
    """Score a clause. Plans and facts score high, and asides and dependent sentences score low."""
    by_act = {"plans": 1.2, "asks": 0.4, "states": 0.4, "is": 0.2}[act]
    opens = 1.0 if sentence.turn == 0 and not sentence.is_question else 0.0
    fact = 0.7 if _FACT.search(predicate) else 0.0
    vague = 0.5 if _VAGUE.search(predicate) else 0.0
    return by_act + opens + fact - vague - 1.2 * sentence.is_dangling

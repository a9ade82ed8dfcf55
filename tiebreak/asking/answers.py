"""The answers that a prompt offers a judge, on screen and in system order."""

from string import ascii_uppercase

from tiebreak.asking.question import Task
from tiebreak.nonresponse import CANNOT_SAY, NONRESPONSES
from tiebreak.scales import BAD, Label, Scale

# Servers tell the probabilities of so many tokens at most.
MAX_SIGNS = 20


def allowed_answers(scale: Scale) -> tuple[str, ...]:
    """Return the answers of a scale as a judge writes them; none if any number is allowed."""
    if scale.labels is None:
        return ()
    return tuple(answer_text(scale, label) for label in scale.labels)


def cannot_say(study: Task, scale: Scale) -> str:
    """Return what a judge writes in place of a label; "" if the study or a label leaves no room for it."""
    words = NONRESPONSES[CANNOT_SAY]
    is_label = words in map(str.casefold, allowed_answers(scale))
    return words if CANNOT_SAY in study.allowed_nonresponses and not is_label else ""


def offered_answers(study: Task, scale: Scale) -> tuple[str, ...]:
    """Return the answers that a judge of the study may write."""
    return tuple(filter(None, (*allowed_answers(scale), cannot_say(study, scale))))


def answer_text(scale: Scale, label: Label) -> str:
    """Return a label as a judge writes it. The text shown first is A.

    A preference is in the order of the screen: negative for the text shown first.
    """
    side = scale.side_of(label)
    if side == 0:
        return scale.words_for(label)
    letter = "A" if side < 0 else "B"
    strengths = {abs(int(other)) for other in scale.order_labels or ()} - {0}
    return letter if len(strengths) == 1 else f"{letter} {scale.words_for(label)}"


def signs(scale: Scale) -> dict[Label, str]:
    """Return one character for each label, as a model has probabilities of single tokens.

    An answer of one character stands for itself; the others get the letters that are free. A and B
    are always the two texts. There may be at most `MAX_SIGNS` labels.
    """
    texts = {label: answer_text(scale, label) for label in scale.labels or ()}
    letters = ascii_uppercase[2:] if scale.kind == "preference" else ascii_uppercase
    free = iter([letter for letter in letters if letter not in texts.values()])
    return {label: text if len(text) == 1 else next(free) for label, text in texts.items()}


def sign_of_cannot_say(study: Task, scale: Scale) -> str:
    """Return the character for an answer in place of a label; "" if none may be given.

    There is none beside `MAX_SIGNS` labels either.
    """
    taken = {"A", "B", *signs(scale).values()}
    free = next((letter for letter in ascii_uppercase if letter not in taken), "")
    return free if cannot_say(study, scale) and len(signs(scale)) < MAX_SIGNS else ""


def has_signs(scale: Scale) -> bool:
    """Return whether a judge may answer by probability on this scale."""
    return 0 < len(scale.labels or ()) <= MAX_SIGNS


def in_system_order(label: Label | None, scale: Scale, *, is_a_first: bool) -> Label | None:
    """Return a preference between the texts on screen as one between the systems."""
    if label is None or label == BAD or scale.kind != "preference" or is_a_first:
        return label
    return -int(label)

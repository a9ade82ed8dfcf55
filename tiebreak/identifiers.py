"""Public ids: what stands in addresses instead of a row's number."""

import secrets

# Without the characters that people confuse when they read an id aloud.
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
LENGTH = 12


def new_public_id() -> str:
    """A random id of 59 bits: not enumerable, though never the only guard of a page."""
    # Drawn once and not a letter at a time: every model that is made asks for one.
    rest = secrets.randbelow(len(ALPHABET) ** LENGTH)
    letters = []
    for _ in range(LENGTH):
        rest, place = divmod(rest, len(ALPHABET))
        letters.append(ALPHABET[place])
    return "".join(letters)


def new_seed() -> str:
    """A secret seed for draws that annotators must not be able to foresee."""
    return secrets.token_hex(16)


def looks_like_public_id(text: str) -> bool:
    """Whether a text could be a public id rather than a path."""
    return len(text) == LENGTH and set(text) <= set(ALPHABET)

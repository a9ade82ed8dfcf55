"""Public ids, which URLs contain instead of primary keys."""

import secrets

# It leaves out characters that are easily confused, such as 0 and o, or 1, i and l.
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"
LENGTH = 12


def new_public_id() -> str:
    """Return a random id of 59 bits. Nobody can guess it, but pages check access as well."""
    # A single draw is faster than twelve, and bulk inserts create thousands of ids.
    number = secrets.randbelow(len(ALPHABET) ** LENGTH)
    letters = []
    for _ in range(LENGTH):
        number, index = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[index])
    return "".join(letters)


def new_seed() -> str:
    """Return a secret seed for draws that annotators must not be able to predict."""
    return secrets.token_hex(16)


def looks_like_public_id(text: str) -> bool:
    """Whether a text could be a public id rather than a path."""
    return len(text) == LENGTH and set(text) <= set(ALPHABET)

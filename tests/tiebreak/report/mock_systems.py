"""Mock systems of known success rates, and a judge of known faults, with nothing from the library."""

import random
from collections.abc import Iterator
from typing import Any

RATES = {"s70": 0.70, "s75": 0.75, "s80": 0.80, "s85": 0.85, "s90": 0.90}
BEST_FIRST = tuple(sorted(RATES, reverse=True))


def mock_ratings(
    seed: int,
    *,
    instances: int = 300,
    labelled: int = 100,
    sensitivity: float = 0.9,
    specificity: float = 0.7,
    shared: float = 0.0,
) -> Iterator[dict[str, Any]]:
    """Yield ratings of the systems' answers: a judge rates all, and a person the first ones.

    With `shared`, answers to one instance succeed or fail together: with this probability, whether
    an answer succeeds is decided by one draw for the instance.
    """
    rng = random.Random(seed)
    for instance in range(instances):
        common = rng.random()
        for system, rate in RATES.items():
            draw = common if rng.random() < shared else rng.random()
            is_right = draw < rate
            is_believed = rng.random() < (sensitivity if is_right else 1 - specificity)
            row = {
                "instance": f"i{instance}",
                "unit": f"i{instance}:{system}",
                "system_a": system,
                "criterion": "faithfulness",
            }
            yield row | {"rater": "judge", "kind": "machine", "label": _word(is_believed)}
            if instance < labelled:
                yield row | {"rater": "person", "kind": "human", "label": _word(is_right)}


def _word(is_yes: bool) -> str:
    return "yes" if is_yes else "no"

"""Counts of tokens as plain sets, whose overlap is one intersection."""

from collections.abc import Hashable, Iterable
from itertools import count

Multiset = frozenset[tuple[Hashable, int]]


def multiset(items: Iterable[Hashable]) -> Multiset:
    """Each item with the number of its occurrence: |A ∩ B| is then Σ min(count in A, in B).

    >>> len(multiset("aab") & multiset("aac"))
    2
    """
    seen: dict[Hashable, count[int]] = {}
    return frozenset((item, next(seen.setdefault(item, count()))) for item in items)

"""The parts of a stored report that have an entry for each annotator.

They make up most of the report of a large study, and few pages need them, so they are stored apart.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
# Where they are in a criterion's section of a report, and in its rows of pages.
PATHS: tuple[tuple[str, ...], ...] = (
    ("raters",),
    ("self_consistency", "raters"),
    ("dawid_skene", "raters"),
)


def take_out(sections: Mapping[str, Json]) -> Json:
    """Take the parts out of the sections, and return them by criterion and path."""
    taken: Json = {}
    for name, section in sections.items():
        taken[name] = {}
        for path, holder in _holders(section):
            taken[name][".".join(path)], holder[path[-1]] = (
                holder[path[-1]],
                type(holder[path[-1]])(),
            )
    return taken


def put_back(sections: Mapping[str, Json], taken: Mapping[str, Json]) -> None:
    """Put the parts back into the sections that they were taken from."""
    for name, section in sections.items():
        for path, holder in _holders(section):
            holder[path[-1]] = taken.get(name, {}).get(".".join(path), holder[path[-1]])


def _holders(section: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    for path in PATHS:
        holder: Any = section
        for key in path[:-1]:
            holder = holder.get(key) or {}
        if path[-1] in holder:
            yield path, holder

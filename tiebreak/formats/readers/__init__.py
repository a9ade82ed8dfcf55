"""Readers of published datasets and crowd-platform exports.

To add a reader, write a module with a function that takes paths and systems and returns
`Converted`, and one that knows its files by their beginning, and list both in `READERS`.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tiebreak.formats import FormatError
from tiebreak.formats.readers import (
    alpacaeval,
    alttest,
    appraise,
    argilla,
    googleforms,
    labelstudio,
    limesurvey,
    llmbar,
    lmarena,
    mtbench,
    mturk,
    pandalm,
    potato,
    prodigy,
    prolific,
    qualtrics,
    summeval,
    wmt,
)
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.logs import inspect_logs, lm_eval, messages
from tiebreak.formats.readers.recognition import Reader, head_of
from tiebreak.formats.readers.verdicts import Verdict, named, pandalm_verdicts, verdicts_of
from tiebreak.formats.rows import Row
from tiebreak.formats.tables.problems import BadCell

# Errors that readers raise for files with another layout.
_LAYOUT_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
    csv.Error,
)

READERS: dict[str, Reader] = {
    "alpacaeval": alpacaeval.READER,
    "alttest": alttest.READER,
    "appraise": appraise.READER,
    "argilla": argilla.READER,
    "googleforms": googleforms.READER,
    "inspect": inspect_logs.READER,
    "labelstudio": labelstudio.READER,
    "limesurvey": limesurvey.READER,
    "llmbar": llmbar.READER,
    "lm-eval": lm_eval.READER,
    "lmarena": lmarena.READER,
    "messages": messages.READER,
    "mtbench": mtbench.READER,
    "mturk": mturk.READER,
    "pandalm": pandalm.READER,
    "potato": potato.READER,
    "prodigy": prodigy.READER,
    "prolific": prolific.READER,
    "qualtrics": qualtrics.READER,
    "summeval": summeval.READER,
    "wmt": wmt.READER,
}

# Logs of language models, and how each is recognised.
LOGS: dict[str, Callable[[Path], bool]] = {
    "inspect": inspect_logs.is_inspect_log,
    "lm-eval": lm_eval.is_lm_eval_log,
    "messages": messages.is_message_log,
}

# Formats of verdicts that can be added to a study.
VERDICT_FORMATS = ("alpacaeval", "alttest", "llmbar", "lmarena", "mtbench", "pandalm")

MAX_SHOWN = 20

__all__ = [
    "READERS",
    "VERDICT_FORMATS",
    "Converted",
    "Reader",
    "Verdict",
    "convert",
    "log_of",
    "logs_in",
    "read_verdicts",
    "recognised",
]


def recognised(path: Path) -> str:
    """Return the name of the reader that alone knows a file by its beginning, or ""."""
    if log := log_of(path):
        return log
    head = head_of(path)
    names = [name for name, reader in READERS.items() if reader.knows(head)]
    return names[0] if len(names) == 1 else ""


def convert(name: str, paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read files with the reader of this name; raise `FormatError` if the files do not match it.

    Readers report expected errors with their lines. Any other error means that the files have
    another layout, so it is reported for all files together.
    """
    names = ", ".join(path.name for path in paths)
    with _layout(name, names):
        converted = READERS[name](paths, systems)
    if not converted.instances and not converted.ratings:
        raise FormatError.of(names, None, "nothing_to_read", f"has no rows of {name}")
    converted = _without_odd_answers(converted)
    later = sum(bool(row.get("superseded")) for row in converted.ratings)
    lost = {what: n for what, n in converted.left_out.items() if n}
    if lost and not converted.ratings and not converted.generations:
        counts = ", ".join(f"{what}: {n}" for what, n in lost.items())
        raise FormatError.of(names, None, "nothing_counts", f"has no rating that counts ({counts})")
    superseded = {"later votes of the same rater, flagged superseded": later} if later else {}
    return replace(converted, left_out=lost | superseded)


def _without_odd_answers(converted: Converted) -> Converted:
    """Leave out answers of people that are no label, which only machines may give, and count them."""
    odd = [row for row in converted.ratings if _is_odd(row)]
    if not odd:
        return converted
    shown = ", ".join(sorted({repr(str(row.get("raw"))[:MAX_SHOWN]) for row in odd})[:3])
    what = f"annotators' answers that are no label, such as {shown}"
    ratings = [row for row in converted.ratings if not _is_odd(row)]
    return replace(converted, ratings=ratings, left_out={**converted.left_out, what: len(odd)})


def _is_odd(row: Row) -> bool:
    return row.get("kind", "human") == "human" and row["label"] is None


def log_of(path: Path) -> str:
    """Return the name of the reader of a language model's log, or "" for another file."""
    return next((name for name, is_log in LOGS.items() if path.is_file() and is_log(path)), "")


def logs_in(folder: Path) -> tuple[str, list[Path]]:
    """Return the logs in a folder, and their reader; its other files, such as results, are none.

    Raises `FormatError` if they need several readers.
    """
    found = {path: log_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    names = sorted({name for name in found.values() if name})
    if len(names) > 1:
        reason = f"has logs of several kinds ({', '.join(names)}). Upload one kind at a time"
        raise FormatError.of(folder.name, None, "several_kinds", reason)
    return "".join(names), [path for path, name in found.items() if name]


def read_verdicts(name: str, path: Path, rater: str = "") -> list[Verdict]:
    """Read machines' verdicts from one file; raise `FormatError` if it does not match its format.

    `rater` names the machine, where the format's files do not.
    """
    with _layout(name, path.name):
        read = pandalm_verdicts(path) if name == "pandalm" else verdicts_of(convert(name, [path]))
        verdicts = list(named(read, name, rater, path.name))
    if not verdicts:
        raise FormatError.of(path.name, None, "nothing_to_read", f"has no verdicts of {name}")
    return verdicts


@contextmanager
def _layout(name: str, files: str) -> Iterator[None]:
    """Report errors of another layout for all files together."""
    try:
        yield
    except FormatError:
        raise
    except BadCell as error:
        raise FormatError.of(files, None, error.code, error.message) from error
    except _LAYOUT_ERRORS as error:
        reason = f"does not have the layout of {name} ({type(error).__name__}: {error})"
        raise FormatError.of(files, None, "other_layout", reason) from error

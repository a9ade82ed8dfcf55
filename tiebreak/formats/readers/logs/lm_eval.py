"""The files `samples_TASK_DATE.jsonl` of EleutherAI's lm-evaluation-harness."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiebreak.formats import FormatError
from tiebreak.formats.readers.converted import Converted, files_of, load_json
from tiebreak.formats.readers.logs.samples import Log, LoggedText, first_object, study_of
from tiebreak.formats.readers.recognition import Reader
from tiebreak.formats.tables.nesting import decoded, is_conversation

KIND = "lm-evaluation-harness log"
NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)")
KEYS = {"doc_id", "doc", "arguments", "resps", "filtered_resps"}
FURTHER = "rows of further filters, which have the same texts"
LIKELIHOODS = "samples with log-likelihoods of given answers in place of texts"


def is_lm_eval_log(path: Path) -> bool:
    """Whether the first line of a file is a sample as the harness logs it."""
    return first_object(path).keys() >= KEYS


def read_lm_eval(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read logged samples of tasks in which a model wrote texts, and not only weighed given ones.

    The system is named in the file of results with the same date, or else after the folder, which
    the harness names after the model. Repeats are sample indices. Samples of several logs are the
    same if the task, the number and the hash of the document are. Metrics are counted as left out.
    """
    return study_of(KIND, [_log(path) for path in files_of(paths, "samples_*.jsonl")], systems)


def _log(path: Path) -> Log:
    match = NAME.fullmatch(path.stem)
    log, seen = Log(path.name, match["task"] if match else path.stem), set()
    model = _model(path, match["date"] if match else "")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            row = _row(line, path, number)
            for metric in row.get("metrics") or []:
                log.left_out[f"values of {metric}"] += 1
            name = str(row["doc_id"])
            if name in seen:
                log.left_out[FURTHER] += 1
            elif not _is_generated(row["arguments"]):
                log.left_out[LIKELIHOODS] += 1
            else:
                for text in _texts(row, name, model):
                    log.add(text)
            seen.add(name)
    return log


def _row(line: bytes, path: Path, number: int) -> Any:
    """Return a sample; the harness writes JSON in which a metric may be NaN."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = f"is not valid JSON ({error})"
        raise FormatError.of(path.name, number, "not_json", reason) from error
    if not isinstance(row, dict) or not row.keys() >= KEYS:
        missing = ", ".join(sorted(KEYS - {*row})) if isinstance(row, dict) else "all keys"
        reason = f"is no sample of lm-evaluation-harness 0.4: {missing} missing"
        raise FormatError.of(path.name, number, "other_version", reason)
    return row


def _model(path: Path, date: str) -> str:
    results = path.with_name(f"results_{date}.json")
    if date and results.is_file():
        return str(load_json(results)["model_name"])
    folder = path.resolve().parent.name
    return folder if "__" in folder else path.stem


def _is_generated(arguments: Any) -> bool:
    """Whether there is one request, with settings for generating a text."""
    request = _request(arguments)
    return len(request) > 1 and isinstance(request[1], dict)


def _request(arguments: Any) -> list[Any]:
    """Return the arguments of the first request, which versions before 0.4.3 have as a list."""
    first = arguments["gen_args_0"] if isinstance(arguments, dict) else arguments[0]
    return [*first.values()] if isinstance(first, dict) else [*first]


def _texts(row: dict[str, Any], name: str, model: str) -> list[LoggedText]:
    given = _request(row["arguments"])[0]
    given = decoded(given[0] if isinstance(given, list) and len(given) == 1 else given)
    prompt = given if isinstance(given, str) or is_conversation(given) else json.dumps(given)
    identity = row.get("doc_hash") or json.dumps(row["doc"], sort_keys=True)
    facts = {"target": row["target"]} if isinstance(row.get("target"), str) else {}
    return [
        LoggedText(name, model, text, prompt, index, identity, facts)
        for index, text in enumerate(row["resps"][0])
    ]


READER: Reader = Reader(read_lm_eval)

"""LLMBar's comparisons, with gold labels and with verdicts of judges in both orders."""

import csv
from collections.abc import Sequence
from pathlib import Path

from tiebreak.formats import FormatError, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, cell, files_of, load_list, text_cell
from tiebreak.formats.readers.pairs import added_by_exports
from tiebreak.formats.readers.recognition import Reader
from tiebreak.formats.rows import Row

PREFERENCE = CriterionSpec("preference", "preference", "Which output follows the instruction?")
SYSTEMS = ("output_1", "output_2")
SWAPS = {"swap = False": "ab", "swap = True": "ba"}
MAX_RAW = 1000
ORDERS = {"verdict_noswap": "ab", "verdict_swap_in_original_numbering": "ba"}


def read_llmbar(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read verdicts.csv, or evaluators' result.json; and texts from dataset_*.json, if they are there.

    Gold labels become ratings of a human rater named `gold`. Each judge becomes a machine rater
    with one pass per presentation order. A result.json is an evaluator's, which is named after the
    folders between `evaluators` and the file.
    """
    names = systems or SYSTEMS
    files = [file for path in paths for file in _files(path)] or files_of(paths, "*.csv")
    lists = {path: load_list(path) for path in files if path.suffix == ".json"}
    results = {path: rows for path, rows in lists.items() if rows and "results" in rows[0]}
    instances, generations = _texts(files, results, names)
    ratings = [row for path in files if path.suffix == ".csv" for row in _verdicts(path, names)]
    ratings += _of_evaluators(results, names)
    known = {instance.id for instance in instances}
    missing = dict.fromkeys(row["instance"] for row in ratings if row["instance"] not in known)
    instances += [InstanceRow(name, category=name.rpartition("/")[0]) for name in missing]
    spec = StudySpec(
        title="LLMBar",
        criteria=(PREFERENCE,),
        systems=names,
        settings={"ratings_per_hit": 1, "comparisons_per_hit": 1},
    )
    return Converted(spec, instances, generations, ratings)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    patterns = ("*.csv", "dataset_*.json", "**/result.json")
    return [file for pattern in patterns for file in sorted(path.glob(pattern))]


def _texts(
    files: Sequence[Path], results: dict[Path, list[Row]], names: tuple[str, str]
) -> tuple[list[InstanceRow], list[GenerationRow]]:
    """Return the texts of the subsets, each of which may be in several files."""
    instances: dict[str, InstanceRow] = {}
    generations: list[GenerationRow] = []
    for path in files:
        if path.suffix != ".json":
            continue
        subset = _subset(path)
        for index, row in enumerate(results.get(path) or load_list(path)):
            name = f"{subset}/{index}"
            if name in instances:
                continue
            source = text_cell(row, "input", path, index + 1)
            instances[name] = InstanceRow(name, source=source, category=subset)
            for column, system in zip(SYSTEMS, names, strict=True):
                text = text_cell(row, column, path, index + 1)
                generations.append(GenerationRow(name, system, 0, text))
    return list(instances.values()), generations


def _subset(path: Path) -> str:
    """Return the part of the data that a file is about, by its name or folders."""
    folders = path.resolve().parts[:-1]
    if "evaluators" in folders:
        above = folders[: folders.index("evaluators")]
        return "/".join(above[-2:] if above[-2:-1] == ("Adversarial",) else above[-1:])
    return path.stem.removeprefix("dataset_").replace("Adversarial_", "Adversarial/")


def _evaluator(path: Path) -> str:
    folders = path.resolve().parts[:-1]
    if "evaluators" in folders[:-1]:
        return "/".join(folders[folders.index("evaluators") + 1 :])
    return path.stem


def _of_evaluators(results: dict[Path, list[Row]], names: tuple[str, str]) -> list[Row]:
    """Return each evaluator's verdicts in both orders, and each comparison's gold label once."""
    gold: dict[str, Row] = {}
    verdicts: list[Row] = []
    for path, rows in results.items():
        subset, rater = _subset(path), _evaluator(path)
        for index, row in enumerate(rows):
            where = {"line": index + 1} | added_by_exports(row)
            common = _common(f"{subset}/{index}", subset, names)
            label = _label(str(cell(row, "label", path, index + 1)), path, index + 1)
            human = {**common, "rater": "gold", "kind": "human", **label, "line": index + 1}
            gold.setdefault(common["unit"], human | {"unit": where.get("unit", common["unit"])})
            machine = {**common, "rater": rater, "kind": "machine"}
            for swap, order in SWAPS.items():
                verdicts.append(
                    machine | {"order": order} | _winner(row, swap, path, index) | where
                )
    return [*gold.values(), *verdicts]


def _winner(row: Row, swap: str, path: Path, index: int) -> Row:
    """Return the verdict of one order, which numbers the outputs as the comparison does."""
    try:
        verdict = row["results"][-1][swap]
        answer = (verdict.get("completion") or ["none"])[0]
        winner = verdict["winner"]
    except (LookupError, TypeError, AttributeError):
        reason = f"its last result has no verdict for {swap!r}"
        raise FormatError.of(path.name, index + 1, "no_result", reason) from None
    if str(winner) in {"1", "2"}:
        return _label(str(winner), path, index + 1)
    return {"label": None, "raw": str(answer)[:MAX_RAW] or "none"}


def _common(unit: str, subset: str, names: tuple[str, str]) -> Row:
    return {
        "unit": unit,
        "criterion": PREFERENCE.name,
        "instance": unit,
        "system_a": names[0],
        "system_b": names[1],
        "category": subset,
    }


def _verdicts(path: Path, names: tuple[str, str]) -> list[Row]:
    ratings: dict[tuple[str, ...], Row] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            unit = f"{cell(row, 'subset', path, line)}/{cell(row, 'idx', path, line)}"
            common = _common(unit, row["subset"], names) | {"line": line}
            gold = _label(cell(row, "human_label", path, line), path, line)
            ratings[unit, "gold"] = {**common, "rater": "gold", "kind": "human", **gold}
            judge = str(cell(row, "judge", path, line))
            if (unit, judge, "ab") in ratings:
                reason = f"{judge} has another verdict on {unit} on an earlier line"
                raise FormatError.of(path.name, line, "duplicate_rating", reason)
            for column, order in ORDERS.items():
                verdict = _label(row.get(column) or "?", path, line)
                ratings[unit, judge, order] = {
                    **common,
                    "rater": judge,
                    "kind": "machine",
                    "order": order,
                    **verdict,
                }
    return list(ratings.values())


def _label(value: str, path: Path, line: int) -> Row:
    if value in {"1", "2"}:
        return {"label": -1 if value == "1" else 1}
    if value == "":
        raise FormatError.of(path.name, line, "empty", "a verdict is empty")
    return {"label": None, "raw": value}


READER: Reader = Reader(read_llmbar, lambda head: head.has("judge", "human_label", *ORDERS))

"""LLMBar's comparisons, with gold labels and with verdicts of judges in both orders."""

import csv
from collections.abc import Sequence
from pathlib import Path

from tiebreak.formats import FormatError, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, cell, files_of, load_list
from tiebreak.formats.rows import Row

PREFERENCE = CriterionSpec("preference", "preference", "Which output follows the instruction?")
SYSTEMS = ("output_1", "output_2")
ORDERS = {"verdict_noswap": "ab", "verdict_swap_in_original_numbering": "ba"}


def read_llmbar(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read verdicts.csv, and texts from dataset_*.json if there are such files.

    Gold labels become ratings of a human rater named `gold`. Each judge becomes a machine rater
    with one pass per presentation order.
    """
    names = systems or SYSTEMS
    files = [*files_of(paths, "*.csv"), *[p for path in paths for p in _texts_in(path)]]
    instances, generations = _texts([path for path in files if path.suffix == ".json"], names)
    ratings = [row for path in files if path.suffix == ".csv" for row in _verdicts(path, names)]
    known = {instance.id for instance in instances}
    missing = dict.fromkeys(row["instance"] for row in ratings if row["instance"] not in known)
    instances += [InstanceRow(name, category=name.partition("/")[0]) for name in missing]
    spec = StudySpec(
        title="LLMBar",
        criteria=(PREFERENCE,),
        systems=names,
        settings={"ratings_per_hit": 1, "comparisons_per_hit": 1},
    )
    return Converted(spec, instances, generations, ratings)


def _texts_in(path: Path) -> list[Path]:
    return sorted(path.glob("dataset_*.json")) if path.is_dir() else []


def _texts(
    paths: Sequence[Path], names: tuple[str, str]
) -> tuple[list[InstanceRow], list[GenerationRow]]:
    instances, generations = [], []
    for path in paths:
        subset = path.stem.removeprefix("dataset_").replace("Adversarial_", "Adversarial/")
        for index, row in enumerate(load_list(path)):
            name = f"{subset}/{index}"
            source = str(cell(row, "input", path, index + 1))
            instances.append(InstanceRow(name, source=source, category=subset))
            for column, system in zip(SYSTEMS, names, strict=True):
                text = str(cell(row, column, path, index + 1))
                generations.append(GenerationRow(name, system, 0, text))
    return instances, generations


def _verdicts(path: Path, names: tuple[str, str]) -> list[Row]:
    ratings: dict[tuple[str, ...], Row] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for line, row in enumerate(csv.DictReader(file), start=2):
            unit = f"{cell(row, 'subset', path, line)}/{cell(row, 'idx', path, line)}"
            common = {
                "unit": unit,
                "criterion": PREFERENCE.name,
                "instance": unit,
                "system_a": names[0],
                "system_b": names[1],
                "category": row["subset"],
            }
            gold = _label(cell(row, "human_label", path, line), path, line)
            ratings[unit, "gold"] = {**common, "rater": "gold", "kind": "human", **gold}
            judge = str(cell(row, "judge", path, line))
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

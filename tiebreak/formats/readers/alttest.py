"""Labels of people and of language models as the alternative annotator test publishes them."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from tiebreak.formats import FormatError, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.readers.converted import Converted, files_of, load_json
from tiebreak.formats.readers.recognition import Reader
from tiebreak.formats.rows import Row
from tiebreak.scales import infer_scale

PUBLISHED = {"human_annotations": "human", "llm_annotations": "llm"}
KINDS = {"human": "human", "llm": "machine"}


def read_alttest(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Read JSON files with a label for each rater and instance: ``{rater: {instance: label}}``.

    The files of a dataset are named after it, such as `wax-human.json` with the labels of people
    and `wax-llm.json` with machines' labels, or they are `human_annotations.json` and
    `llm_annotations.json` in a folder that is named after it. Each dataset becomes a criterion.
    `systems` is ignored, because labels may be of any kind.
    """
    ratings = [row for path in files_of(paths, "*.json") for row in _ratings(path)]
    labels: dict[str, list[object]] = {}
    for row in ratings:
        labels.setdefault(row["criterion"], []).append(row["label"])
    spec = StudySpec(
        title="Labels of people and language models",
        criteria=tuple(
            CriterionSpec(name, infer_scale(values, name).spec, "Which label fits?")
            for name, values in labels.items()
        ),
        settings={"comparisons_per_hit": 1},
    )
    instances = [InstanceRow(name) for name in dict.fromkeys(row["instance"] for row in ratings)]
    return Converted(spec, instances, [], ratings)


def _ratings(path: Path) -> Iterator[Row]:
    dataset, kind = _dataset_and_kind(path)
    number = count(1)  # the file is one object, so a label has a number rather than a line
    for rater, labels in _object(load_json(path), path).items():
        for instance, label in _object(labels, path).items():
            yield {
                "line": next(number),
                "unit": f"{dataset}/{instance}",
                "instance": f"{dataset}/{instance}",
                "rater": rater,
                "kind": kind,
                "criterion": dataset,
                "label": label,
            }


def _dataset_and_kind(path: Path) -> tuple[str, str]:
    dataset, _, ending = path.stem.rpartition("-")
    if path.stem in PUBLISHED:
        dataset, ending = path.resolve().parent.name, PUBLISHED[path.stem]
    if not dataset or ending not in KINDS:
        reason = (
            "must be named DATASET-human.json or DATASET-llm.json, or be human_annotations.json or"
            " llm_annotations.json in a folder DATASET, which says whose labels it has"
        )
        raise FormatError.of(path.name, None, "unknown_name", reason)
    return dataset, KINDS[ending]


def _object(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        reason = "must have an object of instances for each rater, with a label for each instance"
        raise FormatError.of(path.name, None, "not_an_object", reason)
    return value


# Any object of objects has this layout.
READER: Reader = Reader(read_alttest)

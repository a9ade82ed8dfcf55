"""What logs of language models have in common: several of them become systems on the same samples."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats import FormatError, GenerationRow, InstanceRow, StudySpec
from tiebreak.formats.bundle import CriterionSpec
from tiebreak.formats.cells import check_cells, check_id
from tiebreak.formats.readers.converted import Converted

PREFERENCE = CriterionSpec("preference", "preference:tie", "Which answer is better?")
# Parts of a message that are text, and those that people need not see.
TEXT_PARTS = ("text", "input_text", "output_text")
HIDDEN_PARTS = ("reasoning", "thinking", "redacted_thinking", "tool_use", "function_call")
MAX_LINE = 4_000_000
ERROR, NO_TEXT = "samples that ended with an error", "samples without a text"
MEDIA = "samples with images or other media"
OTHER_INPUT = "samples whose input differs between the logs"


@dataclass(frozen=True)
class LoggedText:
    """A text that a model wrote, and what it was given: a text, or a conversation.

    Samples of two logs with the same name are the same sample only if they agree in `identity`.
    """

    sample: str
    model: str
    text: str
    prompt: str | list[dict[str, str]] = ""
    index: int = 0
    identity: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    task: str = ""


@dataclass
class Log:
    """The texts of one file, and what of the file is no text, counted by its kind."""

    file: str
    task: str = ""
    texts: list[LoggedText] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, text: LoggedText) -> None:
        """Add a text under a name and with facts that can be stored; count an empty one instead."""
        try:
            check_id("the id of a sample", text.sample)
            check_id("the name of a model", text.model)
            check_cells({"text": text.text, "prompt": text.prompt, **text.facts})
        except InvalidInput as error:
            reason = f"sample {text.sample[:40]!r}: {error.message}"
            raise FormatError.of(self.file, None, error.code, reason) from error
        if text.text.strip():
            self.texts.append(replace(text, file=self.file, task=self.task))
        else:
            self.left_out[NO_TEXT] += 1


class HasMedia(Exception):
    """A message has something that is no text, without which it cannot be judged."""


def text_of_content(content: Any) -> str:
    """Return the text of a message: a text, or the texts among its parts. Raises `HasMedia`."""
    if content is None or isinstance(content, str):
        return content or ""
    texts = []
    for part in content:
        if part["type"] in TEXT_PARTS:
            texts.append(part["text"])
        elif part["type"] not in HIDDEN_PARTS:
            raise HasMedia
    return "\n\n".join(texts)


def turns_of(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return a conversation as turns with a role and a text. Raises `HasMedia`."""
    return [{"role": m["role"], "content": text_of_content(m.get("content"))} for m in messages]


def first_object(path: Path) -> dict[str, Any]:
    """Return the object on the first line of a file, or an empty one."""
    with path.open("rb") as file:
        line = file.readline(MAX_LINE)
    try:
        row = json.loads(line) if line.startswith(b"{") else None
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


# The texts of each sample, by system.
Samples = dict[str, dict[str, list[LoggedText]]]


def study_of(kind: str, logs: Sequence[Log], systems: tuple[str, str] | None = None) -> Converted:
    """Return the texts of the logs as a study, in which each model of each log is a system.

    A log of another task continues the system of its model. Samples that only one of several
    systems has cannot be compared, so they are left out, as are those whose inputs differ.
    """
    files = ", ".join(log.file for log in logs)
    left_out = sum((log.left_out for log in logs), Counter[str]())
    by_name = _by_system(logs)
    if not by_name:
        counts = ", ".join(f"{what}: {n}" for what, n in left_out.items())
        reason = f"has no texts of a model ({counts or 'it is empty'})"
        raise FormatError.of(files, None, "no_texts", reason)
    by_system = _renamed(by_name, systems, files)
    samples = _by_sample(by_system)
    is_alone = len(by_system) == 1
    shared = [name for name, own in samples.items() if is_alone or len(own) > 1]
    alike = [name for name in shared if _is_one_input(samples[name])]
    labels = _labels(by_system)
    only = Counter(labels[next(iter(own))] for own in samples.values() if len(own) == 1)
    if not is_alone:
        left_out.update({f"samples only in {label}": n for label, n in only.items()})
    left_out[OTHER_INPUT] = len(shared) - len(alike)
    matched = "" if is_alone else f" {_matched(samples, len(by_system), only)}"
    if not alike:
        reason = (
            f"have no sample in common with the same input.{matched} Choose logs of one dataset"
        )
        raise FormatError.of(files, None, "no_shared_samples", reason)
    generations = [
        GenerationRow(sample, system, text.index, text.text)
        for sample in alike
        for system, own in samples[sample].items()
        for text in own
    ]
    tasks = dict.fromkeys(text.task for own in by_system.values() for text in own)
    spec = StudySpec(
        title=(", ".join(filter(None, tasks)) or kind)[:200],
        criteria=(PREFERENCE,),
        systems=tuple(by_system),
    )
    counts = f"Samples: {len(alike):,}, texts: {len(generations):,}."
    about = f"{kind}: {', '.join(by_system)}. {counts}{matched}"
    instances = [_instance(name, samples[name], len(tasks) > 1) for name in alike]
    return Converted(spec, instances, generations, [], left_out, about)


def _by_system(logs: Sequence[Log]) -> dict[str, list[LoggedText]]:
    """Return the texts by the model's name, with the file's where logs of one task share a model."""
    texts = [text for log in logs for text in log.texts]
    runs = Counter(model for model, _, _ in {(t.model, t.task, t.file) for t in texts})
    tasks = Counter(model for model, _ in {(t.model, t.task) for t in texts})
    systems: dict[str, list[LoggedText]] = {}
    for text in texts:
        is_repeated = runs[text.model] > tasks[text.model]
        name = f"{text.model} ({PurePath(text.file).stem})" if is_repeated else text.model
        systems.setdefault(name, []).append(text)
    return systems


def _renamed(
    by_name: dict[str, list[LoggedText]], systems: tuple[str, str] | None, files: str
) -> dict[str, list[LoggedText]]:
    if systems is None:
        return by_name
    if len(by_name) != len(systems):
        reason = f"has the systems {', '.join(by_name)}, so two names do not fit"
        raise FormatError.of(files, None, "other_number_of_systems", reason)
    return dict(zip(systems, by_name.values(), strict=True))


def _by_sample(by_system: Mapping[str, list[LoggedText]]) -> Samples:
    texts = [(system, text) for system, own in by_system.items() for text in own]
    has_tasks = len({text.task for _, text in texts}) > 1
    samples: Samples = {}
    for system, text in texts:
        name = f"{text.task}/{text.sample}" if has_tasks else text.sample
        own = samples.setdefault(name, {}).setdefault(system, [])
        if any(text.index == other.index for other in own):
            reason = f"has sample {name!r} of {system} twice. Give two logs different file names"
            raise FormatError.of(text.file, None, "repeated_sample", reason)
        own.append(text)
    return samples


def _is_one_input(by_system: Mapping[str, list[LoggedText]]) -> bool:
    return len({text.identity for own in by_system.values() for text in own} - {""}) < 2


def _labels(by_system: Mapping[str, list[LoggedText]]) -> dict[str, str]:
    """Return what a sentence calls each system: its file, if both have nothing else."""
    files = {system: {text.file for text in own} for system, own in by_system.items()}
    systems = Counter(file for some in files.values() for file in some)
    return {
        system: next(iter(some)) if len(some) == 1 and systems[next(iter(some))] == 1 else system
        for system, some in files.items()
    }


def _matched(samples: Samples, n_systems: int, only: Counter[str]) -> str:
    in_all = sum(len(own) == n_systems for own in samples.values())
    in_some = len(samples) - in_all - only.total()
    all_logs = "both logs" if n_systems == 2 else f"all {n_systems} logs"
    parts = [f"{in_all:,} {'sample is' if in_all == 1 else 'samples are'} in {all_logs}"]
    parts += [f"{in_some:,} in some of them"] * bool(in_some)
    parts += [f"{n:,} only in {label}" for label, n in only.items()]
    return f"{', '.join(parts)}."


def _instance(name: str, by_system: Mapping[str, list[LoggedText]], has_tasks: bool) -> InstanceRow:
    texts = [text for own in by_system.values() for text in own]
    text = next((one for one in texts if one.prompt), texts[0])
    category = text.task if has_tasks else ""
    if isinstance(text.prompt, str):
        return InstanceRow(name, source=text.prompt, category=category, metadata={**text.facts})
    return InstanceRow(name, messages=text.prompt, category=category, metadata={**text.facts})

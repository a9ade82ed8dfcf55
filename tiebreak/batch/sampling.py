"""Texts of systems for a file of prompts, through model servers: what the server's job samples."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tiebreak.asking.samples import (
    DEFAULT_PROMPT,
    MAX_TOKENS,
    TEMPERATURE,
    Wanted,
    runs,
    stored_samples,
)
from tiebreak.batch.asking import TABLES, Answers, Asking, Key, Question, Report, count_checked
from tiebreak.batch.servers import FAKE, model_settings, read_settings, settings_as
from tiebreak.batch.texts import Source, open_texts
from tiebreak.batch.unfinished import digest_of, unfinished
from tiebreak.errors import DomainError
from tiebreak.formats.bundle import INSTANCES, InstanceRow
from tiebreak.formats.cells import check_id
from tiebreak.formats.errors import Problems
from tiebreak.formats.export_columns import GENERATIONS
from tiebreak.formats.rows import Row
from tiebreak.gateway import GatewayError, ModelSettings, Sampled, SampleRequest, open_models
from tiebreak.gateway.factory import on_cluster

DECODING = ("temperature", "top_p", "max_tokens", "stop")


@dataclass(frozen=True)
class SystemSettings:
    """A system of a settings file: a model with a prompt and how its texts are drawn."""

    name: str
    model: str = ""
    server: str = ""
    prompt: str = DEFAULT_PROMPT
    temperature: float = TEMPERATURE
    top_p: float = 1.0
    max_tokens: int = MAX_TOKENS
    stop: list[str] = field(default_factory=list)

    def wanted(self, key: str, indices: Sequence[int], seed: int) -> Wanted:
        decoding = {name: getattr(self, name) for name in DECODING}
        return Wanted(key, self.name, indices, self.prompt, decoding, seed)


@dataclass(frozen=True)
class Systems:
    """The systems of a settings file, and the models that they are."""

    systems: list[SystemSettings] = field(default_factory=list)
    models: list[ModelSettings] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> "Systems":
        """Read a settings file. Raises `DomainError`, and `InvalidInput` for a name."""
        settings = read_settings(path, {"servers": dict, "systems": list})
        read = cls()
        for given in settings.get("systems", []):
            system = settings_as(SystemSettings, given, "A system")
            where = f"The system {check_id('name', system.name)}"
            if system.name in {other.name for other in read.systems}:
                sentence = f"{where} is there twice. Give each system another name."
                raise DomainError("repeated_name", sentence, status=400)
            model, servers = system.model or system.name, settings.get("servers", {})
            server, spec = model_settings(servers, system.server, model, where=where)
            read.systems.append(replace(system, server=server))
            read.models.append(spec)
        if not read.systems:
            raise DomainError("no_systems", f"{path} has no [[systems]].", status=400)
        return read

    def on(self, cluster: Mapping[str, Any]) -> "Systems":
        """Return the systems with models that are opened on a cluster, if there is one."""
        return replace(self, models=[on_cluster(spec, cluster) for spec in self.models])


def sample_file(
    path: Path, out: Path, systems: Systems, *, samples: int, seed: int, report: Report
) -> Answers:
    """Sample texts of each system for each instance of a file, and write them to ``out``.

    Seeds depend on the seed of the whole, the instance and the system, as on the server. ``report``
    is called with the number of texts done and their total. Raises `DomainError`, and `FormatError`
    with the lines of all rows that are not valid.
    """
    for system in systems.systems:  # what is wrong with settings is said before anything is asked
        system.wanted("an instance", range(samples), seed).request("", InstanceRow("", source="?"))
    with open_texts(path, INSTANCES) as source:
        about = {
            "prompts": digest_of([source.table]),
            "systems": [asdict(system) for system in systems.systems],
            "samples": samples,
            "seed": seed,
        }
        with unfinished(out, about, TABLES) as begun:
            problems = Problems()
            named = ((line, one.id, 1) for line, one in source.instances(problems))
            number = count_checked(begun, named, problems, source.table.name)
            asking = Asking(begun, number * len(systems.systems) * samples, report)
            pairs = zip(systems.systems, systems.models, strict=True)
            for part, (system, spec) in enumerate(pairs):
                questions = _questions(asking, source, part, system, samples=samples, seed=seed)
                with closing(open_models(spec)) as models:
                    asking.ask(models.sample, questions)
            return asking.finish(out, GENERATIONS)


def _questions(
    asking: Asking, source: Source, part: int, system: SystemSettings, *, samples: int, seed: int
) -> Iterator[Question]:
    """Yield a request for the samples that an instance lacks, as far as they can be drawn together."""
    for item, (_, instance) in enumerate(source.instances(Problems())):
        present = asking.answered(item, part)
        for indices in runs(i for i in range(samples) if i not in present):
            key, wanted = (item, part, indices[0]), system.wanted(instance.id, indices, seed)
            about = {"instance": instance.id, "system": system.name, "samples": [*indices]}
            try:
                request = wanted.request(f"{key}", instance)
            except GatewayError as error:
                asking.refuse(key, about, error)
                continue
            yield Question(key, about, request, partial(_rows, key, wanted, request, system.server))


def _rows(
    key: Key, wanted: Wanted, request: SampleRequest, server: str, response: Sampled
) -> Iterator[tuple[Key, Row]]:
    about = {"instance": wanted.key, "system": wanted.system, "is_dummy": server == FAKE}
    for row in stored_samples(wanted, request, response, server):
        yield (*key[:2], row["sample_index"]), {**about, **row}

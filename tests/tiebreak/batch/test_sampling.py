"""`tiebreak sample`: the server's texts for the same seeds; every prompt is asked for once."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.services import create_job
from jobs.worker import run_job
from studies.instance_selection.sampling import SamplingJob
from studies.model_servers import FAKE
from studies.models import Generation
from tests.paths import ROOT
from tests.studies.factories import make_study
from tests.tiebreak.batch.test_separability import rows_of
from tests.tiebreak.formats.bundles import write_lines
from tests.tiebreak.gateway.stub_server import KEY, MODEL, Fault, StubServer, text_of
from tiebreak.asking import tally
from tiebreak.cli import main

KEY_NAME = "TIEBREAK_TEST_KEY"
SETTINGS = """
[servers.gpu]
base_url = "{url}"
api_key_env = "{key}"
options = {{max_attempts = 1, concurrency = 1}}

[[systems]]
name = "plain"
model = "{model}"

[[systems]]
name = "short"
model = "{model}"
prompt = "In a word: {{source}} ({{field place}})"
temperature = 0.9
stop = ["."]
"""


def sample(*arguments: object) -> int:
    return main(["sample", *map(str, arguments)])


@pytest.fixture
def stub(monkeypatch) -> Iterator[StubServer]:
    monkeypatch.setenv(KEY_NAME, KEY)
    with StubServer(key=KEY) as server:
        yield server


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    rows = [{"id": f"i{i}", "source": f"Source {i}", "place": f"p{i}"} for i in range(4)]
    write_lines(path, rows)
    return path


@pytest.fixture
def systems(tmp_path: Path, stub: StubServer) -> Path:
    path = tmp_path / "systems.toml"
    path.write_text(SETTINGS.format(url=stub.base_url, key=KEY_NAME, model=MODEL))
    return path


@pytest.fixture
def arguments(prompts: Path, systems: Path, tmp_path: Path) -> tuple[object, ...]:
    return (prompts, "--systems", systems, "--out", tmp_path / "generations.jsonl")


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"prompts.jsonl", "systems.toml"}


@pytest.mark.django_db
def test_texts_and_seeds_are_the_servers(tmp_path):
    study = make_study(instances=5)
    Generation.objects.all().delete()
    options = {"server": FAKE, "samples": 3, "seed": 7}
    key = f"sampling:dataset:{study.dataset_id}"
    kind = SamplingJob.name
    run_job(job_id=create_job(kind=kind, owner=study.pk, exclusive_key=key, options=options).pk)
    columns = (
        "instance__key",
        "system__name",
        "sample_index",
        "text",
        "seed",
        "params",
        "is_dummy",
    )
    served = sorted(Generation.objects.values_list(*columns), key=str)
    instances = study.dataset.instances.order_by("pk")
    prompts = [{"id": one.key, "source": one.source, "messages": one.messages} for one in instances]
    write_lines(tmp_path / "prompts.jsonl", prompts)
    systems = "".join(
        f'[[systems]]\nname = "{one.name}"\nserver = "fake"\n' for one in study.ordered_systems()
    )
    (tmp_path / "systems.toml").write_text(systems)
    out = tmp_path / "generations.jsonl"
    arguments = (tmp_path / "prompts.jsonl", "--systems", tmp_path / "systems.toml", "--out", out)
    assert sample(*arguments, "--k", 3, "--seed", 7) == 0
    sampled = [tuple(row[name.partition("__")[0]] for name in columns) for row in rows_of(out)]
    assert sorted(sampled, key=str) == served
    assert len(served) == 5 * 2 * 3


def test_each_system_has_its_own_prompt_and_decoding(prompts, systems, stub, tmp_path, capsys):
    out = tmp_path / "generations.parquet"
    assert sample(prompts, "--systems", systems, "--out", out, "--k", 2, "--json") == 0
    assert json.loads(capsys.readouterr().out)["texts"] == 16
    assert files(tmp_path) == {"generations.parquet"}
    assert set(stub.prompts()) == {
        *(f"Source {i}" for i in range(4)),
        *(f"In a word: Source {i} (p{i})" for i in range(4)),
    }
    assert {body["temperature"] for body in stub.generations} == {0.5, 0.9}
    row = rows_of(out)[-1]
    assert (row["instance"], row["system"], row["sample_index"]) == ("i3", "short", 1)
    params = json.loads(row["params"])
    assert (params["server"], params["stop"], params["finish_reason"]) == ("gpu", ["."], "stop")


def test_the_output_is_scored_as_it_is(prompts, systems, tmp_path):
    for ending in (".jsonl", ".csv", ".parquet"):
        out = tmp_path / f"generations{ending}"
        assert sample(prompts, "--systems", systems, "--out", out, "--k", 2) == 0
        scores = tmp_path / f"scores{ending}"
        options = ("--similarity", "rouge1", "--out", str(scores))
        assert main(["separability", str(out), *options]) == 0
        assert len(rows_of(scores)) == 4


KILLED = """
import os, signal, sys
from tiebreak.asking import tally
from tiebreak.batch.unfinished import Unfinished
from tiebreak.cli import main
tally.LOT_SIZE = 2
commit, count = Unfinished.commit, []
def dying(self):
    commit(self)
    count.append(1)
    if len(count) == 3:  # the names of instances, and two lots
        os.kill(os.getpid(), signal.SIGKILL)
Unfinished.commit = dying
main(sys.argv[1:])
"""


def test_a_killed_run_asks_for_nothing_that_is_stored(prompts, systems, stub, tmp_path):
    out = tmp_path / "generations.jsonl"
    arguments = [str(prompts), "--systems", str(systems), "--out", str(out), "--k", "2"]
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, "sample", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert dead.returncode == -signal.SIGKILL
    assert "generations.jsonl" not in files(tmp_path)
    stub.requests.clear()
    assert sample(*arguments) == 0
    assert len(stub.generations) == 8 - 4
    again = tmp_path / "again.jsonl"
    assert sample(*arguments[:4], again, "--k", 2) == 0
    assert rows_of(out) == rows_of(again)


def test_what_fails_is_named_and_asked_for_again(prompts, systems, stub, tmp_path, capsys):
    out = tmp_path / "generations.jsonl"
    arguments = (prompts, "--systems", systems, "--out", out, "--k", 2)
    stub.by_prompt = lambda text: Fault("400") if "Source 2" in text else None
    assert sample(*arguments) == 1
    failed = rows_of(tmp_path / "generations.failed.jsonl")
    assert [(row["instance"], row["system"], row["code"]) for row in failed] == [
        ("i2", "plain", "refused"),
        ("i2", "short", "refused"),
    ]
    assert len(rows_of(out)) == 12
    assert "generations.failed.jsonl" in capsys.readouterr().err
    stub.by_prompt = lambda _: None
    stub.requests.clear()
    assert sample(*arguments) == 0
    assert len(stub.generations) == 2
    assert len(rows_of(out)) == 16
    assert files(tmp_path) == {"generations.jsonl"}


def test_an_instance_that_cannot_be_sent_is_named(systems, tmp_path):
    write_lines(tmp_path / "prompts.jsonl", [{"id": "a", "source": "A"}, {"id": "b"}])
    out = tmp_path / "generations.jsonl"
    options = ("--systems", systems, "--out", out, "--k", 2)
    assert sample(tmp_path / "prompts.jsonl", *options) == 1
    failed = rows_of(tmp_path / "generations.failed.jsonl")
    assert [(row["instance"], row["system"]) for row in failed] == [("b", "plain")]
    assert len(rows_of(out)) == 6


@pytest.mark.parametrize("kind", ["refused_key", "broken"])
def test_a_server_that_fails_stops_the_run_and_its_key_is_nowhere(
    arguments, stub, capsys, monkeypatch, kind
):
    monkeypatch.setattr(tally, "MAX_FAILURES", 3)
    *_, out = arguments
    tmp_path = out.parent
    arguments = (*arguments, "--k", 2)
    stub.always = Fault(kind, message="The key {key} is bad.")
    assert sample(*arguments) == 1
    assert files(tmp_path) <= {"generations.jsonl.unfinished"}
    said = capsys.readouterr()
    assert not any(KEY in text for text in (said.out, said.err))
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir())
    stub.always = None
    assert sample(*arguments) == 0
    assert len(rows_of(out)) == 16


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('name = "short"', 'name = "plain"'),
        ('name = "short"\n', ""),
        ("temperature", "temprature"),
        ("temperature = 0.9", 'temperature = "warm"'),
        ("temperature = 0.9", "temperature = 0"),
        ("http:", "ftp:"),
        (f'"{KEY_NAME}"', '"TIEBREAK_TEST_NO_SUCH_KEY"'),
        ("api_key_env", "api_key"),
        ('prompt = "In', 'server = "other"\nprompt = "In'),
        ("[[systems]]", "[[system]]"),
        ("[servers.gpu]", "[servers"),
        ("[servers.gpu]", "[servers]"),
        ('name = "short"', "name = 5"),
        ('stop = ["."]', 'stop = "."'),
        ('[[systems]]\nname = "short"', '[systems.short]\nname = "short"'),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_asked(
    arguments, stub, capsys, before, after
):
    _, _, systems, _, out = arguments
    assert before in systems.read_text()
    systems.write_text(systems.read_text().replace(before, after))
    assert sample(*arguments, "--k", 2) == 1
    assert capsys.readouterr().err
    assert not stub.requests
    assert files(out.parent) == set()


def test_bad_prompts_are_named_with_their_lines(systems, stub, tmp_path, capsys):
    rows = [{"id": "a", "source": "A"}, {"id": "a", "source": "B"}, {"id": "c", "source": 7}]
    write_lines(tmp_path / "prompts.jsonl", rows)
    out = tmp_path / "generations.jsonl"
    assert sample(tmp_path / "prompts.jsonl", "--systems", systems, "--out", out) == 1
    said = capsys.readouterr().err
    assert "line 2" in said
    assert "line 3" in said
    assert not stub.requests
    assert files(tmp_path) == set()


def test_conversations_are_sent_as_their_turns(systems, stub, tmp_path):
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    write_lines(tmp_path / "prompts.jsonl", [{"id": "a", "messages": turns}])
    out = tmp_path / "generations.jsonl"
    assert sample(tmp_path / "prompts.jsonl", "--systems", systems, "--out", out, "--k", 1) == 0
    assert text_of(stub.generations[0]) == "user:Hello\nassistant:Hi"

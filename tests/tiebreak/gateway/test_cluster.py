"""Models and encoders on a real Ray cluster of this machine: what dies takes nothing else with it."""

import os
import signal
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from tests.refusals import refused
from tests.tiebreak.batch.test_sampling import SETTINGS, prompts, stub  # noqa: F401
from tests.tiebreak.batch.test_separability import bundle, rows_of  # noqa: F401
from tests.tiebreak.formats.bundles import write_lines
from tests.tiebreak.gateway import cluster_work
from tests.tiebreak.gateway.cluster_work import POISON, TOO_LONG, FragileModels, LossyRay
from tests.tiebreak.gateway.stub_server import MODEL
from tiebreak.cli import main
from tiebreak.gateway import Failed, GatewayError, SampleRequest
from tiebreak.gateway.cluster import AHEAD, ALL_DIED, DEATHS, Cluster, ClusterModels
from tiebreak.optional import is_installed

with_ray = pytest.mark.skipif(
    not is_installed("ray"), reason="Ray is installed by make test-encoders only"
)
LOTS = 20


def requests(n, **others):
    texts = {str(i): f"Rain fell on {i}." for i in range(n)} | others
    return [SampleRequest(key, text, n=2, seed=7) for key, text in texts.items()]


def models(kind=FragileModels):
    return ClusterModels(kind, "fake", needs_gpu=False, actors=2)


@with_ray
def test_a_prompt_that_kills_the_engine_fails_alone_and_so_does_one_that_is_too_long():
    answers = list(models().sample(requests(70, p40=POISON, p3=TOO_LONG)))
    failed = {one.id: one.error.code for one in answers if isinstance(one, Failed)}
    assert failed == {"p40": "engine_died", "p3": "too_long"}
    alone = list(FragileModels().sample(requests(70)))
    done = [one for one in answers if one.id not in failed]
    assert sorted(done, key=lambda one: int(one.id)) == alone


@with_ray
def test_an_engine_that_never_starts_stops_everything():
    with pytest.raises(GatewayError, match=ALL_DIED.format(DEATHS)[:30]) as refusal:
        list(models(cluster_work.BrokenModels).sample(requests(3)))
    assert refusal.value.code == "engine_failed"


@with_ray
def test_of_an_actor_that_is_killed_only_what_it_had_in_hand_is_done_again(tmp_path: Path):
    cluster = Cluster(partial(cluster_work.noting, str(tmp_path), 0.05), actors=2)
    done = []
    for lot, result in cluster.run(range(LOTS)):
        if len(done) == LOTS // 2:
            victim = (tmp_path / "begun").read_text().split()[-1]
            os.kill(int(victim), signal.SIGKILL)
        done.append((lot, result))
    assert sorted(done) == [(lot, lot * 2) for lot in range(LOTS)]
    begun = Counter(line.split()[0] for line in (tmp_path / "begun").read_text().splitlines())
    assert sum(begun.values()) - LOTS <= AHEAD
    cluster.close()


@pytest.mark.parametrize("place", range(6))
def test_a_lot_is_not_blamed_for_the_one_behind_it(place, monkeypatch):
    lots: list[object] = [0, 1, 2, 3, 4]
    lots.insert(place, POISON)
    cluster, ray = Cluster(dict, actors=2), LossyRay()
    cluster._ray = ray
    monkeypatch.setattr(cluster, "_start_all", lambda: None)
    monkeypatch.setattr(cluster, "_start", ray.start)
    cluster._actors = [ray.start(), ray.start()]
    assert dict(cluster.run(lots)) == {lot: lot if lot != POISON else None for lot in lots}


@with_ray
def test_an_address_that_does_not_answer_is_named_at_once(bundle, tmp_path, capsys):  # noqa: F811
    options = ("--similarity", "rouge1", "--out", str(tmp_path / "scores.jsonl"))
    if (ray := pytest.importorskip("ray")).is_initialized():
        ray.shutdown()
    assert main(["separability", str(bundle), *options, "--engine", "ray=127.0.0.1:1"]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


@with_ray
def test_a_process_does_not_work_on_another_cluster_than_the_one_that_is_named():
    list(models().sample(requests(1)))
    elsewhere = ClusterModels(FragileModels, "fake", needs_gpu=False, address="127.0.0.1:1")
    with pytest.raises(GatewayError) as refusal:
        list(elsewhere.sample(requests(1)))
    assert refusal.value.code == "bad_settings"


@with_ray
@pytest.mark.parametrize("similarity", ["rouge1", "bertscore_length_adjusted"])
def test_scores_are_those_of_this_process(bundle, tmp_path, similarity):  # noqa: F811
    found = []
    for name, options in {"here": (), "ray": ("--engine", "ray", "--workers", "2")}.items():
        out = tmp_path / f"{name}.jsonl"
        arguments = ("--similarity", similarity, "--out", str(out), *options)
        assert main(["separability", str(bundle), *arguments]) == 0
        found.append(rows_of(out))
    here, there = found
    assert len(here) == len(there) == 12
    for one, other in zip(here, there, strict=True):
        within = {
            name: pytest.approx(v, abs=1e-6) if isinstance(v, float) else v
            for name, v in one.items()
        }
        assert other == (one if similarity == "rouge1" else within)


@with_ray
def test_texts_are_those_of_this_process(prompts, tmp_path, stub):  # noqa: F811
    systems = tmp_path / "systems.toml"
    systems.write_text(SETTINGS.format(url=stub.base_url, key="TIEBREAK_TEST_KEY", model=MODEL))
    found = []
    for name, options in {"here": (), "ray": ("--engine", "ray", "--workers", "2")}.items():
        out = tmp_path / f"{name}.jsonl"
        arguments = ("--systems", str(systems), "--k", "2", "--out", str(out), *options)
        assert main(["sample", str(prompts), *arguments]) == 0
        found.append(rows_of(out))
    assert found[0] == found[1]


@pytest.mark.skipif(is_installed("ray"), reason="Ray is installed here")
def test_what_to_install_is_said():
    with refused("missing_package", naming="tiebreak[ray]"):
        list(models().sample(requests(1)))


@pytest.mark.parametrize("engine", ["dask", "ray:here"])
def test_there_is_no_other_engine(tmp_path, capsys, engine):
    path = tmp_path / "generations.jsonl"
    write_lines(path, [{"instance": "i", "system": "a", "sample_index": 0, "text": "t"}])
    arguments = ("--out", str(tmp_path / "scores.jsonl"), "--engine", engine)
    assert main(["separability", str(path), *arguments]) == 1
    assert engine in capsys.readouterr().err

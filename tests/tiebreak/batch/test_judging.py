"""`tiebreak judge`: the server's ratings for the same judge and items, which `analyze` reads."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.exports.ratings import rating_rows
from machine_raters.models import Judge
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from studies.model_servers import FAKE
from tests.studies.factories import make_open_study
from tests.tiebreak.batch.test_separability import rows_of
from tests.tiebreak.formats.bundles import write_lines
from tests.tiebreak.gateway.stub_server import MODEL, Fault, StubServer, text_of
from tiebreak.asking.prompts import INSTRUCTIONS
from tiebreak.cli import main
from tiebreak.formats import read_ratings

COMPARED = ("unit", "criterion", "order", "run", "label", "raw", "side_a", "chars_a", "chars_b")
SETTINGS = """
[servers.gpu]
base_url = "{url}"
options = {{max_attempts = 1, concurrency = 1}}

[judge]
name = "tiny judge"
model = "{model}"
guidelines = "Read both."
{more}

[[criteria]]
name = "preference"
scale = "preference:tie"
question = "Which is better?"
"""
SECOND = '\n[[criteria]]\nname = "wit"\nscale = "preference"\nquestion = "Which is wittier?"\n'


def judge(*arguments: object) -> int:
    return main(["judge", *map(str, arguments)])


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with StubServer() as server:
        yield server


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = [
        {
            "unit": f"u{k}",
            "instance": f"i{k}",
            "source": f"Source {k}",
            "system_a": "old",
            "system_b": "new",
            "text_a": f"Old {k}.",
            "text_b": f"New {k}.",
            "phase": "design",
            "inclusion_probability": 0.5,
        }
        for k in range(3)
    ]
    write_lines(tmp_path / "pairs.jsonl", rows)
    return tmp_path / "pairs.jsonl"


@pytest.fixture
def settings_of(tmp_path: Path, stub: StubServer):
    def write(more: str = "", criteria: str = "") -> Path:
        text = SETTINGS.format(url=stub.base_url, model=MODEL, more=more) + criteria
        (tmp_path / "judge.toml").write_text(text)
        return tmp_path / "judge.toml"

    return write


@pytest.mark.django_db
@pytest.mark.parametrize(
    "options",
    [
        {"constraint": "always", "seed": 5},
        {"constraint": "always", "runs": 2, "temperature": 0.7},
        {"answered_by": "probability"},
        {"max_tokens": 7, "instructions": "{question} {answers}"},
    ],
)
def test_ratings_are_those_of_the_servers_judge(tmp_path, options):
    study = make_open_study(instances=3, comparisons_per_hit=3, ratings_per_hit=1)
    settings = {"instructions": INSTRUCTIONS, "server": FAKE, "language_model": "m"} | options
    criteria = list(study.criteria.all())
    made = create_machine_rater(kind="judge", study=study, name="j", criteria=criteria, **settings)
    start_machine_rater(machine=made)
    served = [{name: row[name] for name in COMPARED} for row in rating_rows(study)]
    units = study.units.with_texts().select_related("instance")
    rows = [
        {
            "unit": unit.key,
            "source": unit.instance.source,
            "text_a": unit.generations[0].text,
            "text_b": unit.generations[1].text,
        }
        for unit in units
    ]
    write_lines(tmp_path / "pairs.jsonl", rows)
    own = {"name": "j", "server": "fake", "model": "m", "guidelines": study.guidelines, **options}
    criterion = {name: getattr(criteria[0], name) for name in ("name", "scale", "question")}
    parts = {"[judge]": own, "[[criteria]]": criterion}
    text = "".join(
        f"{title}\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in part.items())
        for title, part in parts.items()
    )
    (tmp_path / "judge.toml").write_text(text)
    out = tmp_path / "ratings.jsonl"
    arguments = ("--judge", tmp_path / "judge.toml", "--out", out)
    assert judge(tmp_path / "pairs.jsonl", *arguments) == 0
    judged = [{name: row.get(name) for name in COMPARED} for row in rows_of(out)]
    assert sorted(judged, key=str) == sorted(served, key=str)
    assert len(judged) == 2 * len(rows) * options.get("runs", 1)
    assert Judge.objects.get().is_by_probability == ("answered_by" in options)


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_analyze_reads_the_ratings(pairs, settings_of, tmp_path, capsys, ending):
    out, report = tmp_path / f"ratings{ending}", tmp_path / "report.json"
    settings = settings_of('constraint = "always"')
    assert judge(pairs, "--judge", settings, "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["ratings"] == 6
    table = read_ratings(out)
    assert set(table["kind"]) == {"machine"}
    assert set(table["inclusion_probability"]) == {0.5}
    assert Counter(table["order"]) == {"ab": 3, "ba": 3}
    # The stub chooses the first answer, A, which is either system as often.
    assert Counter(map(int, table["label"])) == {-1: 3, 1: 3}
    assert main(["analyze", str(out), "--replicates", "0", "--out", str(report)]) == 0
    about = json.loads(report.read_text())["criteria"]["preference"]
    assert about["n_machine_ratings"] == 6


def test_an_answer_that_names_nothing_is_kept_as_unparsed(pairs, settings_of, tmp_path):
    out = tmp_path / "ratings.jsonl"
    assert judge(pairs, "--judge", settings_of(), "--out", out) == 0
    rows = rows_of(out)
    assert {row.get("label") for row in rows} == {None}
    assert all(row["raw"].startswith("Text 0") for row in rows)
    assert len(read_ratings(out)) == 6


def test_criteria_are_asked_about_together_or_one_by_one(pairs, settings_of, stub, tmp_path):
    for more, asked in (("", 12), ("asks_together = true", 6)):
        stub.requests.clear()
        out = tmp_path / f"{asked}.jsonl"
        assert judge(pairs, "--judge", settings_of(more, SECOND), "--out", out) == 0
        assert len(stub.generations) == asked
        assert Counter(row["criterion"] for row in rows_of(out)) == {"preference": 6, "wit": 6}


def test_what_failed_is_named_and_asked_for_again(pairs, settings_of, stub, tmp_path):
    out, settings = tmp_path / "ratings.jsonl", settings_of()
    stub.by_prompt = lambda text: Fault("400") if "Old 1" in text else None
    assert judge(pairs, "--judge", settings, "--out", out) == 1
    failed = rows_of(tmp_path / "ratings.failed.jsonl")
    assert [(row["unit"], row["order"], row["code"]) for row in failed] == [
        ("u1", "ab", "refused"),
        ("u1", "ba", "refused"),
    ]
    stub.by_prompt = lambda _: None
    stub.requests.clear()
    assert judge(pairs, "--judge", settings, "--out", out) == 0
    assert {"Old 1" in text_of(body) for body in stub.generations} == {True}
    assert len(rows_of(out)) == 6
    assert not (tmp_path / "ratings.failed.jsonl").exists()


def test_single_texts_are_rated_once(settings_of, stub, tmp_path):
    rows = [{"unit": f"u{k}", "text_a": f"Text {k}."} for k in range(3)]
    write_lines(tmp_path / "texts.jsonl", rows)
    settings = settings_of('constraint = "always"')
    settings.write_text(settings.read_text().replace('"preference:tie"', '"ordinal:1..5"'))
    out = tmp_path / "ratings.jsonl"
    assert judge(tmp_path / "texts.jsonl", "--judge", settings, "--out", out) == 0
    assert [(row["unit"], row["label"]) for row in rows_of(out)] == [(f"u{k}", 1) for k in range(3)]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[1].pop("text_b"),
        lambda rows: rows[1].update(unit="u0"),
        lambda rows: rows[1].update(inclusion_probability=2),
        lambda rows: rows[1].update(unit=None, instance=None),
    ],
)
def test_bad_items_are_named_with_their_lines(pairs, settings_of, stub, capsys, change):
    tmp_path = pairs.parent
    rows = rows_of(pairs)
    change(rows)
    write_lines(pairs, rows)
    assert judge(pairs, "--judge", settings_of(), "--out", tmp_path / "ratings.jsonl") == 1
    assert "line 2" in capsys.readouterr().err
    assert not stub.requests
    assert not list(tmp_path.glob("ratings*"))


@pytest.mark.parametrize(
    ("more", "criteria"),
    [
        ("runs = 2", ""),
        ('answered_by = "guess"', ""),
        ('answered_by = "probability"\nconstraint = "always"', ""),
        ("sed = 1", ""),
        ('seed = "1"', ""),
        ('fields = "place | Place | everybody"', ""),
        ("temperature = true", ""),
        ("asks_together = 1", ""),
        ('server = "other"', ""),
        ('constraint = "always"', SECOND.replace('"preference"', '"ratio"')),
        ("", SECOND.replace('"wit"', '"preference"')),
        ("", SECOND.replace('"preference"', '"preference:99"')),
    ],
)
def test_settings_that_cannot_work_are_refused(pairs, settings_of, stub, more, criteria):
    tmp_path = pairs.parent
    out = tmp_path / "ratings.jsonl"
    assert judge(pairs, "--judge", settings_of(more, criteria), "--out", out) == 1
    assert not stub.requests
    assert not list(tmp_path.glob("ratings*"))

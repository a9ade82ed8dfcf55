"""`tiebreak verify`: honest exports raise nothing, and every manipulation is found and named."""

import json
import random
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db.models import F, QuerySet

import tiebreak
from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Participation, Rating
from annotation.services.items import set_item_aside
from annotation.services.planning import draw_and_plan, plan_hits
from annotation.services.reference_units import degrade_copies
from metrics.results.services import refresh_report
from recruitment.services.lifecycle import close_study, pause_study
from recruitment.services.participants import exclude_participant, reinstate_participant
from recruitment.simulation.bots import Bot
from recruitment.simulation.raters import simulate_raters
from studies.instance_selection.scoring import score_separability
from studies.models import (
    Criterion,
    Generation,
    InstanceSelection,
    Screening,
    Study,
    StudyEvent,
    Unit,
)
from tests.annotation.exports.test_study_export import rated
from tests.machine_raters.machines import create, settings_of
from tests.studies.factories import make_study, open_knowingly
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.cli import main
from tiebreak.formats.evidence import LOG, MANIFEST, REPORT, SELECTION, chained, file_digests
from tiebreak.verification import Verification

WORDS = "one two three four five six seven eight nine ten eleven twelve"
BOTS = [Bot(name) for name in ("ann", "bob", "cy")]


def drafted(**design) -> Study:
    design = {"instances": 6, "systems": 3, "samples": 2, "ratings_per_hit": 2, **design}
    study = make_study(**design)
    for generation in Generation.objects.all():
        generation.text = f"{WORDS} {generation.text * (1 + generation.pk % 3)}"
        generation.save()
    return study


def collected(study: Study, selection: dict | None = None, bots: list[Bot] = BOTS) -> Study:
    if selection:
        score_separability(study=study)
        design = InstanceSelection(study=study, instances=4, **selection)
        draw_and_plan(study=study, design=design)
    else:
        plan_hits(study=study)
    study = open_knowingly(study)
    simulate_raters(study=study, bots=bots, seed=1)
    return study


def with_gold() -> Study:
    study = drafted(comparisons_per_hit=2, repeats_per_hit=1, repeat_distance=1)
    score_separability(study=study)
    degrade_copies(study=study, role=Unit.Role.GOLD, n=2)
    degrade_copies(study=study, role=Unit.Role.TRAINING, n=1)
    Screening.objects.create(study=study, training_units=1, check_rate=1)
    return collected(study, {"design": "proportional", "weights": "logistic", "seed": 7})


def with_exclusions() -> Study:
    study = drafted(comparisons_per_hit=2)
    study = collected(study, {"design": "strata", "seed": 3})
    ann, bob, _ = Participation.objects.filter(study=study).order_by("pk")
    for person in (ann, bob):
        exclude_participant(participation=person, reason="Answered in a second.")
    reinstate_participant(participation=bob)
    simulate_raters(study=study, bots=[Bot("dee"), Bot("eve")], seed=2)
    for unit, aside in zip(study.units.all()[:2], (True, False), strict=True):
        set_item_aside(study=study, key=unit.key, aside=True)
        if not aside:
            set_item_aside(study=study, key=unit.key, aside=False)
    return study


def with_criteria() -> Study:
    study = drafted(comparisons_per_hit=3, bundling="mixed", target_width=0.2)
    Criterion.objects.create(study=study, name="style", question="?", scale="preference:5")
    return collected(study)


def with_machine() -> Study:
    study = collected(drafted(systems=2))
    create(study, "baseline", settings_of("baseline") | {"criterion": "preference"})
    return study


def paused() -> Study:
    study = drafted(comparisons_per_hit=1, repeats_per_hit=0)
    study = collected(study, bots=BOTS[:1])
    pause_study(study=study)
    study = open_knowingly(study)
    simulate_raters(study=study, bots=[Bot("bob")], seed=4)
    return study


HONEST: dict[str, Callable[[Path], Study]] = {
    "single": lambda _: collected(drafted(comparisons_per_hit=1)),
    "gold": lambda _: with_gold(),
    "exclusions": lambda _: with_exclusions(),
    "criteria": lambda _: with_criteria(),
    "machine": lambda _: with_machine(),
    "paused": lambda _: paused(),
    "further": lambda _: collected(drafted(further_share=0.3, further_ratings=2)),
    "nonresponses": lambda _: collected(drafted(nonresponses="both", abandoned="units")),
    "scores": lambda _: collected(drafted(unit_kind="generation", scale="ordinal:1..5")),
    "top": lambda _: collected(drafted(pairing="baseline"), {"design": "top"}),
    "uniform": lambda _: collected(drafted(pairs_per_instance=1), {"design": "uniform"}),
    "imported": lambda folder: rated(folder / "b"),
    "imported bundle": lambda folder: (
        import_study(path=make_bundle(folder / "b", with_ratings=True)).study
    ),
}


def exported(study: Study, out: Path, formats: tuple[str, ...] = ("jsonl",)) -> Path:
    study = Study.objects.get(pk=study.pk)
    if study.status != Study.Status.CLOSED:
        close_study(study=study)
    refresh_report(study=study)
    export_study(study=Study.objects.get(pk=study.pk), out=out, formats=formats)
    return out


def made(result: Verification) -> set[str]:
    return {check.name for check in result.checks if check.was_made}


@pytest.mark.django_db
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_export_raises_nothing(name, tmp_path):
    study = HONEST[name](tmp_path)
    result = tiebreak.verify(exported(study, tmp_path / "out", ("jsonl", "csv", "parquet")))
    assert [*result.lines] == [line for line in result.lines if "not checked" in line]
    assert result.n_deviations == 0
    expected = {"files", "forms", "formats", "rows", "report", "texts"}
    if "imported" not in name:
        expected |= {"log", "design", "plan", "clocks", "exclusions"}
    assert made(result) >= expected
    assert ("draw" in made(result)) == study.selected.exists()
    again = import_study(path=tmp_path / "out").study
    assert tiebreak.verify(exported(again, tmp_path / "again")).n_deviations == 0


# What a check must say after a manipulation: its name, the file, and the line or a part of the text.
Named = tuple[str, str, int | str]
Row = dict
KINDS: dict[str, Callable[["Forger"], Named]] = {}
R = "ratings.jsonl"


def kind(function: Callable[["Forger"], Named]) -> Callable[["Forger"], Named]:
    KINDS[function.__name__] = function
    return function


class Forger:
    """Someone who changes the files of an export at random places."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng = folder, random.Random(seed)

    def rows(self, name: str) -> list[Row]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def write(self, name: str, rows: list[Row]) -> None:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (self.folder / name).write_text(text)

    def change(self, name: str, where: Callable[[Row], bool], edit: Callable[[Row], Row]) -> int:
        """Edit one of the rows with a property, and return its line."""
        rows = self.rows(name)
        i = self.rng.choice([i for i, row in enumerate(rows) if where(row)])
        rows[i] = {**rows[i], **edit(rows[i])}
        self.write(name, rows)
        return i + 1

    def rating(self, edit: Callable[[Row], Row], where: Callable[[Row], bool] | None = None) -> int:
        return self.change(R, where or is_counted, edit)

    def log(self, edit: Callable[[list[Row]], list[Row]]) -> None:
        """Edit the log, and chain its digests anew."""
        rows = [{n: v for n, v in row.items() if n != "sha256"} for row in self.rows(LOG)]
        numbered = [{**row, "number": n} for n, row in enumerate(edit(rows), start=1)]
        self.write(LOG, list(chained(numbered)))

    def text(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new, 1))

    def fix_manifest(self) -> None:
        path = self.folder / MANIFEST
        about = json.loads(path.read_text())
        path.write_text(json.dumps(about | {"files": file_digests(self.folder)}))

    def report(self, wanted: type) -> str:
        """Change a number of the report, and return its path."""
        report, paths = json.loads((self.folder / REPORT).read_text()), []

        def walk(part, path):
            for key, value in part.items() if isinstance(part, dict) else enumerate(part):
                step = f"[{key}]" if isinstance(key, int) else f".{key}"
                if isinstance(value, dict | list):
                    walk(value, path + step)
                elif type(value) is wanted:
                    paths.append((part, key, path + step))

        walk(report["criteria"], "criteria")
        part, key, path = self.rng.choice([one for one in paths if ".stopping" not in one[2]])
        part[key] += 1 if wanted is int else 2e-8
        (self.folder / REPORT).write_text(json.dumps(report))
        return path


def is_counted(row: Row) -> bool:
    flags = ("excluded", "late", "superseded", "surplus", "partial")
    return row["role"] == "main" and not row["repeat"] and not any(row[flag] for flag in flags)


def is_out(reason: str) -> Callable[[Row], bool]:
    return lambda row: row.get("excluded_reason") == reason and row["role"] == "main"


def later(row: Row, **by: float) -> Row:
    return {"created_at": (datetime.fromisoformat(row["created_at"]) + timedelta(**by)).isoformat()}


@kind
def label(forger):
    def other(row):
        return {"label": forger.rng.choice([x for x in (-1, 0, 1) if x != row["label"]])}

    forger.rating(other)
    return "rows", REPORT, "source.rows_sha256"


@kind
def sign(forger):
    rows = forger.rows(R)
    rater = forger.rng.choice([row["rater"] for row in rows if is_counted(row) and row["label"]])
    forger.write(
        R, [row | {"label": -row["label"]} if row["rater"] == rater else row for row in rows]
    )
    return "report", REPORT, "criteria.preference"


@kind
def removed(forger):
    rows = forger.rows(R)
    rows.remove(forger.rng.choice([row for row in rows if is_counted(row)]))
    forger.write(R, rows)
    return "report", REPORT, "source.n_rows"


@kind
def added(forger):
    rows = forger.rows(R)
    rows.append(
        forger.rng.choice([row for row in rows if is_counted(row)])
        | {"rater": "x", "participation": "x"}
    )
    forger.write(R, rows)
    return "plan", R, len(rows)


@kind
def excluded(forger):
    return (
        "exclusions",
        R,
        forger.rating(lambda _: {"excluded": True, "excluded_reason": "excluded"}),
    )


@kind
def excluded_without_reason(forger):
    return "exclusions", R, forger.rating(lambda _: {"excluded": True})


@kind
def included(forger):
    edit = {"excluded": False, "excluded_reason": ""}
    return "exclusions", R, forger.rating(lambda _: edit, is_out("excluded"))


@kind
def put_back(forger):
    edit = {"excluded": False, "excluded_reason": ""}
    return "exclusions", R, forger.rating(lambda _: edit, is_out("item set aside"))


@kind
def reason(forger):
    return (
        "exclusions",
        R,
        forger.rating(lambda _: {"excluded_reason": "returned"}, is_out("excluded")),
    )


@kind
def superseded(forger):
    return "exclusions", R, forger.rating(lambda _: {"superseded": True})


@kind
def exclusion_unlogged(forger):
    forger.log(lambda rows: [row for row in rows if row["verb"] != "exclude"])
    return "exclusions", R, "excluded_reason"


@kind
def exclusion_invented(forger):
    rater = forger.rng.choice([row["rater"] for row in forger.rows(R) if is_counted(row)])
    event = {"verb": "exclude", "details": {"annotator": rater, "hits": 1, "reason": ""}}
    forger.log(lambda rows: [*rows, rows[-1] | event])
    return "exclusions", R, rater


@kind
def side(forger):
    unit = []

    def other(row):
        unit.append(row["unit"])
        return {"side_a": "left" if row["side_a"] == "right" else "right"}

    forger.rating(other)
    hits = {row["unit"]: row["hit"] for row in forger.rows("design.jsonl")}
    of_task = [key for key, hit in hits.items() if hit == hits[unit[0]]]
    return "sides", R, of_task[0] if len(of_task) == 1 else "side_a of"


@kind
def position(forger):
    return "plan", R, forger.rating(lambda row: {"position": row["position"] + 20})


@kind
def task_position(forger):
    forger.rating(lambda row: {"hit_position": row["hit_position"] + 20})
    return "plan", R, "hit_position"


@kind
def repeat(forger):
    repeated = {row["unit"] for row in forger.rows("design.jsonl") if row["repeats"]}
    edit = {"repeat": 1, "role": "repeat"}
    line = forger.rating(
        lambda _: edit, lambda row: is_counted(row) and row["unit"] not in repeated
    )
    return "plan", R, line


@kind
def unit(forger):
    return "forms", R, forger.rating(lambda _: {"unit": "note-99#0.1.0"})


@kind
def text(forger):
    planned = {(row["instance"], row["sample_a"]) for row in forger.rows("design.jsonl")}
    forger.change(
        "generations.jsonl",
        lambda row: (row["instance"], row["sample_index"]) in planned and is_a(row, forger),
        lambda row: {"text": row["text"].replace("seven", "eight")},
    )
    return "texts", "generations.jsonl", "digest"


def is_a(row: Row, forger: Forger) -> bool:
    """Whether a generation is the first text of a planned item."""
    key = (row["instance"], row["system"], row["sample_index"])
    design = forger.rows("design.jsonl")
    return any(key == (one["instance"], one["system_a"], one["sample_a"]) for one in design)


@kind
def source(forger):
    planned = {row["instance"] for row in forger.rows("design.jsonl")}
    forger.change("instances.jsonl", lambda r: r["id"] in planned, lambda _: {"source": "Other."})
    return "texts", "generations.jsonl", "digest"


@kind
def length(forger):
    return "texts", R, forger.rating(lambda row: {"chars_a": row["chars_a"] + 1})


@kind
def clock_before_opening(forger):
    return "clocks", R, forger.rating(lambda row: later(row, days=-1))


@kind
def clock_after_closing(forger):
    return "clocks", R, forger.rating(lambda row: later(row, days=1))


@kind
def duration(forger):
    return "clocks", R, forger.rating(lambda _: {"duration_ms": 10**8})


@kind
def late(forger):
    return "clocks", R, forger.rating(lambda _: {"late": True})


@kind
def opening_moved(forger):
    def edit(rows):
        return [row | {"at": rows[-1]["at"].replace("20", "30", 1)} for row in rows]

    forger.log(edit)
    return "clocks", R, "created_at"


@kind
def margin(forger):
    width = forger.rng.choice([0.1, 0.3])
    forger.text("study.toml", "target_width = 0.2", f"target_width = {width}")
    return "design", "study.toml", "frozen settings"


@kind
def estimand(forger):
    forger.text("study.toml", "Wins of A", "Wins of B")
    return "design", "study.toml", "frozen settings"


@kind
def question(forger):
    forger.text("study.toml", "Which do you prefer?", "Which is worse?")
    return "design", "study.toml", "frozen settings"


@kind
def fewer_ratings(forger):
    forger.text("study.toml", "ratings_per_hit = 2", "ratings_per_hit = 1")
    return "design", "study.toml", "ratings_per_hit"


@kind
def digest_of_rows(forger):
    report = json.loads((forger.folder / REPORT).read_text())
    report["source"]["rows_sha256"] = f"{forger.rng.getrandbits(256):064x}"
    (forger.folder / REPORT).write_text(json.dumps(report))
    return "rows", REPORT, "source.rows_sha256"


@kind
def digest_of_design(forger):
    line = forger.change(
        LOG,
        lambda row: row["verb"] == "open",
        lambda row: {"details": row["details"] | {"plan_sha256": "0" * 64}},
    )
    return "log", LOG, line


@kind
def log_entry_removed(forger):
    rows = forger.rows(LOG)
    del rows[i := forger.rng.randrange(len(rows) - 1)]
    forger.write(LOG, rows)
    return "log", LOG, i + 1


@kind
def log_removed(forger):
    (forger.folder / LOG).unlink()
    return "forms", LOG, "the log"


@kind
def draw_removed(forger):
    (forger.folder / SELECTION).unlink()
    return "forms", SELECTION, "the draw"


@kind
def probability(forger):
    edit = {"inclusion_probability": forger.rng.uniform(0.1, 0.9)}
    rows = forger.rows("design.jsonl")
    unit = forger.rng.choice([row["unit"] for row in rows if row["role"] == "main"])
    for name in ("design.jsonl", R):
        forger.write(
            name, [row | edit if row["unit"] == unit else row for row in forger.rows(name)]
        )
    return "draw", "design.jsonl", unit


@kind
def seed(forger):
    forger.change(SELECTION, lambda _: True, lambda row: {"seed": row["seed"] + 1})
    return "draw", SELECTION, 1


@kind
def draw_settings(forger):
    forger.change(SELECTION, lambda _: True, lambda _: {"floor": forger.rng.uniform(1, 9)})
    return "draw", "design.jsonl", "probability"


@kind
def number_of_report(forger):
    return "report", REPORT, forger.report(float)


@kind
def count_of_report(forger):
    return "report", REPORT, forger.report(int)


@kind
def broken_line(forger):
    forger.text(R, '"unit"', '"unit')
    return "forms", R, 1


@pytest.fixture(scope="module")
def export(module_db: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of a study in which everything was done that a manipulation may concern."""
    study = drafted(
        **{"comparisons_per_hit": 3, "repeats_per_hit": 1, "repeat_distance": 1},
        **{"bundling": "mixed", "target_width": 0.2, "estimands": "Wins of A"},
    )
    study = collected(study, {"design": "proportional", "weights": "floored", "seed": 5})
    exclude_participant(participation=study.participations.first(), reason="Too fast.")
    simulate_raters(study=study, bots=[Bot("dee"), Bot("eve")], seed=2)
    counted = Rating.objects.in_statistics().order_by("unit__key").first()
    set_item_aside(study=study, key=counted.unit.key, aside=True)
    # As people would have, whose times are their own, in a study that is closed a minute later.
    minute = timedelta(minutes=1)
    times = {"duration_ms": 1, "created_at": F("created_at") - minute}
    QuerySet(Rating).update(simulated=False, **times)
    StudyEvent.objects.update(at=F("at") - 2 * minute)
    return exported(study, tmp_path_factory.mktemp("verified") / "out")


def deviating(result: Verification) -> set[str]:
    return {check.name for check in result.checks if check.n_deviations}


def test_the_export_that_is_manipulated_is_honest(export):
    result = tiebreak.verify(export)
    assert deviating(result) == set()
    assert made(result) == {check.name for check in result.checks} - {"formats"}


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", KINDS)
def test_a_manipulation_is_found_and_named(name, number, export, tmp_path):
    forger = Forger(Path(shutil.copytree(export, tmp_path / "out")), seed=number)
    check, file, named = KINDS[name](forger)
    if number == 0:
        assert "files" in deviating(tiebreak.verify(forger.folder))
    forger.fix_manifest()
    result = tiebreak.verify(forger.folder)
    assert "files" not in deviating(result)
    (of_check,) = (one for one in result.checks if one.name == check)
    places = [(one.file, one.line, one.what) for one in of_check.deviations]
    assert [
        place
        for place in places
        if place[0] == file and (named == place[1] or str(named) in place[2])
    ], (places, result.sentence)


def test_an_old_export_is_checked_as_far_as_it_goes(export, tmp_path):
    folder = Path(shutil.copytree(export, tmp_path / "old"))
    for name in (MANIFEST, LOG, SELECTION, REPORT):
        (folder / name).unlink()
    result = tiebreak.verify(folder)
    assert deviating(result) == set()
    assert made(result) == {"forms", "plan", "sides", "texts", "clocks"}
    missing = {check.name for check in result.checks if check.not_checked}
    assert missing == {check.name for check in result.checks} - {"forms", "plan", "sides"}


def test_the_command_says_what_it_checked_and_fails_if_anything_deviates(export, tmp_path, capsys):
    archive = shutil.make_archive(str(tmp_path / "study"), "zip", export)
    assert main(["verify", archive]) == 0
    assert capsys.readouterr().out.startswith("Checked 12 things: ")
    forger = Forger(Path(shutil.copytree(export, tmp_path / "out")), seed=0)
    number_of_report(forger)
    assert main(["verify", str(forger.folder), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["n_deviations"] == 2
    assert main(["verify", str(tmp_path / "nothing.zip")]) == 1


def test_a_report_of_other_ratings_is_left_out(export, tmp_path, db):
    study = Study.objects.get()
    export_study(study=study, out=tmp_path / "with")
    unit = study.units.filter(role="main", set_aside=False).first()
    set_item_aside(study=study, key=unit.key, aside=True)
    export_study(study=study, out=tmp_path / "without")
    assert (tmp_path / "with" / REPORT).is_file()
    assert not (tmp_path / "without" / REPORT).exists()
    assert tiebreak.verify(tmp_path / "without").n_deviations == 0

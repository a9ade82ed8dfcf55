"""`tiebreak verify`: honest exports raise nothing, and every manipulation is found and named."""

import json
import random
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F, QuerySet

import tiebreak
from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Participation, Rating
from annotation.services.items import set_item_aside
from annotation.services.planning import draw_and_plan, plan_hits
from annotation.services.reference_units import (
    ReferencePair,
    add_reference_units,
    degrade_copies,
)
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
from tiebreak import __version__
from tiebreak.cli import main
from tiebreak.formats.evidence import LOG, MANIFEST, REPORT, SELECTION, chained, file_digests
from tiebreak.verification import Verification

pytestmark = pytest.mark.django_db
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


def with_own_texts_apart() -> Study:
    """All texts of some drawn instances are those of reference items, so nobody rates them."""
    study = drafted(systems=2)
    instances = study.dataset.instances.order_by("pk")[:3]
    texts = [i.generations.filter(sample_index=k) for i in instances for k in (0, 1)]
    pairs = [ReferencePair(*pair.order_by("system"), {"preference": "1"}) for pair in texts]
    add_reference_units(study=study, role=Unit.Role.QUALIFICATION, pairs=pairs)
    return collected(study, {"design": "uniform"})


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
    "apart": lambda _: with_own_texts_apart(),
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
    return {check.name for check in result.checks if check.n_compared}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_export_raises_nothing(name, tmp_path):
    study = HONEST[name](tmp_path)
    result = tiebreak.verify(exported(study, tmp_path / "out", ("jsonl", "csv", "parquet")))
    assert [one for check in result.checks for one in check.deviations] == []
    expected = {"files", "forms", "formats", "rows", "report", "texts"}
    if "imported" not in name:
        expected |= {"log", "design", "plan", "clocks", "exclusions"}
    assert made(result) >= expected
    assert ("draw" in made(result)) == study.selected.exists()
    again = import_study(path=tmp_path / "out").study
    assert tiebreak.verify(exported(again, tmp_path / "again")).n_deviations == 0


@pytest.mark.parametrize(("version", "n"), [(__version__, 1), ("0.0.1", 0)])
def test_only_a_report_of_an_earlier_version_may_lack_what_was_added_since(tmp_path, version, n):
    out = exported(collected(drafted(comparisons_per_hit=1)), tmp_path / "out")
    report, manifest = (json.loads((out / name).read_text()) for name in (REPORT, MANIFEST))
    del report["criteria"]["preference"]["rater_variance"]
    (out / REPORT).write_text(json.dumps(report))
    manifest |= {"tiebreak_version": version, "files": file_digests(out)}
    (out / MANIFEST).write_text(json.dumps(manifest))
    (check,) = (one for one in tiebreak.verify(out).checks if one.name == "report")
    assert min(len(check.deviations), 1) == n


R, D, TOML = "ratings.jsonl", "design.jsonl", "study.toml"
OUT = {"excluded": True, "excluded_reason": "excluded"}
CONDITIONAL = "conditional_inclusion_probability"
IN = {"excluded": False, "excluded_reason": ""}
Row = dict[str, Any]
Edit = Callable[["Forger", Row], Row]


class Forger:
    """Someone who changes the files of an export at random places."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)

    def rows(self, name: str) -> list[Row]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def write(self, name: str, rows: list[Row]) -> None:
        (self.folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def edit(self, name: str, edit: Edit, where: Callable[["Forger", Row], bool]) -> int:
        """Edit one of the rows with a property, and return its line."""
        rows = self.rows(name)
        i = self.random.choice([i for i, row in enumerate(rows) if where(self, row)])
        rows[i] |= edit(self, rows[i])
        self.write(name, rows)
        return i + 1

    def planned(self, row: Row) -> bool:
        """Whether a generation is system A's text in an item that is rated."""
        key = [row["instance"], row["system"], row["sample_index"]]
        return key in [[r["instance"], r["system_a"], r["sample_a"]] for r in self.rows(D)]

    def has_repeat(self, row: Row) -> bool:
        return row["unit"] in [planned["unit"] for planned in self.rows(D) if planned["repeats"]]

    def fix_manifest(self) -> None:
        path = self.folder / MANIFEST
        about = json.loads(path.read_text()) | {"files": file_digests(self.folder)}
        path.write_text(json.dumps(about))


def is_counted(_: Forger, row: Row) -> bool:
    flags = ("excluded", "late", "superseded", "surplus", "partial")
    return row["role"] == "main" and not row["repeat"] and not any(row[flag] for flag in flags)


def moved(row: Row, name: str = "created_at", **by: float) -> Row:
    return {name: (datetime.fromisoformat(row[name]) + timedelta(**by)).isoformat()}


# Rows that are edited: the check that must name the line, the file, and the edit.
EDITS: dict[str, tuple[str, str, Edit]] = {
    "excluded": ("exclusions", R, lambda f, row: OUT),
    "excluded without a reason": ("exclusions", R, lambda f, row: {"excluded": True}),
    "included": ("exclusions", R, lambda f, row: IN),
    "put back": ("exclusions", R, lambda f, row: IN),
    "reason": ("exclusions", R, lambda f, row: {"excluded_reason": "returned"}),
    "superseded": ("exclusions", R, lambda f, row: {"superseded": True}),
    "position": ("plan", R, lambda f, row: {"position": row["position"] + 20}),
    "repeat": ("plan", R, lambda f, row: {"repeat": 1, "role": "repeat"}),
    "unit": ("forms", R, lambda f, row: {"unit": "note-99"}),
    "label off the scale": ("forms", R, lambda f, row: {"label": 7}),
    "length": ("texts", R, lambda f, row: {"chars_a": row["chars_a"] + 1}),
    "before opening": ("clocks", R, lambda f, row: moved(row, days=-1)),
    "after closing": ("clocks", R, lambda f, row: moved(row, days=1)),
    "duration": ("clocks", R, lambda f, row: {"duration_ms": 10**8}),
    "late": ("clocks", R, lambda f, row: {"late": True}),
    "chance": ("draw", D, lambda f, row: {CONDITIONAL: f.random.random()}),
    "draw": ("draw", SELECTION, lambda f, row: {"seed": row["seed"] + 1}),
    "log": ("log", LOG, lambda f, row: {"details": row["details"] | {"design_sha256": "0"}}),
    "log's clock": ("log", LOG, lambda f, row: moved(row, "at", days=400)),
}
# Which rows of ratings, if not counted ones.
WHERE: dict[str, Callable[[Forger, Row], bool]] = {
    "included": lambda f, row: row["excluded_reason"] == "excluded",
    "put back": lambda f, row: row["excluded_reason"] == "item set aside",
    "reason": lambda f, row: row["excluded_reason"] == "excluded",
    "repeat": lambda f, row: is_counted(f, row) and not f.has_repeat(row),
}
# Texts that are replaced: file, from, to, the check, and what it must name.
TEXTS = {
    "margin": (TOML, "target_width = 0.2", "target_width = 0.3", "design", "frozen settings"),
    "estimand": (TOML, "Wins of A", "Wins of B", "design", "frozen settings"),
    "question": (TOML, "Which do you prefer?", "Which is worse?", "design", "frozen settings"),
    "fewer ratings": (
        TOML,
        "ratings_per_hit = 2",
        "ratings_per_hit = 1",
        "design",
        "ratings_per_hit",
    ),
    "not JSON": (LOG, "{", "", "forms", "content"),
}


def label(f: Forger) -> tuple[str, str, str]:
    f.edit(R, lambda f, row: {"label": 1 if row["label"] == -1 else -1}, is_counted)
    return "rows", REPORT, "source.rows_sha256"


def sign(f: Forger) -> tuple[str, str, str]:
    rows = f.rows(R)
    rater = f.random.choice([row["rater"] for row in rows if is_counted(f, row) and row["label"]])
    f.write(
        R,
        [row | {"label": -row["label"] if row["rater"] == rater else row["label"]} for row in rows],
    )
    return "report", REPORT, "criteria.preference"


def removed(f: Forger) -> tuple[str, str, str]:
    rows = f.rows(R)
    rows.remove(f.random.choice([row for row in rows if is_counted(f, row)]))
    f.write(R, rows)
    return "report", REPORT, "source.n_rows"


def added(f: Forger) -> tuple[str, str, int]:
    rows = f.rows(R)
    again = f.random.choice([row for row in rows if is_counted(f, row)])
    f.write(R, [*rows, again | {"rater": "x", "participation": "x"}])
    return "plan", R, len(rows) + 1


def side(f: Forger) -> tuple[str, str, str]:
    f.edit(
        R, lambda f, row: {"side_a": "left" if row["side_a"] == "right" else "right"}, is_counted
    )
    return "sides", R, "side_a of"


def text(f: Forger) -> tuple[str, str, str]:
    f.edit(
        "generations.jsonl",
        lambda f, row: {"text": row["text"].replace("seven", "eight")},
        Forger.planned,
    )
    return "texts", "generations.jsonl", "digest"


def task(f: Forger) -> tuple[str, str, str]:
    f.edit(R, lambda f, row: {"hit_position": row["hit_position"] + 20}, is_counted)
    return "plan", R, "hit_position"


def probability(f: Forger, name: str = "inclusion_probability") -> tuple[str, str, str]:
    row = f.random.choice(f.rows(D))
    other = "design" if row["phase"] == "control" else "control"
    new = {name: other if name == "phase" else f.random.random()}
    for file in (D, R):
        f.write(file, [r | (new if r["unit"] == row["unit"] else {}) for r in f.rows(file)])
    return "draw", D, row["unit"]


def number(f: Forger, wanted: type = float, by: float = 2e-8) -> tuple[str, str, str]:
    report, places = json.loads((f.folder / REPORT).read_text()), []

    def walk(part: Any, path: str) -> None:
        for key, value in part.items() if isinstance(part, dict) else enumerate(part):
            step = f"{path}.{key}" if isinstance(part, dict) else f"{path}[{key}]"
            if isinstance(value, dict | list) and key != "stopping":
                walk(value, step)
            elif type(value) is wanted:
                places.append((part, key, step))

    walk(report["criteria"], "criteria")
    part, key, path = f.random.choice(places)
    part[key] += by
    (f.folder / REPORT).write_text(json.dumps(report))
    return "report", REPORT, path


def digest(f: Forger) -> tuple[str, str, str]:
    report = json.loads((f.folder / REPORT).read_text())
    report["source"]["rows_sha256"] = f"{f.random.getrandbits(256):064x}"
    (f.folder / REPORT).write_text(json.dumps(report))
    return "rows", REPORT, "source.rows_sha256"


def log_again(f: Forger, rows: list[Row]) -> None:
    """Write another log, with its numbers and its chain made anew."""
    bare = ({k: v for k, v in row.items() if k != "sha256"} for row in rows)
    f.write(LOG, list(chained(row | {"number": n} for n, row in enumerate(bare, start=1))))


def unlogged(f: Forger) -> tuple[str, str, str]:
    log_again(f, [row for row in f.rows(LOG) if row["verb"] != "exclude"])
    return "exclusions", R, "excluded_reason"


def invented(f: Forger) -> tuple[str, str, str]:
    rater = f.random.choice([row["rater"] for row in f.rows(R) if is_counted(f, row)])
    event = {"verb": "exclude", "details": {"annotator": rater, "hits": 1, "reason": ""}}
    log_again(f, [*(rows := f.rows(LOG)), rows[-1] | event])
    return "exclusions", R, rater


def gone(f: Forger) -> tuple[str, str, str]:
    name, what = f.random.choice([(LOG, "the log"), (SELECTION, "the draw")])
    (f.folder / name).unlink()
    return "forms", name, what


def cut(f: Forger) -> tuple[str, str, str]:
    rows = f.rows(LOG)
    del rows[f.random.randrange(len(rows) - 1)]
    f.write(LOG, rows)
    return "log", LOG, "number"


OTHERS = (
    *(label, sign, removed, added, side, text, task, probability, number, digest),
    *(unlogged, invented, gone, cut),
)
OTHER = {one.__name__: one for one in OTHERS}
OTHER |= {"count": lambda f: number(f, int, 1), "phase": lambda f: probability(f, "phase")}


def forged(name: str, f: Forger) -> tuple[str, str, int | str]:
    """Manipulate, and return the check, the file, and the line or words that must be named."""
    if name in EDITS:
        check, file, edit = EDITS[name]
        everywhere = is_counted if file == R else lambda f, row: True
        return check, file, f.edit(file, edit, WHERE.get(name, everywhere))
    if name in TEXTS:
        file, old, new, check, what = TEXTS[name]
        text = (f.folder / file).read_text()
        assert old in text
        (f.folder / file).write_text(text.replace(old, new, 1))
        return check, file, what
    return OTHER[name](f)


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


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", [*EDITS, *TEXTS, *OTHER])
def test_a_manipulation_is_found_and_named(name, seed, export, tmp_path):
    forger = Forger(Path(shutil.copytree(export, tmp_path / "out")), seed=seed)
    check, file, named = forged(name, forger)
    if seed == 0:
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
    ], places


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
    number(forger)
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

"""Readers of annotation platforms, on small files in the layout of real exports."""

import csv
import gzip
import json
import math
from pathlib import Path

import krippendorff
import openpyxl
import pytest
from django.core.management import call_command

from tests.refusals import refused_file
from tests.tiebreak.formats.readers.files import FOLDERS, MADE_UP
from tests.tiebreak.formats.tables.cases import CASES
from tiebreak.formats import FormatError, read_bundle, read_ratings
from tiebreak.formats.readers import READERS, convert, recognised
from tiebreak.formats.readers.converted import labels_of
from tiebreak.report import build_report

BATCH = MADE_UP / "platforms" / "batch.csv"
OF_OTHERS = Path(__file__).parent.parent / "layouts_of_others"
PUBLISHED = json.loads((OF_OTHERS / "expected.json").read_text(encoding="utf-8"))
N = math.nan
TAXONOMY = {"answers of kind, a taxonomy, whose branches are no scale": 1}
STARS = ("stars", "ordinal:1..5", {"1": [5, 1], "2": [4, 1]})
# Of each file its reader, a criterion with its scale and each rater's labels, and what was left out.
READ = {
    "argilla/nested.json": (
        ("quality", "ordinal:1..5", {"u1": [4, 1, 2], "u2": [5, 1, 3]}),
        {"answers of why, which are free text": 1},
    ),
    "argilla/flat.jsonl": (
        ("quality", "ordinal:1..5", {"u1": [4, 1, 2], "u2": [5, 1, N]}),
        {"responses with the status draft": 1},
    ),
    "potato": (
        ("fluency", "ordinal:1..5", {"ann": [4, 2], "ben": [5, 1]}),
        {"answers on pages that are no items": 1},
    ),
    "prodigy/choices.jsonl": (
        ("choice", "nominal:no,yes", {"set-ann": ["no", "yes", "no"], "set-ben": ["no", "yes", N]}),
        {"empty answers of choice": 1},
    ),
    "prodigy/labels.jsonl": (
        (
            "FLUENT",
            "nominal:no,yes",
            {"set-ann": ["yes", "no", N], "set-ben": ["yes", "yes", "no"]},
        ),
        {"empty answers of FLUENT": 1},
    ),
    "appraise/scores.csv": (
        ("score", "interval:0..100", {"eng01": [80, 33, 100], "eng02": [71, 40, 90]}),
        {"scores of degraded items": 1},
    ),
    "wmt/mqm.tsv": (
        ("mqm", "interval", {"rater1": [-5.1, 0, -25], "rater2": [-1, 0, -5]}),
        {"rows that check raters": 1},
    ),
    "wmt/psqm.tsv": (("score", "ordinal:0..6", {"rater1": [5, 0], "rater2": [6, 1]}), {}),
    "qualtrics/responses.csv": (
        ("Q2", "ordinal:1..5", {"R_0a": [5, 2], "R_1b": [4, 2], "R_2c": [5, N], "R_3d": [4, 1]}),
        {
            "answers of Q5_TEXT, which are free text or times": 1,
            "previews of the survey": 1,
            "answers of Q1, which have more than 11 points": 4,
            "empty answers of Q2": 1,
            "empty answers of Q3": 1,
            "answers of Q4, which have no order": 3,
        },
    ),
    "googleforms/responses.csv": (
        (
            "How good is each text?",
            "ordinal:1..5",
            {"responses-1": [5, 2], "responses-2": [4, 1], "responses-3": [5, 2]},
        ),
        {"column Email Address": 3, "answers of Any comments?, which are free text": 1},
    ),
    "limesurvey/results.csv": (
        ("good", "ordinal:2..5", {"1": [5, 2], "2": [4, 2], "3": [5, N]}),
        {
            "answers of groupTime12, which are free text or times": 3,
            "answers of goodTime, which are free text or times": 2,
            "empty answers of good": 1,
            "answers of which, which are free text": 2,
            "answers of note, which are free text": 1,
        },
    ),
    "platforms/batch.csv": (
        ("quality", "ordinal:1..5", {"W1": [5, 1, 4], "W2": [4, N, 4]}),
        {
            "rejected assignments, flagged excluded": 1,
            "missing answers of quality": 1,
            "empty answers of comment": 3,
            "answers of comment, which are free text": 4,
        },
    ),
    "platforms/forms.csv": (
        ("faults: short", "nominal:no,yes", {"W1": ["yes", "no"], "W2": ["yes", N]}),
        {"answers of why, which are free text": 3},
    ),
    "platforms/labels.json": (STARS, TAXONOMY),
    "platforms/labels_min.json": (STARS, TAXONOMY),
    "platforms/labels.csv": (STARS, TAXONOMY),
}
OTHERS = {"batch.csv": "mturk", "forms.csv": "mturk"}
# Files that nothing but their name tells apart from others.
UNKNOWN = {
    "alpacaeval/outputs",
    "alttest",
    "llmbar/dataset",
    "lm-eval/results",
    "pandalm/gpt",
    "pandalm/pandalm",
}
PLAIN = {
    "wide.csv": "Units,Rater1,Rater2\n1,1,1\n2,2,3\n",
    "long.csv": "item_id,annotator,rating\n1,ann,5\n1,ben,4\n",
    "criteria.csv": "system,doc,seg_id,rater,fluency,adequacy\na,d,1,r,5,4\n",
    "log.csv": "Timestamp,user,item name,rating\n3/14/2024 10:22:33,ann,i1,5\n",
    "answers.csv": "id,text,answer_a,answer_b,winner\n1,Name a tree.,An oak.,A fir.,a\n",
    "scores.csv": "ann,alder,80,good,eng,deu,80\nben,alder,80,good,eng,deu,33\n",
    "ratings.jsonl": '{"unit": "u", "rater": "r", "label": 1, "annotations": 2}\n',
    "data.json": '[{"data": {"text": "An oak."}, "id": 1, "responses": [1, 2]}]',
}


LOOP = {"_recordId": "ResponseId", "1_QID2_1": "1_Q2_1", "2_QID2_1": "2_Q2_1"}


def reader_of(name):
    folder, _, file = name.partition("/")
    return OTHERS.get(file, "labelstudio") if folder == "platforms" else folder


def given(converted, criterion):
    """Return each person's counted labels of the units, in the order of the file."""
    rows = [row for row in converted.ratings if row["criterion"] == criterion]
    rows = [row for row in rows if not row.get("excluded")]
    rows = [row for row in rows if row.get("kind", "human") == "human"]
    units = list(dict.fromkeys(row["unit"] for row in rows))
    labels = {row["rater"].removeprefix("annotator ").removeprefix("e"): [] for row in rows}
    of = {(r["rater"].removeprefix("annotator ").removeprefix("e"), r["unit"]): r for r in rows}
    for rater, own in labels.items():
        own += [of[rater, unit]["label"] if (rater, unit) in of else N for unit in units]
    return labels


@pytest.mark.parametrize("name", READ)
def test_the_export_is_recognised_and_read(name, tmp_path):
    path, reader = MADE_UP / name, reader_of(name)
    (criterion, scale, expected), left_out = READ[name]
    expected = {rater.removeprefix("e"): labels for rater, labels in expected.items()}
    assert recognised(path) == reader
    converted = convert(reader, [path])
    assert converted.about
    assert dict(converted.left_out) == left_out
    assert {c.name: c.scale for c in converted.spec.criteria}[criterion] == scale
    labels = given(converted, criterion)
    assert str(labels) == str(expected) or labels == expected
    converted.write(tmp_path / "bundle")
    assert len(read_bundle(tmp_path / "bundle").ratings) == len(converted.ratings)
    converted.write(tmp_path / "r.jsonl")
    report = build_report(
        read_ratings(tmp_path / "r.jsonl"), scales={criterion: scale}, replicates=0
    )
    alpha = report.criteria[criterion].strata[0].human_human.krippendorff_alpha.value
    coded = [
        [["no", "yes"].index(x) if isinstance(x, str) else x for x in own]
        for own in labels.values()
    ]
    level = scale.partition(":")[0]
    assert alpha == pytest.approx(
        krippendorff.alpha(reliability_data=coded, level_of_measurement=level), nan_ok=True
    )


@pytest.mark.parametrize("number", ["14", "17", "18", "24", "25"])
def test_files_of_others_have_the_values_that_were_written_down_before(number):
    (entry,) = (one for one in PUBLISHED if one["file"].startswith(f"{number}_"))
    path, expect = OF_OTHERS / entry["file"], entry["expect"]
    converted = convert(recognised(path), [path])
    rows = [row for row in converted.ratings if row.get("kind", "human") == "human"]
    assert [len({r[key] for r in rows}) for key in ("unit", "rater")] == [
        expect["items"],
        expect["raters"],
    ]
    assert len(rows) == expect["ratings"]
    names = [criterion.name for criterion in converted.spec.criteria]
    for name, alpha in zip(names, expect["alpha"].values(), strict=True):
        given_labels = list(given(converted, name).values())
        known = sorted({label for own in given_labels for label in own if label is not N})
        coded = [[known.index(x) if isinstance(x, str) else x for x in own] for own in given_labels]
        value = krippendorff.alpha(reliability_data=coded, level_of_measurement=alpha["level"])
        assert value == pytest.approx(alpha["value"], abs=1e-5)


def test_earlier_exports_of_participants_are_refused_too():
    path = OF_OTHERS / "16_export_of_the_participants.csv"
    assert recognised(path) == "prolific"
    with refused_file((path.name, None, "no_ratings")):
        convert("prolific", [path])


def test_suggestions_are_machines_ratings_and_text_areas_are_reasons():
    rows = convert("argilla", [MADE_UP / "argilla" / "nested.json"]).ratings
    machines = [(r["rater"], r["label"]) for r in rows if r.get("kind") == "machine"]
    assert machines == [("judge-x", 5), ("suggestion", 2)]
    for name in ("labels.json", "labels_min.json", "labels.csv"):
        rows = convert("labelstudio", [MADE_UP / "platforms" / name]).ratings
        assert [row.get("reason") for row in rows[:2]] == ["It is right.", None]
        assert rows[0]["duration_ms"] == 4200
        assert "@" not in str(rows)


@pytest.mark.parametrize("times", [1, 3])
def test_an_aspect_with_one_answer_that_another_aspect_offers_is_a_criterion(times, tmp_path):
    room = ["good", "bad"] * 3
    rows = [
        {"text": f"Stay {k}.", "id": k, "room": mood}
        | ({"price": "good"} if k < times else {})
        | {"annotator": 1, "annotation_id": k, "lead_time": 2}
        for k, mood in enumerate(room)
    ]
    path = tmp_path / "aspects.json"
    path.write_text(json.dumps(rows))
    converted = convert("labelstudio", [path])
    given = [r["label"] for r in converted.ratings if r["criterion"] == "price"]
    assert given == ["good"] * times
    assert {c.name: c.scale for c in converted.spec.criteria} == dict.fromkeys(
        ("room", "price"), "nominal:bad,good"
    )


@pytest.mark.parametrize("moods", [("good", "good"), ("good", "bad")])
def test_answers_in_csv_are_told_from_data_only_if_they_differ_within_a_task(moods, tmp_path):
    path = tmp_path / "same.csv"
    has_id = moods[0] == moods[1]
    header = f"annotator,annotation_id,{'id' if has_id else 'n'},created_at,lead_time,mood\n"
    path.write_text(header + "".join(f"ann,{mood},1,2024-05-01,2,{mood}\n" for mood in moods))
    with refused_file(("same.csv", None, "answers_unknown")):
        convert("labelstudio", [path])


def test_potatos_table_of_all_users_has_the_same_labels(tmp_path):
    path = tmp_path / "annotated_instances.tsv"
    header = "user\tinstance_id\tdisplayed_text\tmood:::positive\tmood:::neutral\n"
    path.write_text(header + "ann@x.org\ti1\tAn oak.\ttrue\t\nann@x.org\ti2\tA fir.\t\ttrue\n")
    assert recognised(path) == "potato"
    rows = convert("potato", [path]).ratings
    assert [(r["unit"], r["rater"], r["label"]) for r in rows] == [
        ("i1", "e1", "positive"),
        ("i2", "e1", "neutral"),
    ]


def test_appraises_documents_are_scored_apart_from_their_segments(tmp_path):
    path = tmp_path / "documents.tsv"
    row = "eng01\talder\t{}\tTGT\teng\tdeu\t{}\tdoc1\t{}\t1.0\t2.5\n"
    path.write_text(row.format(1, 70, "False") + row.format(2, 60, "True"))
    rows = convert("appraise", [path]).ratings
    assert [(r["unit"], r["criterion"], r["label"]) for r in rows] == [
        ("eng-deu/doc1/1/alder", "score", 70),
        ("eng-deu/doc1/alder", "document score", 60),
    ]


def test_text_of_a_translation_has_no_marks_of_errors():
    converted = convert("wmt", [MADE_UP / "wmt" / "mqm.tsv"])
    assert [generation.text for generation in converted.generations] == ["Ein Baum."] * 3


@pytest.mark.parametrize(
    ("reader", "name", "change", "place"),
    [
        ("wmt", "wmt/mqm.tsv", ("Major", "Critical"), (2, "unknown_value")),
        ("appraise", "appraise/scores.csv", ("TGT", "tgt"), (1, "other_layout")),
        ("mturk", "platforms/batch.csv", ("WorkerId", "Worker"), (2, "column_missing")),
        ("qualtrics", "qualtrics/responses.csv", ("ImportId", "Id"), (None, "other_layout")),
        ("prolific", "prolific/export.csv", ("", ""), (None, "no_ratings")),
        ("limesurvey", "limesurvey/results.csv", ("lastpage", "page"), (None, "other_layout")),
        ("googleforms", "googleforms/responses.csv", ("Timestamp", "When"), (None, "other_layout")),
    ],
)
def test_a_file_of_another_layout_is_refused(reader, name, change, place, tmp_path):
    path = tmp_path / name.rpartition("/")[2]
    text = (MADE_UP / name).read_text()
    path.write_text(text.replace(*change))
    with refused_file((path.name, *place)):
        convert(reader, [path])


@pytest.mark.parametrize("reader", sorted(FOLDERS))
def test_readers_know_their_own_files_only(reader):
    for path in FOLDERS[reader].iterdir():
        is_unknown = any(f"{reader}/{path.name}".startswith(name) for name in UNKNOWN)
        assert recognised(path) == ("" if is_unknown else reader), path.name


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_table_is_no_platforms_and_is_refused_by_their_readers(name, tmp_path):
    path = tmp_path / name
    path.write_text(PLAIN[name])
    assert recognised(path) == ""
    for reader in {*map(reader_of, READ), "prolific"}:
        with pytest.raises(FormatError):
            convert(reader, [path])


def test_a_file_that_two_readers_know_is_nobodys(tmp_path):
    path = tmp_path / "both.csv"
    path.write_text("WorkerId,HITId,Answer.x,annotator,annotation_id,lead_time\n1,2,3,4,5,6\n")
    assert recognised(path) == ""


def test_plain_tables_of_texts_are_no_platforms(tmp_path):
    names = {}
    for number, (name, case) in enumerate(CASES.items()):
        path = tmp_path / f"{number}.data"
        path.write_bytes(case.content)
        names[name] = recognised(path)
    assert {name: reader for name, reader in names.items() if reader} == {
        "battles.jsonl": "lmarena",
        "arena.csv": "lmarena",
        "alpaca_annotations.json": "alpacaeval",
    }


@pytest.mark.parametrize(
    ("choices", "labels"),
    [
        (["A", "Tie", "B"], [-1, 0, 1]),
        (["No", "No", "Yes"], ["No", "No", "Yes"]),
        (["Agree", "Neither agree nor disagree", "Disagree"], [4, 3, 2]),
    ],
)
def test_choices_are_votes_or_labels_but_no_label_becomes_a_tie(choices, labels, tmp_path):
    data = {"answer1": "An oak is a tree.", "answer2": "A fir is a tree."}
    path = tmp_path / "tasks.json"
    results = [{"from_name": "c", "type": "choices", "value": {"choices": [c]}} for c in choices]
    annotations = [{"completed_by": k, "result": [r]} for k, r in enumerate(results)]
    path.write_text(json.dumps([{"id": 1, "data": data, "annotations": annotations}]))
    assert [row["label"] for row in convert("labelstudio", [path]).ratings] == labels


def test_rounds_of_a_loop_are_items(tmp_path):
    path = tmp_path / "loop.csv"
    ids = [json.dumps({"ImportId": key}).replace('"', '""').replace(" ", "") for key in LOOP]
    path.write_text(
        f"{','.join(LOOP.values())}\nID,Good? - Text,Good? - Text\n"
        + ",".join(f'"{key}"' for key in ids)
        + "\nR_1,4,2\nR_2,5,1\n"
    )
    rows = convert("qualtrics", [path]).ratings
    assert [(r["unit"], r["criterion"], r["label"]) for r in rows] == [
        ("1: Text", "Q2", 4),
        ("1: Text", "Q2", 5),
        ("2: Text", "Q2", 2),
        ("2: Text", "Q2", 1),
    ]


def written(path, kind):
    text = BATCH.read_text()
    if kind == "xlsx":
        book = openpyxl.Workbook()
        for line in text.splitlines():
            book.active.append([int(c) if c.isdigit() else c or None for c in line.split(",")])
        book.save(path)
    elif kind == "gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text.replace(",", "\t" if kind == "utf-16" else ";"), encoding=kind)
    return path


@pytest.mark.parametrize("kind", ["utf-16", "cp1252", "gz", "xlsx"])
def test_any_usual_encoding_and_format_is_read_alike(kind, tmp_path):
    path = written(tmp_path / "batch.csv", kind)
    assert recognised(path) == "mturk"
    read = [(r["unit"], r["rater"], r["label"]) for r in convert("mturk", [path]).ratings]
    assert read == [(r["unit"], r["rater"], r["label"]) for r in convert("mturk", [BATCH]).ratings]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_only_the_beginning_of_a_file_is_looked_at(encoding, tmp_path):
    path = tmp_path / "batch.csv"
    header, *rows = BATCH.read_text().splitlines(keepends=True)
    path.write_text(header + "".join(rows) * 3000 + '"never closed', encoding=encoding)
    assert recognised(path) == "mturk"


@pytest.mark.parametrize(
    ("answers", "scale", "labels"),
    [
        (["1 - Strongly disagree", "5 - Strongly agree", "3"], "ordinal:1..5", [1, 5, 3]),
        (
            ["Agree", "strongly agree", "Disagree"],
            "ordinal:strongly disagree,Disagree,neutral,Agree,strongly agree",
            [4, 5, 2],
        ),
        (["high", "low", "medium"], "ordinal:low,medium,high", [3, 1, 2]),
        (["good", "bad", "good"], "nominal:bad,good", ["good", "bad", "good"]),
        (["1. yes", "1. no", "1. yes"], "nominal:1. no,1. yes", ["1. yes", "1. no", "1. yes"]),
        (["Yes, a bit", "No", "No"], "nominal:No,Yes; a bit", ["Yes; a bit", "No", "No"]),
        (["4", "NA", "2"], "ordinal:2..4", [4, None, 2]),
        (["It is short.", "It is long.", "It is dull."], "", [None] * 3),
        (["1700000000", "1700000001", "1800000000"], "", [None] * 3),
    ],
)
def test_words_are_points_where_their_order_is_unmistakable(answers, scale, labels):
    read = labels_of(answers, "quality")
    assert (read.scale, [read.labels.get(answer) for answer in answers]) == (scale, labels)


def respondents(path, header, cells, *, below=()):
    """Write three responses of a questionnaire, and return its labels by question and item."""
    rows = [
        header,
        *below,
        *([f"2024/01/0{r} 9:00:00 AM", *(c + r for c in cells)] for r in (1, 2, 3)),
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    found = convert(recognised(path), [path]).ratings
    return {
        (r["criterion"], r["unit"]): r["label"] for r in found if r["rater"] == found[0]["rater"]
    }


@pytest.mark.parametrize("thing", ["Summary {}", "How good is text {}"])
def test_a_grid_about_a_thing_has_its_criteria_as_lines(thing, tmp_path):
    things = [thing.format(k) for k in (1, 2)]
    both = [(line, name) for name in things for line in ("Fluency", "Style")]
    header = ["Timestamp", *(f"{name} [{line}]" for line, name in both)]
    labels = respondents(tmp_path / "f.csv", header, [0, 1, 2, 3])
    assert labels == dict(zip(both, [1, 2, 3, 4], strict=True))
    header = ["Timestamp", *(f"{line} [{name}]" for line, name in both)]
    assert respondents(tmp_path / "g.csv", header, [0, 1, 2, 3]) == labels


def test_sliders_with_the_same_words_are_one_question_about_their_lines(tmp_path):
    header = ["ResponseId", "Q1_1", "Q2_1", "Q3_1"]
    words = ["Response ID", *(f"How good? - {t}" for t in ("An oak.", "A fir.", "A pine."))]
    ids = ['{"ImportId":"_recordId"}', *(f'{{"ImportId":"QID{k}_1"}}' for k in (1, 2, 3))]
    labels = respondents(tmp_path / "q.csv", header, [0, 2, 1], below=[words, ids])
    found = {unit: label for (_, unit), label in labels.items()}
    assert {criterion for criterion, _ in labels} == {"How good?"}
    assert found == {"An oak.": 1, "A fir.": 3, "A pine.": 2}


def test_the_command_first_says_what_was_read(tmp_path, capsys):
    call_command("convert", "mturk", str(BATCH), "--out", str(tmp_path / "r.jsonl"))
    said = capsys.readouterr().out
    assert said.index("7 assignments, 1 of them rejected") < said.index("Wrote")
    call_command("convert", "mturk", str(BATCH), "--out", str(tmp_path / "s.jsonl"), "--json")
    assert json.loads(capsys.readouterr().out)["about"] in said
    assert {*map(reader_of, READ)} < {*READERS}

"""Synthetic items: how they are made, sifted and put together, and how judges are tested on them."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import HITUnit, Rating
from jobs.models import Job
from machine_raters.judging.services import check_judge
from machine_raters.models import (
    Judge,
    SyntheticItem,
    SyntheticSet,
    SyntheticText,
    SyntheticVerdict,
)
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from machine_raters.synthetic.accuracy import CAUTION, accuracies
from machine_raters.synthetic.making_job import ranks_of
from machine_raters.synthetic.summaries import DroppedTexts, dropped_texts, synthetic_sets_of
from metrics.exports.document.synthetic import synthetic_sections
from recruitment.services.cloning import clone_study
from studies.models import Generation, Instance, Unit
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.sections import section_on
from tests.machine_raters.synthetic.rag import PASSAGES, make_rag_study
from tests.pages import codes_on, page_of
from tests.refusals import refused
from tests.studies.factories import make_open_study
from tiebreak.asking.prompts import INSTRUCTIONS
from tiebreak.gateway import Failed, GatewayError, Sample, Sampled

pytestmark = pytest.mark.django_db
__all__ = ["model"]
SETTINGS = {"name": "made up", "server": "here", "language_model": "writer"}
SHOWN = re.compile(r"^\[(\w+) \w{12}\]\n(.*?)\n\[end \w{12}\]$", re.M | re.S)


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_rag_study(owner=user)


def shown(request) -> dict[str, str]:
    return dict(SHOWN.findall(request.prompt[-1].content))


def writes(request) -> str:
    """A model that does what it is asked for, in a few words."""
    task, texts = request.prompt[0].content, shown(request)
    words = texts["passage"].split()
    if task.startswith("Write one question"):
        return f"Is it told that {' '.join(words[:6])}?"
    if "contradicts" in task:
        return f"It is false that {texts['passage']}"
    if "do not answer" in task:
        return f"By the way, {' '.join(words[-3:])}"
    return texts["passage"]


def make(study, model, reply=writes, **settings) -> SyntheticSet:
    model(reply)
    create_machine_rater(kind="synthetic-set", study=study, **SETTINGS | settings)
    return synthetic_sets_of(study).get()


def judge_of(study, criterion: str) -> Judge:
    return create_machine_rater(
        kind="judge",
        study=study,
        criteria=[study.criteria.get(name=criterion)],
        name=criterion,
        server="here",
        language_model="tiny",
        instructions=INSTRUCTIONS,
    )


def test_each_question_has_a_positive_and_four_negatives(study, model):
    made = make(study, model)
    assert (made.questions, made.kept, made.n_items) == (4, 4, 20)
    kinds = {item.kind: item.labels for item in made.items.all()}
    yes, no = "yes", "no"
    assert kinds == {
        "positive": {"context relevance": yes, "faithfulness": yes, "answer relevance": yes},
        "other-passage": {"context relevance": no},
        "other-answer": {"faithfulness": no, "answer relevance": no},
        "contradiction": {"faithfulness": no},
        "evasion": {"answer relevance": no},
    }
    for item in made.items.select_related("question", "answer"):
        source = item.question.instance_id
        assert (item.passage_id == source) == (item.kind != "other-passage")
        assert (item.answer.instance_id == source) == (item.kind != "other-answer")
        assert item.answer.kind == {"contradiction": "contradiction", "evasion": "evasion"}.get(
            item.kind, "answer"
        )


def test_nothing_of_it_is_an_item_of_the_study(study, model):
    """People are served units of HITs only, so what is neither cannot be shown to them."""
    tables = (Unit, HITUnit, Instance, Generation, Rating)
    before = [table.objects.count() for table in tables]
    made = make(study, model)
    judge = judge_of(study, "faithfulness")
    model(lambda request: "yes")
    check_judge(judge=judge, made=made)
    assert SyntheticVerdict.objects.count() == 12
    assert [table.objects.count() for table in tables] == before


def test_each_text_is_kept_with_how_it_was_made(study, model):
    models = model(writes)
    make_asked = models.asked
    create_machine_rater(kind="synthetic-set", study=study, **SETTINGS)
    texts = list(SyntheticText.objects.all())
    assert {text.seed for text in texts} == {request.seed for request in make_asked}
    assert len({text.prompt_sha256 for text in texts}) == len(texts) == 16
    assert {text.language_model for text in texts} == {"tiny-1"}
    for text in texts:
        is_question = text.kind == "question"
        assert (text.question is None) == is_question
        assert is_question or text.question.instance_id == text.instance_id


def test_questions_of_the_study_are_the_examples(study, model):
    models = model(writes)
    create_machine_rater(kind="synthetic-set", study=study, **SETTINGS, examples=2)
    asked = [r for r in models.asked if r.id.startswith("question")]
    for request in asked:
        shots = [turn.content for turn in request.prompt if turn.role == "assistant"]
        assert len(shots) == 2
        assert all(re.fullmatch(r"What does text \d tell\?", shot) for shot in shots)
        number = PASSAGES.index(shown(request)["passage"])
        assert f"What does text {number} tell?" not in shots
    others = [r for r in models.asked if not r.id.startswith("question")]
    assert {len(request.prompt) for request in others} == {2}


def test_a_question_that_brings_back_another_passage_is_dropped(study, model):
    def strays(request):
        if request.id.startswith("question") and "Bees" in shown(request)["passage"]:
            return "When did the harbour freeze and ferries stop for nine days?"
        return writes(request)

    made = make(study, model, strays)
    assert (made.questions, made.kept, made.n_items) == (4, 3, 15)
    stray = made.texts.get(dropped="not-retrieved")
    assert (stray.rank > 1, stray.replies.count()) == (True, 0)
    assert dropped_texts(study) == {
        made.pk: [DroppedTexts("question", "its own passage was not retrieved first", 1)]
    }
    job = Job.objects.get(kind="synthetic")
    assert (job.status, job.done, job.total) == ("done", 13, 13)


def test_equally_similar_passages_do_not_count_as_retrieved():
    passages = ["a red fox", "a red fox", "the sea"]
    assert ranks_of(["red fox", "sea"], [0, 2], passages, retriever="rouge1") == [2, 1]


def test_texts_of_no_use_are_kept_with_the_reason(study, model):
    def careless(request):
        if request.id.startswith("contradiction"):
            return shown(request)["passage"]
        if request.id.startswith("evasion"):
            text = (Sample("So", "length", request.seed, 1),)
            return Sampled(request.id, text, "tiny-1")
        if request.id.startswith("question") and "Bees" in shown(request)["passage"]:
            return "what does text 3 tell?"
        if request.id.startswith("question") and "Basalt" in shown(request)["passage"]:
            return " "
        return writes(request)

    made = make(study, model, careless)
    reasons = {(one.kind, one.number) for one in dropped_texts(study)[made.pk]}
    assert reasons == {("question", 1), ("contradiction", 2), ("evasion", 2)}
    assert set(made.texts.values_list("dropped", flat=True)) == {
        *("", "copied", "empty", "same", "cut-off")
    }
    assert set(made.items.values_list("kind", flat=True)) == {
        *("positive", "other-passage", "other-answer")
    }


def test_an_equal_answer_to_another_question_is_no_negative(study, model):
    made = make(study, model, lambda r: "Yes." if r.id.startswith("answer") else writes(r))
    assert set(made.items.values_list("kind", flat=True)) == {
        *("positive", "other-passage", "contradiction", "evasion")
    }


def test_what_is_stored_is_never_asked_again_and_what_failed_is(study, model):
    error = GatewayError("too_slow", "The server was too slow.")
    made = make(
        study,
        model,
        lambda r: Failed(r.id, error) if r.id.startswith("evasion") else writes(r),
    )
    assert (made.texts.count(), made.n_items) == (12, 16)
    models = model(writes)
    start_machine_rater(machine=made)
    assert {request.id.split(":")[0] for request in models.asked} == {"evasion"}
    assert (made.texts.count(), made.items.count()) == (16, 20)
    models.asked.clear()
    start_machine_rater(machine=made)
    assert models.asked == []


def test_a_judge_of_known_faults_is_found_out(study, model):
    """It believes contradictions, cannot read one answer, and is right about the rest."""
    made = make(study, model)
    judge = judge_of(study, "faithfulness")

    def believes(request):
        texts = shown(request)
        passage = texts["source"].split("Passage: ")[1]
        if "Bees" in texts["text"] and "Bees" in passage:
            return "Perhaps."
        return "yes" if passage.strip() in texts["text"] else "no"

    models = model(believes)
    check_judge(judge=judge, made=made)
    assert len(models.asked) == 12
    (tested,) = accuracies(study)
    values = {kind.split(":")[0]: share.value for kind, share in tested.by_kind[:2]}
    assert values == {"positive": 0.75, "weak negative": 1.0}
    assert tested.by_kind[2][1].value == 0
    assert (tested.items, tested.unreadable) == (12, 2)
    assert tested.overall.value == pytest.approx(7 / 12)
    assert not tested.overall.has_interval
    models.asked.clear()
    check_judge(judge=judge, made=made)
    assert models.asked == []


@pytest.fixture
def pairs(study):
    return make_rag_study(owner=User.objects.get(username="ada"), protocol="rag-pairs")


def make_pairs(pairs, model) -> SyntheticSet:
    model(writes)
    create_machine_rater(kind="synthetic-set", study=pairs, **SETTINGS)
    return synthetic_sets_of(pairs).get()


def test_a_study_of_pairs_has_comparisons_with_the_correct_answer(pairs, model):
    made = make_pairs(pairs, model)
    kinds = {item.kind: item.labels for item in made.items.all()}
    assert kinds == {
        "beside-other": {"faithfulness": "A", "answer relevance": "A"},
        "beside-contradiction": {"faithfulness": "A"},
        "beside-evasion": {"answer relevance": "A"},
    }
    assert made.n_items == 12
    for item in made.items.select_related("question", "answer", "other_answer"):
        assert item.passage_id == item.question.instance_id == item.answer.instance_id
        assert item.answer.kind == "answer"
        assert (
            item.other_answer.kind
            == {
                "beside-other": "answer",
                "beside-contradiction": "contradiction",
                "beside-evasion": "evasion",
            }[item.kind]
        )
        is_of_other = item.kind == "beside-other"
        assert (item.other_answer.instance_id != item.passage_id) == is_of_other


def test_of_comparisons_both_orders_are_asked_and_the_correct_answer_is_right(pairs, model):
    """The judge finds the answer in the passage, but believes contradictions that come first."""
    made, judge = make_pairs(pairs, model), judge_of(pairs, "faithfulness")

    def answers(request):
        texts = shown(request)
        if texts["A"].startswith("It is false"):
            return "A is better"
        return "A is better" if texts["A"] in texts["source"] else "B is better"

    models = model(answers)
    check_judge(judge=judge, made=made)
    assert len(models.asked) == 16
    assert set(SyntheticVerdict.objects.values_list("order", flat=True)) == {"ab", "ba"}
    (tested,) = accuracies(pairs)
    values = {kind.split(":")[0]: share.value for kind, share in tested.by_kind}
    assert values == {"weak comparison": 1, "strong comparison": 0.5}
    assert tested.overall.value == 0.75
    # Of the 16 answers, 4 and 8 are for the text shown first.
    assert tested.first_shown.value == pytest.approx((4 + 8) / 16)
    models.asked.clear()
    check_judge(judge=judge, made=made)
    assert models.asked == []


def test_a_tie_between_two_answers_is_wrong_and_shows_no_preference_for_a_position(pairs, model):
    made, judge = make_pairs(pairs, model), judge_of(pairs, "answer relevance")
    model(lambda request: "No preference")
    check_judge(judge=judge, made=made)
    (tested,) = accuracies(pairs)
    assert (tested.overall.value, tested.unreadable) == (0, 0)
    assert tested.first_shown.value == 0.5


def test_that_both_answers_are_bad_is_wrong_and_says_nothing_of_the_position(pairs, model):
    pairs.criteria.update(scale="preference:tie+bad")
    made, judge = make_pairs(pairs, model), judge_of(pairs, "faithfulness")
    model(lambda request: "Both are bad")
    check_judge(judge=judge, made=made)
    (tested,) = accuracies(pairs)
    assert (tested.overall.value, tested.unreadable, tested.first_shown) == (0, 0, None)


def test_two_answers_about_one_comparison_are_not_two_questions(model):
    """A judge that always prefers the first text is right once of two times, for every question."""
    passages = tuple(f"word{n} thing{n} place{n} colour{n} sound{n} shape{n}." for n in range(12))
    study = make_rag_study(passages=passages, protocol="rag-pairs")
    made, judge = make_pairs(study, model), judge_of(study, "faithfulness")
    model(lambda request: "A")
    check_judge(judge=judge, made=made)
    (tested,) = accuracies(study)
    for _, share in tested.by_kind:
        assert (share.value, share.n) == (0.5, 24)
        assert not share.method.startswith("Wilson")


def test_a_comparison_says_nothing_of_context_relevance(pairs, model):
    pairs.criteria.exclude(name="faithfulness").delete()
    pairs.criteria.update(name="context relevance")
    with refused("no_synthetic_criteria"):
        create_machine_rater(kind="synthetic-set", study=pairs, **SETTINGS)


def test_the_page_and_the_interface_show_both_answers(client, pairs, model):
    made, judge = make_pairs(pairs, model), judge_of(pairs, "faithfulness")
    model(lambda request: "A is better")
    check_judge(judge=judge, made=made)
    page = client.get(reverse("machine_raters:synthetic", args=[pairs.pk]))
    (row,) = section_on(page, "synthetic-set")["rows"]
    assert {item.other_answer is None for item in row["examples"]} == {False}
    address = reverse("api:machine-rater-list", args=[pairs.pk])
    (row,) = client.get(address, {"kind": "synthetic-set"}).json()
    (of_judge,) = row["judges"]
    assert of_judge["first_shown"]["value"] == 1
    assert of_judge["shares"][0]["value"] == 0.5


def test_with_many_questions_there_are_intervals(model):
    passages = tuple(f"word{n} thing{n} place{n} colour{n} sound{n} shape{n}." for n in range(12))
    study = make_rag_study(passages=passages)
    made = make(study, model)
    judge = judge_of(study, "context relevance")
    model(lambda request: "yes")
    check_judge(judge=judge, made=made)
    (tested,) = accuracies(study)
    assert tested.overall.value == 0.5
    by_kind = dict(tested.by_kind)
    share = by_kind["positive: its own passage, and an answer from it"]
    # Wilson's interval for 12 of 12.
    assert (share.value, share.high) == (1, 1)
    assert share.low == pytest.approx(12 / (12 + 1.959964**2), abs=1e-6)


def test_refusals(study, model):
    make(study, model)
    with refused("name_taken"):
        create_machine_rater(kind="synthetic-set", study=study, **SETTINGS)
    with refused("no_synthetic_criteria"):
        create_machine_rater(kind="synthetic-set", study=make_open_study(), **SETTINGS)
    with refused("no_model"):
        create_machine_rater(
            kind="synthetic-set", study=study, **SETTINGS | {"name": "other", "language_model": ""}
        )
    alone = SyntheticSet.objects.create(study=study, **SETTINGS | {"name": "empty"})
    with refused("no_synthetic_items"):
        check_judge(judge=judge_of(study, "faithfulness"), made=alone)
    Instance.objects.filter(dataset=study.dataset).update(messages=[], source="All the same.")
    with refused("few_passages"):
        create_machine_rater(kind="synthetic-set", study=study, **SETTINGS | {"name": "another"})
    assert SyntheticItem.objects.exists()


@pytest.mark.parametrize("has_interval", [True, False])
def test_unreadable_answers_follow_the_share_without_a_gap(has_interval):
    share = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 34, "has_interval": has_interval}
    shown = render_to_string(
        "machine_raters/synthetic_share.html", {"share": share, "unreadable": 2}
    )
    assert re.search(r"34 \w+; 2 \w+", shown)
    assert ";" not in render_to_string("machine_raters/synthetic_share.html", {"share": share})


def test_examples_need_questions_of_the_study(client, study, model):
    model(writes)
    for instance in study.dataset.instances.all():
        instance.source = instance.messages[1]["content"]
        instance.messages = []
        instance.save()
    with refused("no_example_questions"):
        create_machine_rater(kind="synthetic-set", study=study, **SETTINGS)
    assert not SyntheticSet.objects.exists()
    create_machine_rater(kind="synthetic-set", study=study, **SETTINGS, examples=0)
    assert SyntheticText.objects.filter(kind="question").exists()


def test_the_page_makes_and_tests_by_clicks(client, study, model):
    model(writes)
    address = reverse("machine_raters:synthetic", args=[study.pk])
    entered = SETTINGS | {
        **{"passages": 10, "examples": 1, "retriever": "rouge1"},
        **{"temperature": 0, "max_tokens": 64, "seed": 0},
    }
    page = client.post(address, entered, follow=True)
    assert page_of(page) == "machine_raters"
    assert client.post(address, entered).status_code == 400
    made, judge = SyntheticSet.objects.get(), judge_of(study, "faithfulness")
    model(lambda request: "no")
    check = reverse(
        "machine_raters:check-synthetic", args=[study.pk, made.public_id, judge.public_id]
    )
    page = client.post(check, follow=True)
    (row,) = section_on(page, "synthetic-set")["rows"]
    assert [one.overall.value for one in row["machine"].judges] == [pytest.approx(8 / 12)]
    assert row["caution"] == CAUTION
    for wrong in (made.public_id, judge.public_id):
        where = [study.pk, wrong, wrong]
        page = client.post(reverse("machine_raters:check-synthetic", args=where), follow=True)
        assert codes_on(page) == {"no_such_machine_rater"}


def test_the_page_takes_few_statements(client, study, model, django_assert_max_num_queries):
    for number in range(3):
        model(writes)
        made = create_machine_rater(
            kind="synthetic-set", study=study, **SETTINGS | {"name": f"set {number}"}
        )
        model(lambda request: "yes")
        for criterion in study.criteria.all():
            if not number:
                judge_of(study, criterion.name)
        for judge in Judge.objects.filter(study=study):
            check_judge(judge=judge, made=made)
    with django_assert_max_num_queries(14):
        page = client.get(reverse("machine_raters:synthetic", args=[study.pk]))
    assert [len(row["machine"].judges) for row in section_on(page, "synthetic-set")["rows"]] == [
        3,
        3,
        3,
    ]
    assert [len(row["examples"]) for row in section_on(page, "synthetic-set")["rows"]] == [
        10,
        10,
        10,
    ]


def test_a_program_reads_how_judges_did(client, study, model):
    made, judge = make(study, model), judge_of(study, "faithfulness")
    model(lambda request: "no")
    check_judge(judge=judge, made=made)
    where = [study.pk, made.public_id]
    row = client.get(reverse("api:machine-rater-detail", args=where)).json()
    assert (row["kept"], row["items"], row["dropped"]) == (4, 20, [])
    (of_judge,) = row["judges"]
    assert (of_judge["criterion"], of_judge["unreadable"]) == ("faithfulness", 0)
    shares = {share["kind"]: (share["items"], share["value"]) for share in of_judge["shares"]}
    assert shares[""] == (12, pytest.approx(8 / 12))
    assert shares["strong negative: an answer that contradicts the passage"] == (4, 1)


def test_an_export_has_them_in_files_of_their_own(study, model, tmp_path):
    export_study(study=study, out=tmp_path / "before")
    assert not list((tmp_path / "before").glob("synthetic*"))
    made = make(study, model)
    model(lambda request: "no")
    check_judge(judge=judge_of(study, "faithfulness"), made=made)
    export_study(study=study, out=tmp_path / "after")
    texts, items = (
        [json.loads(line) for line in (tmp_path / "after" / name).read_text().splitlines()]
        for name in ("synthetic_texts.jsonl", "synthetic_items.jsonl")
    )
    assert (len(texts), len(items)) == (16, 20)
    assert all(row["is_synthetic"] for row in (*texts, *items))
    by_id = {row["text_id"]: row for row in texts}
    for row in items:
        question, answer = by_id[row["question_id"]], by_id[row["answer_id"]]
        assert (question["kind"], len(question["prompt_sha256"])) == ("question", 64)
        assert (answer["question_id"] == row["question_id"]) == (row["kind"] != "other-answer")
    assert sum(len(row["verdicts"]) for row in items) == 12
    assert "server" not in texts[0]["settings"]
    others = [p for p in (tmp_path / "after").iterdir() if not p.name.startswith("synthetic")]
    assert not any("It is false that" in path.read_text() for path in others)
    imported = import_study(path=tmp_path / "after")
    for name in ("synthetic_texts.jsonl", "synthetic_items.jsonl"):
        assert name in str(imported.not_stored)


def test_the_report_has_a_section_of_its_own_that_says_synthetic(study, model):
    assert synthetic_sections(study) == []
    made = make(study, model)
    assert synthetic_sections(study) == []
    model(lambda request: "no")
    check_judge(judge=judge_of(study, "faithfulness"), made=made)
    (section,) = synthetic_sections(study)
    caution, about, table = section.blocks
    assert CAUTION in caution.text
    assert "4 questions" in about.text
    assert "(synthetic)" in table.caption
    assert table.rows[0][0] == "all items"
    assert len(table.rows) == 4


def test_a_clone_says_that_the_sets_stay_behind(study, model):
    make(study, model)
    clone = clone_study(study=study)
    assert "1 synthetic set" in clone.not_copied
    assert not clone.study.machine_raters.exists()

"""Ratings of other people in any layout: read right, asked for, or refused in words."""

import json

import krippendorff
import numpy as np
import pytest

from tests.paths import ROOT
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.layouts import Choice, read_existing
from tiebreak.report import build_report

FOLDER = ROOT / "tests" / "tiebreak" / "formats" / "layouts_of_others"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
# Layouts without a rater, in which columns that no name explains are asked about, or labels chosen.
BY_NOBODY = {"122_output_rows_pair_choice.csv"}
# Layouts that a person reads, and of which this reader asks. None is misread.
ASKED = {
    "19_one_rater_named_in_the_header.tsv",
    "37_reviews_inside_systems.jsonl",
    # First names in another language, or at the end of a title, could be criteria.
    "53_three_names_and_a_conclusion_korean.csv",
    "58_an_annotator_in_the_end_of_each_title_french.csv",
    # Two columns "doc1" and "doc2" may be doctors or documents, and six questions items or criteria.
    "54_two_columns_and_nothing_else.csv",
    "62_participants_in_rows_german.csv",
    # What names the item and what is a criterion has no name that says so.
    "68_two_raters_and_prototypes.csv",
    "72_news_and_summary_name_the_item_spanish.csv",
    # Three columns of numbers without titles may be raters or criteria.
    "115_image_caption_and_three_experts.txt",
    # Nobody is named beside the labels, so it may have been one rater or many.
    "121_hindi_mt_rater_in_title.csv",
    *BY_NOBODY,
    "170_eight_scores_of_four_answers.jsonl",
    # Blanks between cells, and no titles.
    "173_OpenAiGPT-gpt-4o-umbrella_zeroshot_basic.qrels.txt",
    # What is inside lists, in other lists, or two labels of one rater.
    "124_summary_reviews_nested.jsonl",
    "133_hate_two_rounds.csv",
    "145_judge_pairs_both_orders.csv",
    "147_analogy_judge_scores.jsonl",
    # Nobody is named, or only by the name of the file, and not all labels have names that say so.
    "184_graded_by_model_long.csv",
    "185_judge_five_scores_and_formulas.csv",
    "193_one_person_five_criteria.json",
    "198_Coherence.csv",
    "208_turk_style_without_worker.csv",
    "247_item_by_model_single_coder.csv",
    "209_annotator1.csv",
    "210_names_and_gpt_coded_labels.csv",
    # Several labels in a cell, or in a list, that name nobody, and ranks of several systems.
    "191_ranks_of_systems_in_json_cell.csv",
    "189_ratings_listed_in_a_cell.csv",
    "194_labels_of_unnamed_raters_with_bars.csv",
    # Names of columns that are only numbers of questions, or pairs of systems, in rows of participants.
    "186_participants_by_article_two_sets.csv",
    "181_korean_tabs_m1_to_m5.csv",
    "187_workers_by_comparison_matrix.csv",
    # Columns that are called alike, of which only some have names that say labels.
    "222_features_and_score.csv",
    # A name that no text has twice, so that it may be that of what is rated.
    "218_picture_four_scores.csv",
    # Labels with reasons, by a person or a model.
    "237_wins_then_detailed.json",
    # Nobody is named, and names do not say of all columns whether they have labels, or a number may be a mean.
    "240_story_pairs_by_name.csv",
    "211_slider_minus_to_plus.jsonl",
    "213_label_and_confidence.csv",
    "220_rating_and_prediction.csv",
    "228_model_task_item.csv",
    # Labels in an object by item, beside each of ten papers, of two orders, in a cell, or of three samples.
    "212_best_model_by_prompt.json",
    "221_paper_and_expertise_columns.csv",
    "225_judges_both_orders.csv",
    "231_answers_in_one_cell.tsv",
    "238_three_samples_nested.json",
    # Nobody is named, or only by the file, and columns beside labels may have labels, too.
    "273_annotator_1.csv",
    "274_human_label_beside_top1.csv",
    "275_human_annotations.csv",
    "278_nine_scores_flag_overall_rank.csv",
    "280_winner_and_scores_a_b_hidden_labels.jsonl",
    "283_object_count_and_human.csv",
    "285_category_sentiment_urgency_review.csv",
    "286_pairs_repeat_sources_winner_model.csv",
    "297_site_criterion_winner_with_sums.csv",
    "299_worker-1.json",
    # Answers in a worker's own words, sessions or ids that may be raters, and a title over two columns.
    "277_mturk_batch_emotion.csv",
    "287_chosen_not_chosen_by_session.csv",
    "293_rater1.csv",
    "298_id_is_the_annotator_two_labels.csv",
    # Nobody is named, or only by the name of the file, and rows repeat the item or other columns may have labels.
    "301_qid_pid_annotation.csv",
    "302_llm_label_and_gold_label.csv",
    "304_A1-average-likert-scores.csv",
    "316_manual_evaluation_original_and_fine-tuned.csv",
    "317_crowd_a_b_good_bad.csv",
    "319_llm_polaridade_e_marcadores.csv",
    # One label in all rows of some criteria.
    "325_human_annotations_nested.json",
    # Questions by number only, which nobody is named for.
    "344_codebook_questions_skipped.csv",
    # One label of twenty and ids in words that say neither, or labels beside flags of the same rows.
    "379_sheet_with_one_label.csv",
    "387_label_and_what_the_model_said.jsonl",
    "388_criticality_comments_and_flags.csv",
    # First names as titles, probabilities as columns, labels in numbered objects, a label for each criterion in a row
    # of its own, criteria and the same of a model, and a list of rows inside what is said of each of several groups.
    "57_title_line_above_grades_in_letters.csv",
    "152_summaries_scores_nested.json",
    "341_label_with_probabilities.jsonl",
    "369_message_activity_label.csv",
    "372_four_scores_and_the_same_four_by_gemini.csv",
    "373_judge_with_means_and_rows_by_model.json",
    # No titles, or lines that are divided otherwise than the titles, and scores in texts inside lists.
    "390_score_id_source_translation_no_titles.csv",
    "392_twelve_titles_by_tab_values_by_blank_and_tab.csv",
    "393_ten_scores_inside_strings_of_calls.json",
    "404_relevance_pairs_all_one_no_titles.tsv",
    "406_twenty_samples_some_say_score.json",
    # Who "me", "other" and "pred" are, or three codings of one person; who chose, where all prefer what is called chosen.
    "396_me_other_average_and_the_models_grade.json",
    "399_three_codings_and_a_final_of_three_questions.csv",
    "397_prompt_chosen_rejected_chinese.json",
    "419_three_pairs_chosen_rejected.json",
    # Nobody is named, and other columns may have labels, or a rule, a tool or a model gave them.
    "398_coder1_pivot_perish_persist.csv",
    "400_is_target_by_rule_or_model_japanese.jsonl",
    "409_reviews_with_stars_and_a_manual_label.csv",
    "412_ragas_scores_with_contexts_in_lists.csv",
    "417_question_same_answer_model_eval.csv",
    # One question with several answers, and questions on several scales.
    "414_yes_no_feedback_by_mail_address_hindi.csv",
    "418_conditions_by_questions_and_ten_people.csv",
    # Voters in lines with places in words.
    "348_ranked_choices_voters_in_lines.csv",
}
# Layouts that are read by a convention, of which the reader says what it did.
BY_CONVENTION = {
    "13_an_error_in_each_row.tsv": "the weights (major 5, minor 1",
    "76_posts_coders_and_five_variables.csv": "Columns that are left out: n_pictures.",
    "38_two_models_judge_the_same_pair.csv": "Read as machine raters: anthropic",
    "306_languages_in_rows_five_criteria.csv": "Read as item: language",
    # Four coarser levels of one judgement are criteria of their own.
    "323_readability_levels_annotator_iaa.csv": "Readability_Level_7, Readability_Level_5",
    # Numbers on one scale side by side, which may be two scorers or two answers.
    "364_two_scores_and_a_winner.csv": "columns of raters: scores1, scores2",
    # What has no grade yet is a word as the grades are.
    "401_quality_grades_by_user_some_pending.json": "Counted as a label: Pending.",
    # A question that a form asks of no line of its grid is one about the whole.
    "329_form_ranks_in_nine_titles.csv": "9 questions below",
}


def counted_as(existing, expected):
    """Return the ratings that count, of one kind if one is expected, if they are as many as that, and else None."""
    table = existing.table
    kinds = {expected["kind"]} if "kind" in expected else {"human", "machine"}
    counted = table.select(table.is_counted & np.isin(table["kind"], [*kinds]))
    units, raters = (len(counted.coded(name).used) for name in ("unit", "rater"))
    sizes = {"ratings": len(counted) - existing.marked, "items": units, "raters": raters}
    n = len(table.coded("criterion").used)
    is_expected = expected.items() >= sizes.items() and n == len(expected.get("criteria", "1"))
    return counted if is_expected else None


def alpha_of(table, criterion, level):
    """Return Krippendorff's α of machines' labels, by the package of that name."""
    rows = [k for k, name in enumerate(table["criterion"]) if name.endswith(criterion)]
    raters, units = (list(dict.fromkeys(table[name][rows])) for name in ("rater", "unit"))
    labels = table.coded("label").in_order
    values = np.full((len(raters), len(units)), np.nan)
    for k in rows:
        place = raters.index(table["rater"][k]), units.index(table["unit"][k])
        label = table["label"][k]
        values[place] = labels.index(label) if level == "nominal" else float(label)
    return krippendorff.alpha(reliability_data=values, level_of_measurement=level)


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: entry["file"].partition("_")[0])
def test_a_layout_of_others_is_read_right_or_asked_for(entry):
    path, expected = FOLDER / entry["file"], entry["expect"]
    if path.name in BY_CONVENTION:
        existing = read_existing(path)
        assert BY_CONVENTION[path.name] in " ".join([existing.about, *existing.notes])
        return
    if path.name in ASKED or not expected.keys() & {"ratings"}:
        with pytest.raises((DomainError, InvalidInput)) as refusal:
            read_existing(path)
        assert str(refusal.value)
        return
    existing = read_existing(path)
    table = existing.table
    (expected, counted), *_ = [
        (one, counted)
        for one in (expected, *entry.get("also", ()))
        if (counted := counted_as(existing, one)) is not None
    ] or pytest.fail(f"{existing.sentence} {existing.notes}")
    criteria = expected.get("criteria", ["preference"])
    assert existing.missing + existing.marked == expected.get(
        "missing", existing.missing + existing.marked
    )
    named = sorted(table.coded("criterion").in_order)
    # A platform names its only question, where a plain table has just a rating.
    plain = sorted(name.removeprefix("scores.") for name in named)
    assert plain == sorted(criteria) or len(named) == len(criteria) == 1
    names = {c: a for c, a in expected.get("alpha", {}).items() if a["level"] == "nominal"}
    nominal = {c: f"nominal:{','.join(expected['labels'])}" for c in names if "labels" in expected}
    scales = {c: s for c, s in nominal.items() if not existing.scales} | expected.get("scale", {})
    if "kind" in expected:
        values = {c: alpha_of(counted, c, a["level"]) for c, a in expected.get("alpha", {}).items()}
        assert values == {c: pytest.approx(expected["alpha"][c]["value"], abs=2e-6) for c in values}
        return
    report = build_report(table, scales=dict(existing.scales) | scales, replicates=0, core=True)
    for criterion, alpha in expected.get("alpha", {}).items():
        section = report.criteria[criterion if criterion in named else named[0]]
        value = section.strata[0].human_human.krippendorff_alpha.value
        assert value == pytest.approx(alpha["value"], abs=2e-6)


@pytest.mark.parametrize("name", sorted(BY_NOBODY))
def test_what_one_person_rated_is_read_if_someone_says_so(name):
    (expected,) = (entry["expect"] for entry in EXPECTED if entry["file"] == name)
    columns = {f"rater:me:{criterion}": criterion for criterion in expected["criteria"]}
    table = read_existing(FOLDER / name, choice=Choice(columns=columns)).table
    sizes = [len(table), *(len(table.coded(name).used) for name in ("unit", "rater"))]
    assert sizes == [expected["ratings"], expected["items"], 1]
    assert {*table["criterion"]} == {*expected["criteria"]}


def test_the_output_of_a_model_is_no_systems_name():
    path = FOLDER / "121_hindi_mt_rater_in_title.csv"
    chosen = Choice(columns={"rater:Anirban": "rating_out_of_5(Anirban)"})
    assert "system_a" not in read_existing(path, choice=chosen).columns

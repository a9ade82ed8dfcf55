"""Every sentence of a finding is stated in one situation and must not be stated in another."""

import pytest

from metrics.messages import LEFT_OUT
from tests.metrics.findings.case import Case
from tests.metrics.findings.cases import CASES
from tests.metrics.findings.sentences import (
    HOLE,
    MODULES,
    NOT_OF_RATINGS,
    PASS_ON,
    Sentence,
    modules_with_findings,
    sentences,
)

# What names a part of a page, is grammar, or says why there is no number: no finding in itself.
NO_FINDINGS = {
    *("{} different labels", "separability {}, all alike", "separability {} to {}"),
    *("Consistency by separability", "Rating sets", "Win rates", "Ratings still needed"),
    *("Krippendorff's α among annotators", "mean over annotators' rating sets", " and {} more"),
    "Krippendorff's α of {} with the majority label{}",
    *("No machine rater has rated these items yet.", "There is no interval.", "unknown", "human"),
    "The stored report was computed before this test was added. The next report will contain it.",
    "The stored report was computed before these coefficients were added. The next report will contain"
    " them.",
    *("not in sight", "{}, consistency 0", "{}, consistency 1", "{}: order", "yes"),
    *("First by Bradley–Terry strength", "First by win rate", "{}: interval excludes ½"),
    *(", and {} more kinds", "this or fewer", "all items", "{} more pairs are in the CSV file."),
    " The chart shows the {} with the largest change.",
    " The chart shows the {} with the least agreement.",
    " The chart shows the {} with the lowest value.",
    " The chart shows the {} with the highest win rates.",
    *("The chart shows the first {}; the table has all.", "now {} with {}"),
    "{} instances with {} ratings",
    "{} categories with fewer items are left out.",
    "The chart ends before the last groups; the table has all.",
    "Pairs with fewer items, which are left out: {}.",
    *("Labels of {} that are those of annotators", "binned Jensen–Shannon distance"),
    *("α with the majority label", "α with one annotator"),
    "Means need labels with an order, and the ratings of a machine rater.",
    "Annotators in the model of Dawid and Skene",
    "Answers are not compared label by label on a scale of more than {} labels.",
    "Elo ratings, plain and weighted by separability",
    "{} of machine raters. {}",
    "Compared are the machine raters with the most answers to items that annotators rated.",
    "Shown are the comparisons with the most pairs of texts.",
    LEFT_OUT.replace("{names}", "{}").replace("{section}", "{}"),
    "{} on {} on which all pairs were answered readably in both orders. Only these count.",
    "{} of systems that annotators part by {} of {}.",
    "{} that all of these rated; the composite's raters were chosen in {} folds. {}",
    "No machine rater has compared the systems.",
    "{}, on all items that were rated.",
    "Left out, because they rated too few items: {}.",
    "Left out, because they have fewer items: {}.",
    *("equal weights", "expert weights", "level {}", "originals of {}", "median and quartiles"),
    *("the part and the rest", "random parts (median)", "all others", "scores vs comparisons"),
    "Categories with fewer instances are not shown: {}.",
    "{}: {} of texts of {}. The scores took {} and tie {} of the pairs; the comparisons took {}, of which"
    " {} are ties.",
    *("{} over {} ({})", "annotators and {}, λ = 1", "A success is the answer “{}”. {}"),
    *("We compared {} ({}).", "{} Statistics were computed with Tiebreak {}."),
}
ALL = sentences()
FINDINGS = [one for one in ALL if one.text.replace(HOLE, "{}") not in NO_FINDINGS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.situation.replace(" ", "_"))
def test_a_finding_says_what_the_data_support_and_no_more(case: Case):
    text = case.text()
    for stated in case.states:
        assert stated in text
    for claim in case.never:
        assert claim not in text


def test_what_must_not_be_stated_in_a_case_is_stated_in_another():
    stated = [text for case in CASES for text in case.states]
    unknown = {c for case in CASES for c in case.never if not any(c in text for text in stated)}
    assert not unknown


def test_situations_have_names_of_their_own():
    assert len({case.situation for case in CASES}) == len(CASES)


@pytest.mark.parametrize("sentence", FINDINGS, ids=str)
def test_every_sentence_of_a_finding_is_stated_and_is_not_stated(sentence: Sentence):
    assert any(sentence.is_in(text) for case in CASES for text in case.states)
    assert any(sentence.is_in(text) for case in CASES for text in case.never)


def test_every_text_that_is_no_finding_is_still_there():
    assert {one.text.replace(HOLE, "{}") for one in ALL} >= NO_FINDINGS


def test_sentences_of_all_modules_with_findings_are_read():
    others = PASS_ON | {f"figures/{name}" for name in NOT_OF_RATINGS}
    assert modules_with_findings() - others <= set(MODULES)

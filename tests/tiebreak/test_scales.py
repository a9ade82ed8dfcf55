"""Scales as written in files, and the labels on them."""

import pytest

from tests.refusals import refused
from tiebreak.nonresponse import is_missing
from tiebreak.stats import Scale, infer_scale


@pytest.mark.parametrize(
    ("spec", "kind", "level", "labels"),
    [
        ("preference", "preference", "nominal", (-1, 1)),
        ("preference:tie", "preference", "nominal", (-1, 0, 1)),
        ("preference:5", "preference", "ordinal", (-2, -1, 0, 1, 2)),
        ("preference:7", "preference", "ordinal", (-3, -2, -1, 0, 1, 2, 3)),
        ("preference:tie+bad", "preference", "nominal", (-1, 0, 1, "bad")),
        ("preference+bad", "preference", "nominal", (-1, 1, "bad")),
        ("preference:5+bad", "preference", "ordinal", (-2, -1, 0, 1, 2, "bad")),
        ("nominal:a,b", "nominal", "nominal", ("a", "b")),
        ("nominal:yes, no,1", "nominal", "nominal", ("yes", "no", "1")),
        ("ordinal:1..5", "ordinal", "ordinal", (1, 2, 3, 4, 5)),
        ("ordinal:-1..1", "ordinal", "ordinal", (-1, 0, 1)),
        ("interval:1..3", "interval", "interval", (1, 2, 3)),
        ("interval", "interval", "interval", None),
        ("ratio", "ratio", "ratio", None),
    ],
)
def test_specs(spec, kind, level, labels):
    scale = Scale.parse(spec)
    assert (scale.spec, scale.kind, scale.level, scale.labels) == (spec, kind, level, labels)
    assert scale.bad == spec.endswith("+bad")
    assert scale.order_labels == (labels[:-1] if scale.bad else labels)


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        *(
            (spec, "unknown_scale")
            for spec in ("", "likert", "preference:3", "preference:tie+good")
        ),
        *((spec, "ends_missing") for spec in ("ordinal", "ordinal:a..b", "ordinal:1..5+bad")),
        *((spec, "ends_missing") for spec in ("interval:x", "ordinal:1...5", "ordinal:²..5")),
        *((spec, "bad_range") for spec in ("ordinal:5..1", "ordinal:1..1", "ordinal:1..1000")),
        *((spec, "too_few_names") for spec in ("nominal", "nominal:", "nominal:a", "nominal:a,,b")),
        ("nominal:a,a", "repeated_label"),
        ("ratio:1..5", "ends_not_taken"),
        *((spec, "scale_not_text") for spec in (5, None)),
    ],
)
def test_what_is_no_scale_is_refused(spec, code):
    with refused(code):
        Scale.parse(spec)


@pytest.mark.parametrize(
    ("spec", "value", "label"),
    [
        ("preference:tie", "-1", -1),
        ("preference:tie", 1.0, 1),
        ("preference:tie", "0.0", 0),
        ("preference:tie", " 1 ", 1),
        ("preference:5+bad", "bad", "bad"),
        ("ordinal:1..5", "5", 5),
        ("nominal:1,2", 1, "1"),
        ("nominal:1,2", 1.0, "1"),
        ("nominal:a,b", "a", "a"),
        ("interval", "2.5", 2.5),
        ("interval", 3, 3.0),
        ("ratio", "0", 0.0),
    ],
)
def test_labels_become_canonical(spec, value, label):
    parsed = Scale.parse(spec).parse_label(value)
    assert parsed == label
    assert type(parsed) is type(label)


@pytest.mark.parametrize(
    ("spec", "value", "code"),
    [
        ("preference", 0, "label_not_on_scale"),
        ("preference:tie", 2, "label_not_on_scale"),
        ("preference:tie", "bad", "label_not_a_number"),
        ("preference:tie", True, "label_not_a_number"),
        ("preference:tie", "left", "label_not_a_number"),
        ("preference:tie", None, "label_not_a_number"),
        ("ordinal:1..5", 2.5, "label_not_on_scale"),
        ("ordinal:1..5", "nan", "label_not_a_number"),
        ("ordinal:1..5", 10**400, "label_not_a_number"),
        ("nominal:a,b", "A", "label_not_on_scale"),
        ("nominal:a,b", None, "label_not_on_scale"),
        ("interval", "inf", "label_not_a_number"),
        ("interval", "", "label_not_a_number"),
        ("ratio", -1, "label_negative"),
    ],
)
def test_labels_off_the_scale_are_refused(spec, value, code):
    with refused(code):
        Scale.parse(spec).parse_label(value)


@pytest.mark.parametrize(
    ("labels", "criterion", "spec"),
    [
        ([-1, 0, 1], "preference", "preference:tie"),
        ([1, -1], "quality", "preference:tie"),
        (["-1", "1"], "quality", "preference:tie"),
        ([], "preference", "preference:tie"),
        ([None, None], "preference", "preference:tie"),
        ([-2, -1], "preference", "preference:5"),
        ([0, 1], "preference", "nominal:0,1"),
        (["1", "2.0"], "preference", "nominal:1,2"),
        ([0, 1, 2], "preference", "ordinal:0..2"),
        ([0, 100], "slider", "interval"),
        (["1", "3", "None", "n/a", "-"], "coherence", "ordinal:1..3"),
        (["minor", "none"], "errors", "nominal:minor,none"),
        (["b", "NA", "a"], "errors", "nominal:a,b"),
        (["3", "-1"], "preference", "preference:7"),
        ([-1, 1, "bad"], "preference", "preference:tie+bad"),
        ([1, 2, 5], "coherence", "ordinal:1..5"),
        (["1", "4.0"], "coherence", "ordinal:1..4"),
        ([1.5, 2], "coherence", "interval"),
        ([1, 5000], "length", "interval"),
        ([7], "coherence", "interval"),
        (["yes", "no", None], "fluent", "nominal:no,yes"),
        (["good", "bad"], "preference", "nominal:bad,good"),
        ([1, 2, "bad"], "quality", "nominal:1,2,bad"),
    ],
)
def test_scales_are_inferred_from_the_labels_of_a_file(labels, criterion, spec):
    scale = infer_scale(labels, criterion)
    assert scale.spec == spec
    for label in labels:
        if label is not None and not is_missing(label, scale.labels or ()):
            scale.parse_label(label)


@pytest.mark.parametrize(
    ("labels", "spec"),
    [([0, 1], "preference:tie"), ([1, 2], "nominal:1,2"), ([0, 1, 2], "ordinal:0..2")],
)
def test_what_compares_two_systems_may_have_nobody_who_prefers_the_first(labels, spec):
    assert infer_scale(labels, "preference", compares=True).spec == spec


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (["Minor", "None"], "unclear_label"),
        (["good", "-"], "unclear_label"),
        (["3,5", "4"], "unclear_number"),
        (["85%", "90%"], "unclear_number"),
    ],
)
def test_labels_that_may_be_read_in_two_ways_are_refused(labels, code):
    with refused(code):
        infer_scale(labels, "preference")


def test_a_declared_label_is_no_mark_of_a_missing_value():
    assert not is_missing("None", ("None", "Minor"))
    assert is_missing("None", ("Some", "Minor"))


def test_nothing_to_infer_from_is_refused():
    with refused("scale_undeclared"):
        infer_scale([None], "coherence")

"""What the source of the pages contains and, above all, what it does not contain."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from lxml.html import fromstring

from annotation.models import Assignment, HITUnit
from annotation.services.planning import plan_hits
from studies.models import Criterion, Generation, Instance, Study
from tests.annotation.annotators import Annotator, Page, annotator, form_of, texts_of, unit_of
from tests.studies.factories import make_open_study, make_study, open_knowingly
from tiebreak.scales import PREFERENCES, Preference

pytestmark = pytest.mark.django_db

ATTACK = (
    "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>"
    "{{191*193}}{% load static %}{0.__class__}</p></article>"
)


def whole_way(study: Study) -> list[Page]:
    """Return every page that an annotator sees, including the fragments."""
    ann = Annotator(study)
    pages = [ann.client.get(f"/s/{study.pk}/")]
    pages.append(ann.client.post(f"/s/{study.pk}/", {"choice": "decline", "version": 1}))
    ann.client.post(f"/s/{study.pk}/", {"choice": "agree", "version": 1})
    pages += [ann.here(), ann.client.get(ann.at("guidelines"))]
    ann.client.post(ann.at("guidelines"))
    while b"<fieldset" in (page := ann.here()).content:
        form = form_of(page)
        pages += [page, ann.send(form.filled(), hx_request="true")]
        pages.append(ann.client.get(ann.at(form.hidden["position"])))
    return [*pages, page]


def test_no_page_reveals_a_system_or_a_row():
    study = make_study(instances=2, ratings_per_hit=2)
    Generation.objects.update(
        text="The very same words."
    )  # so that only leaks can make the pages differ
    for index, system in enumerate(study.systems.all()):
        system.name, system.language_model = f"zephyr-{index}", f"secret-model-{index}"
        system.save()
    Instance.objects.filter(key="note-0").update(key="secret-key", category="secret-category")
    Instance.objects.update(reference="secret reference", metadata={"secret": "meta"})
    plan_hits(study=study)
    study.units.update(similarity="secret-similarity")
    open_knowingly(study)
    pages = whole_way(study)
    assert len(pages) > 30
    for page in pages:
        source = page.content.decode() + str(page.headers) + str(page.cookies)
        for word in ("zephyr", "secret", study.seed, "#0.1", "sample", "side_bit", "parity"):
            assert word not in source, word


def test_pages_of_mirrored_places_differ_only_in_the_texts():
    """Two raters see the same unit with swapped sides. Their pages are otherwise the same."""
    study = make_open_study(instances=1, samples=1, ratings_per_hit=2)
    first, second = annotator(study), annotator(study)
    one, other = first.here(), second.here()
    assert {a.parity for a in Assignment.objects.all()} == {0, 1}
    assert texts_of(one) == list(reversed(texts_of(other)))
    assert _without_tokens(one) == _without_tokens(other)


def _without_tokens(page: Page) -> str:
    """Return the page without its texts and without the random values of each page."""
    source = re.sub(r'<p class="text compared"[^>]*>.*?</p>', "", page.content.decode(), flags=re.S)
    return re.sub(r'name="(csrfmiddlewaretoken|assignment|client_key)" value="[^"]+"', "", source)


def test_sides_are_balanced_and_not_told_by_the_position():
    study = make_open_study(instances=4, ratings_per_hit=2)
    ann = annotator(study)
    for _ in range(20):
        ann.choose()
    hit_units = HITUnit.objects.filter(hit__study=study).values_list("side_bit", flat=True)
    assert sorted(hit_units).count(True) == 10


def test_only_public_ids_stand_in_the_pages():
    study = make_open_study(instances=1)
    ann = annotator(study)
    fields = form_of(ann.here()).hidden
    assert fields["assignment"] == Assignment.objects.get().public_id
    assert set(fields) == {
        *("csrfmiddlewaretoken", "assignment", "position"),
        *("client_key", "layout", "duration_ms"),
    }


def test_texts_of_researchers_and_systems_are_escaped():
    study = make_study(instances=1, samples=1, guidelines=ATTACK, consent=ATTACK)
    study.title = ATTACK[:200]
    study.save()
    Criterion.objects.update(question=ATTACK, scale="nominal:<u>yes</u>,{{191*193}}")
    Generation.objects.update(text=ATTACK)
    messages = [
        {"role": ATTACK, "content": ATTACK},
        {"role": "user", "content": [{"text": ATTACK}]},
    ]
    Instance.objects.update(source=ATTACK, messages=messages, category=ATTACK)
    staff = User.objects.create_superuser("root")
    researcher_client = Client()
    researcher_client.force_login(staff)
    previews = [
        researcher_client.get(f"/studies/{study.pk}/preview/?page={n}") for n in ("welcome", "unit")
    ]
    plan_hits(study=study)
    open_knowingly(study)
    for page in [*previews, *whole_way(study)]:
        source = page.content.decode()
        assert not re.search(r"<script(?! src=)", source)
        assert not re.search(r"<(img|svg|u)\b", source)
        assert not re.search(r"<[^>]*\son\w+=", source)
        assert "36863" not in source
        assert "<class" not in source


def test_text_keeps_its_lines_and_turns_keep_their_speakers():
    study = make_study(instances=1, samples=1)
    Generation.objects.update(text="One.\n\nTwo & <three>.")
    turns = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Yes."}, 7]
    Instance.objects.update(source="", messages=turns)
    plan_hits(study=study)
    open_knowingly(study)
    page = annotator(study).here()
    assert texts_of(page) == ["One.\n\nTwo &amp; &lt;three&gt;."] * 2
    turns_shown = re.findall(r"<b[^>]*>(.*?)</b><p[^>]*>(.*?)</p>", page.content.decode())
    assert turns_shown == [("User", "Hello?"), ("Assistant", "Yes.")]
    assert texts_of(page)
    assert len(page.context["page"].turns) == 2


@pytest.mark.parametrize(("translation", "shown"), [("refused", {"no"}), ("allowed", set())])
def test_browsers_are_asked_to_translate_no_judged_text_unless_the_study_allows_it(
    translation, shown
):
    page = annotator(make_open_study(instances=1, translation=translation)).here()
    (root,) = fromstring(page.content.decode()).xpath("//main")
    assert set(root.xpath("//*[contains(@class, 'text')]/@translate")) == shown


def test_without_a_source_there_is_one_column():
    study = make_open_study(instances=1)
    Instance.objects.update(source="", messages=[])
    page = annotator(study).here().content
    assert b"without-source" in page
    assert b"source-heading" not in page


def words_of(page: Page) -> list[str]:
    labels = re.findall(r"<label>.*?</label>", page.content.decode(), re.S)
    plain = [re.sub(r"<kbd.*?</kbd>", "", label) for label in labels if "radio" in label]
    plain = [re.sub(r"<[^>]+>", " ", label) for label in plain]
    return [" ".join(label.split()) for label in plain]


def expected_words(label: str, strengths: list[str]) -> str:
    """Return the words for the better side in either layout, and for how much better it is."""
    if label == "bad":
        return "Both are bad"
    size = int(label)
    side = "Left First" if size < 0 else "Right Second"
    return f"{side} {strengths[abs(size) - 1]}" if size else "No preference"


NINE = ["is a little better", "is better", "is much better", "is very much better"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("scale", "values", "strengths"),
    [
        ("preference", ["-1", "1"], ["is better"]),
        ("preference:tie+bad", ["-1", "0", "1", "bad"], ["is better"]),
        (
            "preference:5",
            ["-2", "-1", "0", "1", "2"],
            ["is slightly better", "is much better"],
        ),
        (
            "preference:7",
            ["-3", "-2", "-1", "0", "1", "2", "3"],
            ["is slightly better", "is better", "is much better"],
        ),
        # Only this test knows the scale: an entry of the registry is all that it needs.
        ("preference:9", ["-4", "-3", "-2", "-1", "0", "1", "2", "3", "4"], NINE),
        ("nominal:true,half true,false", ["true", "half true", "false"], []),
        ("ordinal:1..4", ["1", "2", "3", "4"], []),
    ],
)
def test_each_scale_shows_its_choices_and_keeps_the_one_that_was_made(
    monkeypatch, scale, values, strengths
):
    monkeypatch.setitem(PREFERENCES, "preference:9", Preference(tuple(NINE)))
    study = make_open_study(instances=1, scale=scale)
    ann = annotator(study)
    words = [expected_words(value, strengths) for value in values] if strengths else values
    for index in range(min(len(values), 5)):
        page = ann.here()
        assert form_of(page).choices == {"criterion-preference": values}
        assert words_of(page) == words
        form = ann.choose(index)
        back = ann.client.get(ann.at(form.hidden["position"]))
        assert form_of(back).chosen == {"criterion-preference": values[index]}


@pytest.mark.parametrize(
    ("scale", "attributes"),
    [
        ("ordinal:0..100", 'step="1" min="0" max="100"'),
        ("ratio", 'step="any" min="0"'),
        ("interval", 'step="any"'),
    ],
)
def test_a_scale_with_too_many_labels_is_typed(scale, attributes):
    ann = annotator(make_open_study(instances=1, scale=scale))
    page = ann.here()
    assert f'type="number" name="criterion-preference" value="" required {attributes}>' in (
        page.content.decode()
    )
    form = form_of(page)
    assert ann.send({**form.hidden, "criterion-preference": "42"}).status_code == 303
    back = ann.client.get(ann.at(form.hidden["position"]))
    assert float(form_of(back).chosen["criterion-preference"]) == 42


def test_single_generations_are_rated_one_by_one():
    study = make_open_study(instances=1, unit_kind="generation", scale="ordinal:1..5")
    ann = annotator(study)
    page = ann.here()
    assert unit_of(page) == (1, "5")
    assert page.content.count(b"<article ") == 1
    assert b'class="beside"' not in page.content
    ann.choose(3)
    assert unit_of(ann.here()) == (2, "5")


def test_every_page_names_its_language_and_has_one_main_heading():
    for page in whole_way(make_open_study(instances=1)):
        if b"<html" in page.content:
            assert b'<html lang="en">' in page.content
            assert page.content.count(b"<h1") == 1
            assert page.content.count(b"<main") == 1


def test_the_policy_allows_no_inline_script_or_style_and_the_pages_hold_none():
    for page in whole_way(make_open_study(instances=1)):
        policy = page.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        source = page.content.decode()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?! src=)|javascript:", source)
        assert not re.search(r'(src|href)="(https?:)?//', source)

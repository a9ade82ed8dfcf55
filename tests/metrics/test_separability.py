"""δ of a study's pairs and of another study beside them: on pages, as files, and for whom."""

import csv
import io

import pytest
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.planning.score_distributions import comparable_studies, score_distributions
from metrics.planning.separability_figure import separability_figure
from metrics.results.services import refresh_report
from studies.access import studies_of
from studies.instance_selection.scoring import score_separability
from studies.models import Membership, SeparabilityScore, Study
from tests.studies.factories import make_study
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.reading.figures.files import figure_file
from tiebreak.reading.figures.separability import MAX_ROWS, MAX_STEPS

pytestmark = pytest.mark.django_db


@pytest.fixture
def researcher(django_user_model):
    return django_user_model.objects.create_user("rea", is_staff=True)


def scored(researcher, deltas: list[float], **design) -> Study:
    """Return a study of two systems whose instances have these separabilities."""
    study = make_study(instances=len(deltas), member=researcher, similarity="rouge1", **design)
    assert study.dataset
    (pair,) = study.system_pairs()
    SeparabilityScore.objects.bulk_create(
        SeparabilityScore(
            instance=instance,
            system_a=pair[0],
            system_b=pair[1],
            similarity="rouge1",
            delta=delta,
            samples_a=2,
            samples_b=2,
        )
        for instance, delta in zip(study.dataset.instances.order_by("pk"), deltas, strict=True)
    )
    return study


def test_the_database_counts_the_scores_of_each_pair(researcher):
    study = scored(researcher, [-0.1, 0.0, 0.05, 0.3, 0.3, 0.9])
    (row,) = score_distributions([study], "rouge1")
    assert (row.n, row.low, row.high, row.above_zero) == (6, -0.1, 0.9, 4)
    assert row.mean == pytest.approx(1.45 / 6)
    assert sum(one.n for one in row.bins) == 6
    assert max(one.n for one in row.bins) == 2  # both instances with 0.3
    for one in row.bins:
        assert one.high - one.low == pytest.approx(0.025)


def test_scores_that_are_all_equal_have_one_bin(researcher):
    (row,) = score_distributions([scored(researcher, [0.25] * 4)], "rouge1")
    (one,) = row.bins
    assert one.n == 4
    assert one.low <= 0.25 <= one.high


def test_scores_without_a_value_and_of_other_similarities_stay_out(researcher):
    study = scored(researcher, [0.1, 0.2])
    SeparabilityScore.objects.filter(delta=0.2).update(delta=None)
    (row,) = score_distributions([study], "rouge1")
    assert row.n == 1
    assert score_distributions([study], "bleu") == []


def test_the_cost_does_not_grow_with_pairs_or_scores(researcher, django_assert_max_num_queries):
    study = make_study(instances=5, systems=5, member=researcher)
    score_separability(study=study)
    with django_assert_max_num_queries(4):
        figure = separability_figure(study, study.similarity)
    assert figure.chart.file().count("mean ") >= len(study.system_pairs()) == 10


def test_there_are_never_many_bins(researcher):
    study = scored(researcher, [n / 997 for n in range(100)])
    (row,) = score_distributions([study], "rouge1")
    assert 20 <= len(row.bins) <= MAX_STEPS + 1


def test_pairs_that_are_not_drawn_are_in_the_file(researcher):
    study = make_study(instances=2, systems=9, member=researcher)
    score_separability(study=study)
    figure = separability_figure(study, study.similarity)
    assert str(MAX_ROWS) in figure.sentence
    assert len({row[1] for row in figure.rows}) == 36


def test_another_study_stands_beside(researcher, client):
    study, other = (scored(researcher, deltas) for deltas in ([0.1, 0.2], [0.6, 0.7, 0.8]))
    Study.objects.filter(pk=other.pk).update(title="The other")
    client.force_login(researcher)
    address = reverse("metrics:figure", args=[study.pk, "preference", "separability", "csv"])
    rows = list(
        csv.DictReader(
            io.StringIO(client.get(f"{address}?with={other.pk}").content.decode("utf-8-sig"))
        )
    )
    means = {row["study"]: float(row["value"]) for row in rows if row["statistic"] == "mean"}
    assert means == pytest.approx({study.title: 0.15, "The other": 0.7})
    alone = client.get(address).content.decode()
    assert "The other" not in alone


def test_all_datasets_stand_in_one_picture(researcher, client, tmp_path):
    study = import_study(
        path=make_bundle(tmp_path / "b", with_ratings=True), owner=researcher
    ).study
    score_separability(study=study, similarity_name="rouge1")
    others = [scored(researcher, [n / 10, n / 10 + 0.1]) for n in range(3)]
    for n, one in enumerate(others):
        Study.objects.filter(pk=one.pk).update(title=f"Dataset {n}")
    Membership.objects.filter(study=others[2]).delete()
    refresh_report(study=study)
    client.force_login(researcher)
    address = reverse("metrics:results-tab", args=[study.pk, "separability"])
    page = client.get(f"{address}?with=all&similarity=rouge1")
    (figure,) = page.context["figures"]
    assert {row[0] for row in figure.rows} == {study.title, "Dataset 0", "Dataset 1"}
    assert "with=all" in figure.query
    assert page.content.decode().count('<option value="all" selected') == 1


def test_nobody_sees_the_scores_of_a_study_they_are_no_member_of(researcher, client):
    study, hidden = (scored(researcher, deltas) for deltas in ([0.1, 0.2], [0.6, 0.7]))
    Study.objects.filter(pk=hidden.pk).update(title="Hidden")
    Membership.objects.filter(study=hidden).delete()
    client.force_login(researcher)
    refresh_report(study=study)
    address = reverse("metrics:figure", args=[study.pk, "preference", "separability", "csv"])
    assert "Hidden" not in client.get(f"{address}?with={hidden.pk}").content.decode()
    assert not comparable_studies(study, "rouge1", studies_of(researcher)).exists()


def test_only_studies_of_other_datasets_with_these_scores_can_be_compared(researcher):
    study, other = (scored(researcher, deltas) for deltas in ([0.1, 0.2], [0.6, 0.7]))
    make_study(member=researcher)
    same = Study.objects.create(title="same", dataset=study.dataset)
    Membership.objects.create(study=same, user=researcher)
    among = studies_of(researcher)
    assert list(comparable_studies(study, "rouge1", among)) == [other]
    assert list(comparable_studies(study, "bleu", among)) == []


def test_the_figure_is_on_generate_and_select_before_there_are_ratings(researcher, client):
    study = scored(researcher, [0.1, 0.2])
    client.force_login(researcher)
    page = client.get(reverse("metrics:generate-select-results", args=[study.pk]))
    address = reverse("metrics:figure", args=[study.pk, "preference", "separability", "svg"])
    assert f'href="{address}?similarity=rouge1"' in page.content.decode()
    answer = client.get(f"{address}?similarity=rouge1")
    assert answer.content == figure_file(page.context["figure"], "svg")


def test_the_page_of_results_offers_what_can_be_compared(researcher, client, tmp_path):
    study = import_study(
        path=make_bundle(tmp_path / "b", with_ratings=True), owner=researcher
    ).study
    score_separability(study=study, similarity_name="rouge1")
    other = scored(researcher, [0.6, 0.7])
    refresh_report(study=study)
    client.force_login(researcher)
    address = reverse("metrics:results-tab", args=[study.pk, "separability"])
    page = client.get(f"{address}?with={other.pk}&similarity=rouge1")
    assert [one.pk for one in page.context["others"]] == [other.pk]
    (figure,) = page.context["figures"]
    assert figure.query == f"similarity=rouge1&with={other.pk}"
    assert other.title in figure.chart.file()
    unknown = client.get(f"{address}?similarity=nonsense")
    assert unknown.context["similarity"] == study.similarity

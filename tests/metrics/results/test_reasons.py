"""Every dash in a table of the results has its reason in the row or beside the table."""

from pathlib import Path

import pytest
from django.urls import reverse

from annotation.imports.study_import import import_study
from metrics.results.question_pages import PAGES
from metrics.results.sections import offered_on, refresh_section
from metrics.results.selectors import stored_report
from metrics.results.services import refresh_report
from studies.models import Study
from tests.browser.test_dashboard import judged_elsewhere, rated_elsewhere
from tests.pages import unexplained
from tests.tiebreak.formats.bundles import make_bundle, ratings, write_lines

pytestmark = pytest.mark.django_db


def judged_by_a_rule(tmp_path: Path) -> Study:
    """Return a study of which one machine rater was shown no text first."""
    bundle, rows = make_bundle(tmp_path / "b", with_ratings=True), list(ratings())
    judges = [
        {key: value for key, value in row.items() if key not in hidden}
        | {"rater": name, "kind": "machine", "label": label}
        for name, hidden, label in (("judge", (), 1), ("rule", ("side_a",), -1))
        for row in rows[::2]
    ]
    write_lines(bundle / "ratings.jsonl", [*rows, *judges])
    study = import_study(path=bundle).study
    refresh_report(study=study)
    return study


@pytest.mark.parametrize("make", [rated_elsewhere, judged_elsewhere, judged_by_a_rule])
def test_every_dash_of_the_results_has_a_reason(make, tmp_path, admin_client):
    study = make(tmp_path)
    about = stored_report(study.report_snapshots.get()).criteria["preference"]
    addresses = [reverse("metrics:results-tab", args=[study.pk, page.slug]) for page in PAGES]
    for page in PAGES:
        for one in offered_on(page.slug, about):
            refresh_section(study=study, name=one.name)
            addresses.append(reverse("metrics:section", args=[study.pk, "preference", one.name]))
    missing = {
        address: rows for address in addresses if (rows := unexplained(admin_client.get(address)))
    }
    assert missing == {}

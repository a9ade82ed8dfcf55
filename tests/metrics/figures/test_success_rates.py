"""The figure of success rates, the page that shows it, and the tables of the report."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from annotation.importing import import_study
from annotation.services.exclusion import exclude_participation  # noqa: F401
from metrics.figures.success_rates import known_order_sentence, success_rates_figure
from metrics.report_document.build import build_document
from metrics.selectors import stored_report
from metrics.services import refresh_report
from studies.models import Membership, Study
from tests.tiebreak.report.mock_systems import BEST_FIRST, mock_ratings
from tests.tiebreak.report.test_success_rates import row, section_of
from tiebreak.formats import write_rows

pytestmark = pytest.mark.django_db

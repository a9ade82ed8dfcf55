import pytest

from studies.models import Study
from tests.studies.factories import make_open_study


@pytest.fixture
def study() -> Study:
    """An open study of two items, which are one task."""
    return make_open_study(instances=2, comparisons_per_hit=2, ratings_per_hit=1)

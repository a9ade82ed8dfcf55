"""Whatever the services did in a test, the nightly recount raises no alarm afterwards."""

from collections.abc import Iterator

import pytest

from annotation.services.recount import recount
from studies.models import Study


@pytest.fixture(autouse=True)
def _no_alarm(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if request.node.get_closest_marker("django_db"):
        assert not [found for study in Study.objects.all() if (found := recount(study))]

"""A researcher, and her study, of which pages of steps are shown."""

import pytest
from django.contrib.auth.models import User

from studies.models import Generation, Study
from tests.studies.factories import make_study

LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


@pytest.fixture
def study(ruth: User) -> Study:
    study = make_study(instances=4, member=ruth)
    Generation.objects.update(text=LONG)
    return study

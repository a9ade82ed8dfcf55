"""Where the guides say that something stands on a step, it does."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from annotation.services.planning import plan_hits
from studies.design.steps import steps
from tests.pages import prose_of
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db

STEPS = {step.title: step for step in steps()}
NAMED = [
    (path.name, " ".join(label.split()), step)
    for path in sorted(Path(settings.BASE_DIR, "docs").rglob("*.md"))
    for label, step in re.findall(
        r"\*([^*]+)\*\s+on\s+\*([^*]+)\*", path.read_text(encoding="utf-8")
    )
    if step in STEPS
]


@pytest.mark.parametrize(("guide", "label", "step"), NAMED)
def test_what_a_guide_names_on_a_step_is_there(admin_client, guide, label, step):
    study = make_study(instances=2, systems=3)
    plan_hits(study=study)
    page = admin_client.get(STEPS[step].url_of(study))
    assert label.lower() in prose_of(page).lower(), guide


def test_guides_name_what_stands_on_steps():
    assert len(NAMED) > 3

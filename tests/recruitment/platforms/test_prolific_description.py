"""The stored part of Prolific's API description agrees with the whole description."""

import yaml

from tests.paths import shared_path
from tests.recruitment.platforms.openapi import document, reduced


def test_the_kept_operations_are_the_published_ones():
    path = shared_path("data", "prolific", "openapi.yml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    description = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    assert document() == reduced(description, document()["paths"])

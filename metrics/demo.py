"""The demo study, which is loaded once and rated by bots through the annotators' pages."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from django.contrib.auth.models import User

from annotation.importing import import_study
from annotation.services.planning import plan_hits
from metrics.services import refresh_report
from recruitment.services.lifecycle import open_study
from recruitment.simulation.raters import Bot, simulate_raters
from studies.demo.bundle import write_demo_bundle
from studies.demo.sources import load_sources
from studies.instance_selection.scoring import score_separability
from studies.models import Study

# The bots take 60 of 72 places, which is enough for every statistic and leaves some for visitors.
BOTS = (
    Bot("careful-1", accuracy=0.85, hits=20),
    Bot("careful-2", accuracy=0.75, hits=20),
    Bot("hasty", accuracy=0.55, position_bias=0.2, hits=20),
)


def load_demo_study(*, owner: User, say: Callable[[str], None]) -> Study:
    """Return the demo study, which the first call creates."""
    existing = Study.objects.filter(memberships__user=owner, dataset__notes=_NOTE).first()
    if existing is not None:
        return existing
    say("Loading the demo study…")
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / "demo"
        write_demo_bundle(bundle)
        study = import_study(path=bundle, owner=owner).study
    score_separability(study=study)
    plan_hits(study=study)
    study = open_study(study=study)
    say(f"Bots are rating {len(load_sources())} instances through the annotators' pages…")
    simulate_raters(study=study, bots=BOTS, seed=0)
    refresh_report(study=study)
    assert study.dataset is not None
    study.dataset.notes = _NOTE
    study.dataset.save(update_fields=["notes"])
    return study


_NOTE = "The demo study's texts, and two small systems that summarise them."

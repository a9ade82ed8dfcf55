"""Pilots with a machine rater that is sure of two thirds of the instances, and drafts of their dataset."""

from pathlib import Path

import numpy as np

from annotation.imports.study_import import import_study
from studies.models import InstanceSelection, Study
from studies.services import copy_design
from tests.tiebreak.formats.bundles import make_bundle, write_lines

N = 120


def pilot_rows(*, guesses=False, judged=N, rated=N, seed=0):
    """Return two annotators' ratings of some instances, and a judge's of all, sure of two thirds."""
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], N)
    judge = np.where(rng.random(N) < 2 / 3, truth, 0)
    if guesses:
        judge = rng.choice([-1, 0, 1], N)
    by_person = [np.where(judge == 0, rng.choice([-1, 1], N), truth) for _ in range(2)]
    rows = []
    for i in range(N):
        unit = {
            "unit": f"i{i}#0.1.0",
            "instance": f"i{i}",
            "system_a": "old",
            "system_b": "new",
            "sample_a": 0,
            "sample_b": 0,
        }
        people = [{"rater": f"r{k}", "label": int(of[i])} for k, of in enumerate(by_person)]
        rows += [unit | one for one in people if i < rated]
        if i < judged:
            rows.append(unit | {"rater": "judge", "kind": "machine", "label": int(judge[i])})
    return rows


def import_pilot(folder: Path, **facts) -> Study:
    path = make_bundle(folder / "pilot", with_ratings=True)
    write_lines(path / "instances.jsonl", [{"id": f"i{i}", "source": "…"} for i in range(N)])
    texts = [
        {"instance": f"i{i}", "system": system, "sample_index": 0, "text": f"{system} {i}"}
        for i in range(N)
        for system in ("old", "new")
    ]
    write_lines(path / "generations.jsonl", texts)
    write_lines(path / "ratings.jsonl", pilot_rows(**facts))
    return import_study(path=path).study


def draft_of(pilot):
    draft = copy_design(study=pilot)
    Study.objects.filter(pk=draft.pk).update(
        comparisons_per_hit=1, ratings_per_hit=1, title="The study"
    )
    return Study.objects.get(pk=draft.pk)


def by_doubt(pilot, **changes):
    return InstanceSelection(
        **{"design": "doubt", "instances": 40, "control_share": 0.25, "pilot": pilot} | changes
    )

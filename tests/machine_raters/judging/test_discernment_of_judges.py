"""The discernment of a judge over all criteria by which it rates originals and copies."""

import hashlib
import re

import pytest

from annotation.services.planning import plan_hits
from machine_raters.services.machine_raters import start_machine_rater
from metrics.results.sections import refresh_section, stored_section
from metrics.results.services import refresh_report
from studies.data.perturbed_copies import add_perturbed_copies
from studies.models import Criterion, Generation
from tests.machine_raters.judging.scripted import material, model
from tests.machine_raters.judging.test_judging import judge_for
from tests.studies.data.test_perturbed_copies import ENDING, TYPOS, scoring_study
from tests.studies.factories import open_knowingly
from tiebreak.stats import discernment, discernment_score, harmonic_mean_p

pytestmark = pytest.mark.django_db
__all__ = ["model"]
NAMES = ("preference", "coherence", "fluency")
WEIGHTS = {
    TYPOS: {"preference": 0.2, "coherence": 0.1, "fluency": 0.7},
    ENDING: {"preference": 0.3, "coherence": 0.6, "fluency": 0.1},
}


@pytest.mark.parametrize("asks_together", [False, True])
def test_a_judge_has_one_discernment_over_all_its_criteria(model, monkeypatch, asks_together):
    study = scoring_study(instances=8, samples=1)
    for one in Generation.objects.select_related("instance"):
        one.text = f"This is {one.instance.key}. {one.text}"  # or a copy may equal another original
        one.save()
    for name in NAMES[1:]:
        Criterion.objects.create(study=study, name=name, question=name, scale="ordinal:1..5")
    add_perturbed_copies(study=study, names=[TYPOS, ENDING], seed=7)
    plan_hits(study=study)
    study = open_knowingly(study)
    copied = {*Generation.objects.exclude(system__perturbation="").values_list("text", flat=True)}

    def score(text: str, name: str) -> int:
        digest = hashlib.sha256(f"{text} {name}".encode()).digest()[0]
        return 5 - digest % 2 if text not in copied else 4 - digest % 3

    def reply(request) -> str:
        text = re.search(r"\[text \w+\]\n(.*)\n\[end", material(request), re.S)[1]
        if asks_together:
            return "\n".join(f"{name}: {score(text, name)}" for name in NAMES)
        rules = request.prompt[0].content
        asked = next((n for n in NAMES[1:] if f"Question: {n}" in rules), NAMES[0])
        return str(score(text, asked))

    models = model(reply)
    start_machine_rater(machine=judge_for(study, asks_together=asks_together))
    assert len(models.asked) == 24 * (1 if asks_together else 3)
    monkeypatch.setattr("metrics.results.sections.weights_of", lambda _: WEIGHTS)
    refresh_report(study=study)
    snapshot = refresh_section(study=study, name="discernment")
    section = stored_section(snapshot, "fluency").part
    texts = {g.text: g for g in Generation.objects.select_related("system", "instance")}
    for found, weights in ((section.all_criteria, None), (section.expert_weighted, WEIGHTS)):
        expected = {}
        for change in (TYPOS, ENDING):
            copies = [t for t, g in texts.items() if g.system.perturbation == change]
            pairs = [
                (o, c)
                for c in copies
                for o, g in texts.items()
                if not g.system.perturbation and g.instance == texts[c].instance
            ]
            p = [
                discernment(
                    [[score(o, name)] for o, _ in pairs], [[score(c, name)] for _, c in pairs]
                ).p.value
                for name in NAMES
            ]
            shares = weights and [weights[change][name] for name in NAMES]
            expected[change] = discernment_score(harmonic_mean_p(p, weights=shares))
        tests = found["gpt"].tests
        assert {name: one.score.value for name, one in tests.items()} == pytest.approx(expected)
        assert all(set(one.weights) == {*NAMES} for one in tests.values())
        assert found["gpt"].minimum.value == pytest.approx(min(expected.values()))
        assert found["gpt"].average.value == pytest.approx(sum(expected.values()) / 2)

import pytest
from django.contrib.auth.models import User

from annotation.models import HIT, HITUnit
from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from jobs.models import Job
from metrics.models import ReportSnapshot
from recruitment.models import Channel, encrypted
from recruitment.platforms import get_platform
from recruitment.services.cloning import clone_study
from studies.models import InstanceSelection, Screening, Study, Unit
from studies.services import copy_rows, record_version
from tests.annotation.places import take_place
from tests.annotation.services.test_ratings import answer_all
from tests.pages import numbers_in
from tests.studies.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
# Every model that belongs to a study is in one of these sets. Of its units and HITs, only reference
# units and their HITs are copied; of a channel, only settings that do not connect it to an account.
COPIED = frozenset(
    {
        "studies.Criterion",
        "studies.StudySystem",
        "studies.Membership",
        "studies.InstanceSelection",
        "studies.SelectedInstance",
        "studies.Unit",
        "annotation.HIT",
        "studies.Screening",
        "studies.ComprehensionQuestion",
        "recruitment.Channel",
    }
)
NOT_COPIED = frozenset(
    {
        "studies.Study",  # its dry runs
        "studies.StudyVersion",
        "studies.StudyEvent",
        "studies.ReportChanges",
        "studies.Invitation",
        "studies.JoinedSystem",
        "machine_raters.StatedCost",
        "machine_raters.MachineRater",
        "machine_raters.ExampleSet",  # it names items
        "annotation.Place",
        "annotation.Participation",
        "annotation.ScreeningAttempt",
        "metrics.ReportSnapshot",
        "metrics.Licence",
        "metrics.FollowUp",
        "metrics.Board",
        "api.ApiToken_studies",
        "api.Webhook",
    }
)


def models_of_a_study() -> set[str]:
    """Every model with a foreign key to a study, whichever app it is in."""
    fields = Study._meta.get_fields(include_hidden=True)
    relations = [field for field in fields if field.one_to_many or field.one_to_one]
    return {field.related_model._meta.label for field in relations}


def make_whole_study() -> Study:
    """A draft with a row of everything that belongs to a design, and of everything else."""
    study = make_study(instances=6, member=User.objects.create_user("ruth", is_staff=True))
    for generation in _generations(study):
        generation.text = " ".join(f"{generation.text} word{i}" for i in range(20))
        generation.save(update_fields=["text"])
    Screening.objects.create(
        study=study, training_units=1, qualification_units=2, pass_mark=2, check_rate=0.5
    )
    study.comprehension.create(text="Which comes first?", choices="a\nb", answer=2)
    _draw(study)
    plan_hits(study=study)
    for role, n in ((Unit.Role.GOLD, 1), (Unit.Role.TRAINING, 1), (Unit.Role.QUALIFICATION, 2)):
        degrade_copies(study=study, role=role, n=n)
    study.channels.create(
        provider="prolific",
        secret=encrypted("token"),
        webhook_secret=encrypted("hook"),
        external_id="60ab",
        external_status="ACTIVE",
        settings={
            "description": "Read.",
            "is_secure": True,
            "workspace": "w1",
            "codes": {"completed": "C0DE"},
            "keys": {"keys": []},
            "entry_url": "https://old.example.org/",
        },
    )
    study.channels.create(provider="invitation", settings={"people": "Ada\nBea"})
    Job.objects.create(owner=study.pk, kind="scoring")
    ReportSnapshot.objects.create(study=study)
    record_version(study=study)
    return study


def _generations(study):
    return [g for i in study.dataset.instances.all() for g in i.generations.all()]


def _draw(study):
    InstanceSelection.objects.create(study=study, design="uniform", instances=2, seed=7)
    a, b = study.ordered_systems()
    for instance in study.dataset.instances.all()[:2]:
        study.selected.create(
            instance=instance,
            system_a=a,
            system_b=b,
            phase="control",
            inclusion_probability=1 / 3,
        )


def design_of(study: Study) -> dict[str, list[dict]]:
    """The rows of the copied models, without their keys and their study."""
    rows = {}
    for label in COPIED:
        model = next(
            f.related_model
            for f in Study._meta.get_fields(include_hidden=True)
            if (f.one_to_many or f.one_to_one) and f.related_model._meta.label == label
        )
        rows_of_study = model._default_manager.filter(study=study).order_by("pk")
        if model is Unit:
            rows_of_study = rows_of_study.exclude(role=Unit.Role.MAIN)
        if model is HIT:
            rows_of_study = rows_of_study.exclude(kind=HIT.Kind.MAIN)
        if model is Channel:
            continue
        rows[label] = [
            {
                f.attname: getattr(row, f.attname)
                for f in model._meta.concrete_fields
                if not f.primary_key and f.name not in {"study", "created_at"}
            }
            for row in rows_of_study
        ]
    return rows


def test_every_model_of_a_study_is_either_copied_or_left_behind():
    assert models_of_a_study() == COPIED | NOT_COPIED
    assert not COPIED & NOT_COPIED


def test_a_clone_has_everything_that_belongs_to_the_design():
    study = make_whole_study()
    clone = clone_study(study=study).study
    copied = design_of(clone)
    assert copied == design_of(study)
    assert all(copied.values())
    assert clone.status == "draft"
    assert clone.seed != study.seed


def test_a_clones_reference_units_are_seated_in_hits_of_their_own():
    study = make_whole_study()
    clone = clone_study(study=study).study
    for kind, n in (("training", 1), ("qualification", 2)):
        hit_units = HITUnit.objects.filter(hit__study=clone, hit__kind=kind)
        assert hit_units.count() == n
        assert {hit_unit.unit.study_id for hit_unit in hit_units} == {clone.pk}
    assert not clone.hits.main().exists()


def test_a_clone_plans_the_instances_that_were_drawn():
    study = make_whole_study()
    clone = clone_study(study=study).study
    assert plan_hits(study=clone).hits == 2
    shown = clone.hits.main().values_list("instance", flat=True)
    assert set(shown) == set(study.hits.main().values_list("instance", flat=True))


def test_a_cloned_channel_is_not_connected_to_its_platform():
    study = make_whole_study()
    clone = clone_study(study=study).study
    channel = clone.channels.get(provider="prolific")
    assert channel.settings == {"description": "Read.", "is_secure": True}
    assert (
        channel.secret,
        channel.webhook_secret,
        channel.external_id,
        channel.external_status,
    ) == ("",) * 4
    assert get_platform("prolific").missing(channel)
    assert clone.channels.get(provider="invitation").settings == {}


def test_a_closed_channel_stays_closed_in_a_clone():
    study = make_study(instances=1)
    study.channels.create(provider="open-link", closed_at=study.created_at)
    clone = clone_study(study=study).study
    assert clone.channels.get().closed_at is not None


def test_cloning_says_what_was_left_behind_and_nothing_that_was_not_there():
    assert clone_study(study=make_study(instances=1)).not_copied == ()
    study = make_whole_study()
    plan_hits(study=study)
    Study.objects.filter(pk=study.pk).update(status="open")
    Screening.objects.filter(study=study).update(
        training_units=0, qualification_units=0, check_rate=0
    )
    study.comprehension.all().delete()
    study.refresh_from_db()
    answer_all(take_place(participation=make_participation(study)))
    *counts, connection, invited = clone_study(study=study).not_copied
    # HITs, annotators, ratings, versions of the texts and jobs.
    assert [numbers_in(count) for count in counts] == [{"2"}, {"1"}, {"5"}, {"1"}, {"1"}]
    assert "Prolific" in connection
    assert numbers_in(invited) == {"2"}


def test_a_clone_of_a_clone_is_the_same_design():
    study = make_whole_study()
    clone = clone_study(study=clone_study(study=study).study).study
    assert design_of(clone) == design_of(study)


def test_copied_rows_keep_every_field_but_their_study():
    study, other = make_study(instances=1), make_study(instances=1)
    other.criteria.all().delete()
    copy_rows(study.criteria.all(), study=other)
    assert other.criteria.get().scale == study.criteria.get().scale

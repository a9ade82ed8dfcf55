from collections import defaultdict
from os.path import commonprefix

from django.db import migrations
from django.db.models import F, Q

from jobs.clock import database_now


def join_judges(apps, schema_editor):
    """Make one judge of those of a study that have the same model and settings, and other criteria.

    Ratings, verdicts, licences and the log's entries stay; the judge that was created first gets them.
    Judges at work stay apart, and so do those that read annotators' reasons: which ones they read
    depends on when they were created.
    """
    rows = defaultdict(lambda: defaultdict(list))
    judges = apps.get_model("machine_raters", "Judge")._base_manager.exclude(rater=None)
    for judge in judges.filter(with_reasons=False).order_by("pk"):
        settings = [f.attname for f in judge._meta.local_concrete_fields if not f.primary_key]
        names = ("study_id", "excluded", "excluded_reason", *settings)
        rows[tuple(getattr(judge, name) for name in names)][_stem(judge)].append(judge)
    for by_stem in rows.values():
        alike = sum(by_stem.values(), [])
        for group in [alike] if _differ(alike) else by_stem.values():
            if len(group) > 1 and _differ(group) and not _at_work(apps, group):
                _join(apps, group)


def _criteria(judge):
    return list(judge.questions.values_list("criterion__name", flat=True))


def _stem(judge):
    """Return the name without the criterion at its end, as judges of each criterion were named."""
    ends = [f": {name}" for name in _criteria(judge) if judge.name.endswith(f": {name}")]
    return judge.name.removesuffix(ends[0]) if ends else judge.name


def _differ(judges):
    """Return whether no criterion is asked by two of them."""
    names = sum(map(_criteria, judges), [])
    return len(names) == len({*names}) and all(map(_criteria, judges))


def _at_work(apps, judges):
    about = Q()
    for judge in judges:
        about |= Q(exclusive_key__contains=judge.public_id)
    jobs = apps.get_model("jobs", "Job")._base_manager
    return jobs.filter(about, status__in=("queued", "running", "paused")).exists()


def _join(apps, judges):
    first, *others = judges
    names = [judge.name for judge in judges]
    name = _common_name(apps, judges)
    for other in others:
        _move(apps, other, first)
    for model, keys in (("Judge", {"name"}), ("Rater", {"pseudonym", "external_id"})):
        row = first if model == "Judge" else first.rater
        type(row)._base_manager.filter(pk=row.pk).update(**dict.fromkeys(keys, name))
    study = apps.get_model("studies", "Study")._base_manager.filter(pk=first.study_id)
    study.filter(main_machine__in=names).update(main_machine=name)
    event = apps.get_model("studies", "StudyEvent")
    details = {"judge": name, "joined": names}
    event(
        study_id=first.study_id, at=database_now(), verb="join-machine-raters", details=details
    ).save()
    # The study's report is out of date.
    changes = apps.get_model("studies", "ReportChanges")._base_manager
    if not changes.filter(study_id=first.study_id).update(n=F("n") + 1):
        changes.create(study_id=first.study_id, n=1)


def _common_name(apps, judges):
    """Return what the names have in common, or the model's name, with a number if it is taken."""
    stems = [_stem(judge) for judge in judges]
    name = commonprefix(stems).rstrip(" :-_,./(") or judges[0].language_model or "judge"
    own = [judge.rater_id for judge in judges]
    raters = apps.get_model("annotation", "Rater")._base_manager.exclude(pk__in=own)
    of_study = Q(provider=f"import:{judges[0].study_id}") | Q(
        participations__study=judges[0].study_id
    )
    taken = {*raters.filter(of_study).values_list("pseudonym", flat=True)}
    machines = apps.get_model("machine_raters", "MachineRater")._base_manager
    others = machines.filter(study=judges[0].study_id).exclude(rater__in=own)
    taken |= {*others.values_list("name", flat=True)}
    numbered = (name, *(f"{name} ({number})" for number in range(2, len(taken) + 3)))
    return next(one for one in numbered if one not in taken)


def _move(apps, other, first):
    """Give everything of a judge to another one, and delete what is left of it."""
    _move_assignments(apps, other.rater_id, first.rater_id)
    for app, model in (("annotation", "Rating"), ("annotation", "Tally"), ("metrics", "Licence")):
        rows = apps.get_model(app, model)._base_manager.filter(rater_id=other.rater_id)
        rows.update(rater_id=first.rater_id)
    for model in ("Verdict", "JudgeFailure", "SyntheticVerdict", "JudgeCriterion"):
        rows = apps.get_model("machine_raters", model)._base_manager.filter(judge_id=other.pk)
        rows.update(judge_id=first.pk)
    members = apps.get_model("machine_raters", "Jury").members.through._base_manager
    with_first = members.filter(rater_id=first.rater_id).values_list("jury_id", flat=True)
    members.filter(rater_id=other.rater_id, jury_id__in=list(with_first)).delete()
    members.filter(rater_id=other.rater_id).update(rater_id=first.rater_id)
    for job in apps.get_model("jobs", "Job")._base_manager.filter(owner=other.study_id):
        if job.options.get("rater") == other.public_id:
            job.options["rater"] = first.public_id
            job.save(update_fields=["options"])
    rater = other.rater
    type(other)._base_manager.filter(pk=other.pk).delete()
    type(rater)._base_manager.filter(pk=rater.pk).delete()


def _move_assignments(apps, other, first):
    """Join assignments of the same task, run and order; ratings of both stay."""
    assignments = apps.get_model("annotation", "Assignment")._base_manager
    ratings = apps.get_model("annotation", "Rating")._base_manager
    keys = ("hit_id", "run", "order")
    own = {tuple(key): pk for *key, pk in assignments.filter(rater=first).values_list(*keys, "pk")}
    rows = assignments.filter(rater=other).values_list(*keys, "pk")
    double = {pk: own[tuple(key)] for *key, pk in rows if tuple(key) in own}
    for pk, kept in double.items():
        ratings.filter(assignment_id=pk).update(assignment_id=kept)
        assignments.filter(pk=pk).delete()
    assignments.filter(rater=other).update(rater_id=first)


class Migration(migrations.Migration):
    dependencies = [
        ("machine_raters", "0004_asks_together"),
        ("annotation", "0007_kept_days"),
        ("jobs", "0001_initial"),
        ("metrics", "0001_initial"),
        ("studies", "0014_event_by_name"),
    ]

    operations = [migrations.RunPython(join_judges)]

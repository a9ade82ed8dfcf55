"""Instances that training and the test show, whose right answer is told before: nobody rates them."""

from django.db.models import Case, Count, OuterRef, Q, Subquery, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThanOrEqual

from studies.models import Instance, Study, Unit

# Of a small study, all instances are rated: at most one in so many is set aside.
LEAST_RATED = 4
STAGES = (Unit.Role.TRAINING, Unit.Role.QUALIFICATION)

_shown = Unit.objects.filter(role__in=STAGES, instance__isnull=False).order_by()
_shown_of = _shown.filter(study=OuterRef("pk")).values("study")
_every_of = Instance.objects.filter(dataset=OuterRef("dataset")).order_by().values("dataset")
_n_shown = Coalesce(Subquery(_shown_of.annotate(n=Count("instance", distinct=True)).values("n")), 0)
_n_every = Coalesce(Subquery(_every_of.annotate(n=Count("*")).values("n")), 0)
_IS_LARGE = GreaterThanOrEqual(_n_every, LEAST_RATED * _n_shown)

# An expression on `Study`: how many instances are set aside.
N_SET_ASIDE = Case(When(_IS_LARGE, then=_n_shown), default=0)


def set_aside(study: Study) -> set[int]:
    """Return the instances of training and the test; none if they are more than a quarter of all.

    A plan of all instances leaves them out. A draw does not, so that its probabilities are those of its design.
    """
    if not Study.objects.values_list(N_SET_ASIDE, flat=True).get(pk=study.pk):
        return set()
    return set(_shown.filter(study=study).values_list("instance", flat=True))


def left_to_rate(study: Study, items: int) -> tuple[int, int]:
    """Return how many instances remain to be rated where training and the test show so many items, and of how many.

    Items with texts of their own take no instance.
    """
    own, shown = Count("pk", filter=Q(instance=None)), Count("instance", distinct=True)
    made = study.units.filter(role__in=STAGES).aggregate(own=own, shown=shown)
    every = Instance.objects.filter(dataset=study.dataset_id).count()
    taken = max(made["shown"], items - made["own"])
    return every - taken if every >= LEAST_RATED * taken else every, every


def every_instance_is_used(n_set_aside: int) -> str:
    """Return a sentence on a study for which nothing was drawn."""
    but = f", but for {n_set_aside} that training or the test shows" if n_set_aside else ""
    return f"Every instance with texts to rate is used{but}."

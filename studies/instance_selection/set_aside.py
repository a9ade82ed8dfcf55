"""Instances that training and the test show, whose right answer is told before: nobody rates them."""

from studies.models import Instance, Study, Unit

# Of a small study, all instances are rated: at most one in so many is set aside.
LEAST_RATED = 4
STAGES = (Unit.Role.TRAINING, Unit.Role.QUALIFICATION)


def set_aside(study: Study) -> set[int]:
    """Return the instances of training and the test; none if they are more than a quarter of all.

    A plan leaves them out, and a draw. What was drawn before stays, with its probabilities.
    """
    units = study.units.filter(role__in=STAGES, instance__isnull=False)
    shown = set(units.values_list("instance", flat=True))
    if not shown:
        return shown
    every = Instance.objects.filter(dataset=study.dataset_id).count()
    return shown if LEAST_RATED * len(shown) <= every else set()

"""What commands share."""

from django.core.management import CommandError

from studies.models import Study


def study_named(public_id: str) -> Study:
    """Return the study with an id that someone typed, or raise `CommandError`."""
    study = Study.objects.filter(pk=public_id).first()
    if study is None:
        raise CommandError(
            f"There is no study with the id {public_id!r}. The id is in the address of the study's"
            " pages."
        )
    return study

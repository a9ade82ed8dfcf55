"""What commands share."""

from django.contrib.auth.models import User
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


def user_named(username: str) -> User:
    """Return the user with a name that someone typed, or raise `CommandError`."""
    user = User.objects.filter(username=username).first()
    if user is None:
        raise CommandError(
            f"There is no user {username!r}. Create the user with `manage.py createsuperuser`, or on the"
            " page of users."
        )
    return user

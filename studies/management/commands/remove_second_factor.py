"""`manage.py remove_second_factor`: the way back in for somebody who lost their device."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from studies.members.two_factor import turn_off


class Command(BaseCommand):
    help = "Delete a user's device and recovery codes, so that the password is enough again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="the user name")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None or not turn_off(user):
            raise CommandError(f"{options['user']!r} has no second factor. Check the user name.")
        self.stdout.write(f"{user.get_username()} has no second factor now.")

"""The ASGI entry point."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_asgi_application()

from jobs.schema import refuse_unfit_database  # noqa: E402  models need loaded apps

refuse_unfit_database()

"""The WSGI entry point."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()

from jobs.schema import refuse_unfit_database  # noqa: E402  models need loaded apps

refuse_unfit_database()

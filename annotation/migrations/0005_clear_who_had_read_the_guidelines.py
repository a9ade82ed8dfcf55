from django.db import migrations
from django.db.models import F


def clear(apps, schema_editor):
    participations = apps.get_model("annotation", "Participation").objects
    participations.update(confirmed_at=F("consented_at"), cleared_at=F("guidelines_read_at"))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0004_screening_and_recruitment")]
    operations = [migrations.RunPython(clear, migrations.RunPython.noop)]

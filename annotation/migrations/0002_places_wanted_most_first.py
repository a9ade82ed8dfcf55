from django.db import migrations, models
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce


def count_remaining(apps, schema_editor):
    Place = apps.get_model("annotation", "Place")
    siblings = Place.objects.filter(hit=OuterRef("hit"), completed_at__isnull=True)
    count = siblings.order_by().values("hit").annotate(n=Count("pk")).values("n")
    Place.objects.update(remaining=Coalesce(Subquery(count), 0))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial"), ("studies", "0001_initial")]

    operations = [
        migrations.RemoveIndex(model_name="place", name="place_open_by_draw"),
        migrations.AddField(
            model_name="place",
            name="remaining",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.RunPython(count_remaining, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="place",
            index=models.Index(
                condition=models.Q(("completed_at__isnull", True)),
                fields=["study", "remaining", "draw"],
                name="place_wanted_most_first",
            ),
        ),
    ]

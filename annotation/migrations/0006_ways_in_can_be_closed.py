from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0005_clear_who_had_read_the_guidelines'),
    ]

    operations = [
        migrations.AddField(
            model_name='recruitment',
            name='closed_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]

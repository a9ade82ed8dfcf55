from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0006_ways_in_can_be_closed'),
    ]

    operations = [
        migrations.AlterField(
            model_name='participation',
            name='status',
            field=models.CharField(choices=[('active', 'Active'), ('finished', 'Finished'), ('no_consent', 'No Consent'), ('screened_out', 'Screened Out'), ('stopped', 'Stopped'), ('left', 'left early'), ('returned', 'Returned'), ('rejected', 'Rejected'), ('timed_out', 'Timed Out'), ('released', 'Released'), ('excluded', 'Excluded')], default='active', max_length=15),
        ),
        migrations.AddField(
            model_name='participation',
            name='owed',
            field=models.DecimalField(decimal_places=2, max_digits=10, null=True),
        ),
    ]

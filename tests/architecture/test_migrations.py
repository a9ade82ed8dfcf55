import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_no_migration_is_missing(capsys):
    call_command("makemigrations", check=True, dry_run=True)
    assert "No changes detected" in capsys.readouterr().out


def test_analyze_and_convert_need_no_database():
    from metrics.management.commands import analyze
    from studies.management.commands import convert

    assert analyze.Command.requires_migrations_checks is False
    assert convert.Command.requires_migrations_checks is False

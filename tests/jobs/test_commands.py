"""What commands of `manage.py` say of arguments and files that they cannot use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

import manage


@pytest.mark.django_db
def test_an_argument_that_is_no_text_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["manage.py", "check_licences", "\udcff"])
    with pytest.raises(SystemExit, match="not_utf8"):
        manage.main()


def test_a_file_that_cannot_be_used_is_named_in_a_sentence(tmp_path):
    said = rf"file_unusable: {tmp_path}/absent/\S+ cannot be used: .+\. Name another"
    with pytest.raises(CommandError, match=said):
        call_command("backup", str(tmp_path / "absent/file.zip"))


@pytest.mark.parametrize(
    ("database", "code"),
    [("empty.sqlite3", b"not_migrated: "), ("absent/x", b"database_unusable: ")],
)
def test_a_database_that_cannot_be_used_is_told_in_a_sentence(tmp_path, database, code):
    address = f"sqlite:///{tmp_path / database}"
    done = printed("check_licences", TIEBREAK_DATABASE_URL=address)
    assert done.returncode == 1
    assert done.stderr.startswith(code)
    assert done.stderr.count(b"\n") == 1


def printed(
    *arguments: str, stdout: int = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    root, environment = Path(manage.__file__).parent, {**os.environ, **environment}
    environment["PYTHONIOENCODING"] = "ascii"
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command, cwd=root, env=environment, stdout=stdout, stderr=subprocess.PIPE, check=False
    )


def test_a_command_whose_reader_has_gone_ends_without_a_word():
    reader, writer = os.pipe()
    os.close(reader)
    done = printed("--version", stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (manage.READER_GONE, b"")


def test_a_terminal_without_our_quotation_marks_is_no_failure():
    done = printed("shell", "--no-imports", "-c", "print('“')")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"\\u201c\n", b"")

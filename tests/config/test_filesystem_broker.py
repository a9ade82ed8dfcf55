"""The broker of files, on which the demo's web server and worker meet."""

from pathlib import Path

import pytest
from kombu import Connection


def connect(folder: Path) -> Connection:
    """Return a connection. A process binds a queue once, in one folder, so each test has its own queue."""
    names = ("data_folder_in", "data_folder_out", "control_folder")
    return Connection("filesystem://", transport_options=dict.fromkeys(names, str(folder)))


def test_a_message_has_its_name_only_when_it_is_complete(tmp_path, monkeypatch):
    write, readable = Path.write_bytes, []

    def spy(path: Path, content: bytes) -> int:
        written = write(path, content)
        readable.append([file for file in tmp_path.iterdir() if file.suffix == ".msg"])
        return written

    monkeypatch.setattr(Path, "write_bytes", spy)
    with connect(tmp_path) as connection, connection.SimpleQueue("works") as queue:
        queue.put({"job": 7})
        (message,) = tmp_path.glob("*.works.msg")
        assert readable == [[]]
        assert message.stat().st_size
        assert queue.get(timeout=30).payload == {"job": 7}
        assert not list(tmp_path.glob("*.works.msg"))


def test_a_message_that_is_being_written_is_not_read(tmp_path):
    with connect(tmp_path) as connection, connection.SimpleQueue("others") as queue:
        (tmp_path / "1_a.others.msg.partial").write_bytes(b"")
        with pytest.raises(queue.Empty):
            queue.get(block=False)

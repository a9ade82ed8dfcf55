"""The broker of files, which the demo uses: a worker never reads half a message.

Kombu's own transport opens a message under its final name before it writes it. A worker that looks
in between reads an empty file, and dies of it.
"""

from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    def _put(self, queue: Any, payload: Any, **_: Any) -> None:  # type: ignore[override]
        """Write a message under another name, and rename it when it is complete."""
        name = f"{round(monotonic() * 1000)}_{uuid4()}.{queue}.msg"
        folder = Path(self.data_folder_out)
        partial = folder / f"{name}.partial"
        try:
            partial.write_bytes(dumps(payload).encode())  # type: ignore[no-untyped-call]
            partial.replace(folder / name)
        except OSError as error:
            raise ChannelError(f"Cannot add the message {name} to {folder}.") from error


class Transport(filesystem.Transport):
    Channel = Channel

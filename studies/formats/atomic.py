"""Files and folders that appear under their final name only when they are whole."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary sibling to write to; it takes the place of `path` when the block succeeds."""
    temporary = _sibling(path)
    temporary.touch(exist_ok=False)
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A temporary sibling folder to fill; it becomes `path` when the block succeeds.

    What stood at `path` is moved aside first and removed last, so that no crash loses both.
    """
    temporary = _sibling(path)
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.rglob("*"):
            _sync(file)
        _swap(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sibling(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(8)}.part")


def _swap(fresh: Path, path: Path) -> None:
    if not path.exists():
        fresh.rename(path)
        return
    aside = path.with_name(f".{secrets.token_hex(8)}.old")
    path.rename(aside)
    try:
        fresh.rename(path)
    except OSError:
        aside.rename(path)
        raise
    shutil.rmtree(aside)


def _sync(path: Path) -> None:
    if path.is_file():
        with path.open("rb") as stream:
            os.fsync(stream.fileno())

"""The files of a bundle by name, out of a folder or out of a .zip that is not trusted."""

import io
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol, cast

from studies.formats.limits import Limits
from studies.formats.problems import FormatError, refusal

_MOST_MEMBERS = 1000
_SMALL = 1024 * 1024
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)


class BundleFiles(Protocol):
    """Names are plain: the files lie side by side."""

    name: str

    def has(self, file: str) -> bool: ...
    def opened(self, file: str) -> AbstractContextManager[BinaryIO]: ...


def bundle_files(path: Path, limits: Limits) -> BundleFiles:
    """The files at `path`; raise FormatError where it is no bundle or an archive to distrust."""
    if path.is_dir():
        return FolderFiles(path)
    if not path.is_file():
        raise refusal(path.name, "there is no such folder or .zip file.")
    try:
        return ZipFiles(path, limits)
    except FormatError:
        raise
    except (*_BROKEN, UnicodeDecodeError, ValueError) as error:
        raise refusal(path.name, f"this is neither a folder nor a readable .zip: {error}") from None


class FolderFiles:
    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.path = path.resolve()

    def has(self, file: str) -> bool:
        target = (self.path / file).resolve()
        return target.is_file() and target.is_relative_to(self.path)

    @contextmanager
    def opened(self, file: str) -> Iterator[BinaryIO]:
        with (self.path / file).open("rb") as stream:
            yield stream


class ZipFiles:
    """Members are streamed out of the archive: nothing is unpacked, no name becomes a path."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self.name = path.name
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.members = _checked_members(archive, path.name, limits)

    def has(self, file: str) -> bool:
        return file in self.members

    @contextmanager
    def opened(self, file: str) -> Iterator[BinaryIO]:
        try:
            with zipfile.ZipFile(self.path) as z, z.open(self.members[file]) as stream:
                yield _seekable(cast(BinaryIO, stream), file)
        except FormatError:
            raise
        except _BROKEN as error:
            raise refusal(f"{self.name}/{file}", f"the archive is damaged: {error}") from None


def _seekable(stream: BinaryIO, file: str) -> BinaryIO:
    """Parquet is read from its end: that member is laid on the disk for a while."""
    if not file.endswith(".parquet"):
        return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream), _SMALL))
    spooled = tempfile.TemporaryFile()  # noqa: SIM115  it goes when the reader lets go of it
    while block := stream.read(_SMALL):
        spooled.write(block)
    spooled.seek(0)
    return cast(BinaryIO, spooled)


def _checked_members(archive: zipfile.ZipFile, file: str, limits: Limits) -> dict[str, str]:
    """Plain name → member name. One folder that holds everything may be the archive's top."""
    infos = [info for info in archive.infolist() if not _is_clutter(info)]
    if len(infos) > _MOST_MEMBERS:
        raise refusal(file, f"the archive has {len(infos):,} files; {_MOST_MEMBERS} are allowed.")
    for info in infos:
        _check_member(info, file, limits)
    size = sum(info.file_size for info in infos)
    if size > limits.archive_bytes:
        raise refusal(file, f"the archive unfolds to {size:,} bytes: more than is allowed.")
    return _plain_names([info.filename for info in infos if not info.is_dir()], file)


def _is_clutter(info: zipfile.ZipInfo) -> bool:
    return info.filename.startswith("__MACOSX/") or info.filename.endswith("/.DS_Store")


def _check_member(info: zipfile.ZipInfo, file: str, limits: Limits) -> None:
    # orig_filename: zipfile itself cuts names at a NUL, which would hide it.
    name = info.orig_filename
    path = PurePosixPath(name)
    odd = "\\" in name or ":" in name or not name.isprintable()
    if odd or path.is_absolute() or ".." in path.parts:
        raise refusal(file, f"the archive holds {name!r}, a name that leads elsewhere.")
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG, stat.S_IFDIR}:
        raise refusal(file, f"the archive holds {name!r}, which is a link and no file.")
    if info.flag_bits & 1:
        raise refusal(file, f"{name!r} is encrypted: pack the bundle without a password.")
    if info.file_size > _SMALL and info.file_size > limits.archive_ratio * info.compress_size:
        raise refusal(file, f"{name!r} is packed tighter than any real text: unpack it first.")


def _plain_names(names: list[str], file: str) -> dict[str, str]:
    tops = {PurePosixPath(name).parts[0] for name in names if "/" in name}
    prefix = ""
    if len(tops) == 1 and all("/" in name for name in names):
        prefix = f"{tops.pop()}/"
    plain = {name.removeprefix(prefix): name for name in names}
    if len(plain) < len(names):
        raise refusal(file, "the archive holds two files of one name.")
    return plain

"""Which encoding a text file has, and its text as UTF-8."""

import codecs
import io
from pathlib import Path
from typing import IO

from tiebreak import optional

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Encodings of one or two bytes that tables still have, by how often they are met.
LEGACY = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "mac_roman"),
    *("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "koi8_r"),
)
CHUNK, SAMPLE = 1024 * 1024, 64 * 1024
# Share of NUL bytes above which a file without a mark is read as UTF-16.
MIN_NULS = 0.2


def encoding_of(path: Path) -> str:
    """Return the encoding of a text file; "utf-8" also for UTF-8 with some other bytes in it."""
    with path.open("rb") as file:
        head = file.read(4096)
        for mark, name in BOMS:
            if head.startswith(mark):
                return name
        if head.count(0) > MIN_NULS * len(head):
            return "utf-16-le" if head[1::2].count(0) >= head[::2].count(0) else "utf-16-be"
        file.seek(0)
        return "utf-8" if _is_utf8(file) else _legacy_encoding(file)


def write_as_utf8(source: Path, target: Path, encoding: str) -> None:
    """Copy a file as UTF-8; bytes that the encoding does not have stay as they are."""
    with (
        source.open("r", encoding=encoding, errors="surrogateescape", newline="") as text,
        target.open("w", encoding="utf-8", errors="surrogateescape", newline="") as out,
    ):
        while chunk := text.read(CHUNK):
            out.write(chunk)


def _is_utf8(file: IO[bytes]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while chunk := file.read(CHUNK):
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _legacy_encoding(file: IO[bytes]) -> str:
    """Return the encoding of a file that is not UTF-8, unless most of its other text is."""
    file.seek(0)
    sample = io.BytesIO()
    utf8 = other = 0
    for line in iter(lambda: file.readline(CHUNK), b""):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
            utf8 += 1
        except UnicodeDecodeError:
            other += 1
            if sample.tell() < SAMPLE:
                sample.write(line[:SAMPLE])
    return "utf-8" if utf8 else _detected(sample.getvalue())


def _detected(sample: bytes) -> str:
    """Return the most likely encoding of lines in which each byte counts."""
    charset = optional.load("charset_normalizer")
    best = charset.from_bytes(sample, cp_isolation=list(LEGACY)).best()
    western = _decodes(sample, "cp1252") and _is_mostly_western(sample)
    if western or best is None:
        return "cp1252" if _decodes(sample, "cp1252") else "latin-1"
    return str(best.encoding)


def _decodes(sample: bytes, encoding: str) -> bool:
    try:
        sample.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _is_mostly_western(sample: bytes) -> bool:
    """Whether letters with accents stand alone, as in Western European words, not in a row."""
    text = sample.decode("cp1252")
    beyond = [i for i, character in enumerate(text) if not character.isascii()]
    beside = sum(1 for i in beyond if text[i - 1 : i].isalpha() and not text[i - 1].isascii())
    common = sum(
        text[i] in "àâäáãåæçèéêëìíîïñòóôöõøœùúûüÿßÀÁÂÄÅÆÇÈÉÊËÍÎÑÓÔÖØÚÜ–—‘’“”…€£«»°§©®¿¡"
        for i in beyond
    )
    return common >= 0.9 * len(beyond) and beside <= 0.35 * len(beyond)

"""Which encoding a text file has, and its text as UTF-8."""

import codecs
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from tiebreak import optional
from tiebreak.formats.errors import FormatError

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
# How PDF files and the documents of old Office programs begin, and text never does.
DOCUMENTS = (b"%PDF", b"\xd0\xcf\x11\xe0")
# How texts begin that have no rows: a tag before another tag, a document of YAML, a name before a list.
MARKUP = (
    (re.compile(r"\s*(<!doctype\s+html|<html[\s>])", re.IGNORECASE), "HTML"),
    (
        re.compile(
            r"\s*(<\?xml\s|<!doctype\s|<!--|<[A-Za-z][\w:.-]*(\s[^<>]*)?>\s*<)", re.IGNORECASE
        ),
        "XML",
    ),
    (re.compile(r"\s*\{\\rtf"), "RTF"),
    (
        re.compile(r"(\s*#.*\n)*(%YAML|---\s*\n|(- )?[\w-]+:\s*\n\s*- |- [\w-]+: .*\n  [\w-]+:)"),
        "YAML",
    ),
)
NO_TABLE = (
    "is {}, which has no rows and columns. Write it as {}, with one row for each item or rating, and choose"
    " that file"
)
# Text has hardly any control characters but these; a stray NUL or separator is left to its cell.
CONTROLS = frozenset(map(chr, range(32))) - set("\t\n\v\f\r\x1a\x1b")
BESIDE_NUL = bytes(map(ord, CONTROLS - {"\0"}))
# Two of these are in every table, each with a NUL byte in UTF-16; a stray one makes only one of them.
SEPARATORS = frozenset("\n\r\t,;|:")
KINDS_IN_TEXT, SHARE_IN_TEXT, MOST_IN_TEXT = 2, 0.01, 0.3
NOT_TEXT = "cannot be read here. Save its content as {}, and choose that file"


def check_is_text(path: Path, readable: str) -> None:
    """Raise `FormatError` for a picture, a document, a program, or what else is no text."""
    with path.open("rb") as file:
        head = file.read(SAMPLE)
    if head.startswith(DOCUMENTS):
        raise FormatError.of(path.name, None, "unknown_format", NOT_TEXT.format(readable))
    wide = _wide_encoding(head)
    if not wide:
        _check_no_nul(path, head, readable)
    text = head.decode(wide or "latin-1", errors="ignore")
    odd = [character for character in text if character in CONTROLS]
    is_varied = len(set(odd)) > KINDS_IN_TEXT and len(odd) > SHARE_IN_TEXT * len(text)
    if is_varied or len(odd) > MOST_IN_TEXT * len(text):
        raise FormatError.of(path.name, None, "not_text", NOT_TEXT.format(readable))
    text = text.removeprefix("\ufeff").removeprefix("ï»¿")
    kind = next((name for begins, name in MARKUP if begins.match(text)), "")
    if kind:
        reason = NO_TABLE.format(kind, readable)
        raise FormatError.of(path.name, None, "not_a_table", reason)


def _check_no_nul(path: Path, part: bytes, readable: str) -> None:
    """Raise `FormatError` if bytes beside NUL are no UTF-8, which only binary files have; `part` may be cut."""
    if b"\0" in part and not _is_utf8_so_far(part):
        raise FormatError.of(path.name, None, "not_text", NOT_TEXT.format(readable))


def encoding_of(path: Path, readable: str) -> str:
    """Return the encoding of a text file; "utf-8" also for UTF-8 with some other bytes in it.

    Raises `FormatError` where the file turns out to be no text after its beginning.
    """
    with path.open("rb") as file:
        wide = _wide_encoding(file.read(SAMPLE))
        file.seek(0)
        if wide or _is_utf8(file):
            return wide or "utf-8"
        file.seek(0)
        lines = iter(lambda: file.readline(CHUNK), b"")
        return _legacy_encoding(_checked(path, lines, readable))


def _checked(path: Path, lines: Iterator[bytes], readable: str) -> Iterator[bytes]:
    for line in lines:
        _check_no_nul(path, line, readable)
        yield line


def _wide_encoding(head: bytes) -> str:
    """Return the encoding that a file's beginning is marked with or its NUL bytes tell, or ""."""
    for mark, name in BOMS:
        if head.startswith(mark):
            return name
    first, second = head[::2].count(0), head[1::2].count(0)
    # In UTF-16, the NUL bytes are one half of a character, always the same.
    if first + second > MIN_NULS * len(head) and 10 * min(first, second) < max(first, second):
        return "utf-16-le" if second > first else "utf-16-be"
    is_narrow = _is_utf8_so_far(head) and head.translate(None, BESIDE_NUL) == head
    if first + second and not is_narrow:
        return next((name for name in ("utf-16-le", "utf-16-be") if _reads_as(head, name)), "")
    return ""


def _is_utf8_so_far(part: bytes) -> bool:
    """Whether a part, whose last character may be cut, is UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(part)
    except UnicodeDecodeError:
        return False
    return True


def _reads_as(head: bytes, encoding: str) -> bool:
    """Whether a beginning, in which hardly any letter has a NUL byte, is lines or cells in UTF-16."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return False
    rest = text.translate(dict.fromkeys(map(ord, "\t\n\v\f\r")))
    kinds = {unicodedata.category(character) for character in set(rest)}
    return len(SEPARATORS.intersection(text)) > 1 and kinds.isdisjoint({"Cc", "Cn", "Co", "Cs"})


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


def _legacy_encoding(lines: Iterable[bytes]) -> str:
    """Return the encoding of a file that is not UTF-8, unless most of its other text is."""
    sample = io.BytesIO()
    utf8 = other = 0
    for line in lines:
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
    western = _is_cp1252(sample) and _is_mostly_western(sample)
    if western or best is None:
        return "cp1252" if _is_cp1252(sample) else "latin-1"
    return str(best.encoding)


def _is_cp1252(sample: bytes) -> bool:
    try:
        sample.decode("cp1252")
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

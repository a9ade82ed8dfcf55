"""Which encoding a file has: UTF-16 without a mark in any script, and what is no text at all."""

import random

import pytest

from tests.refusals import refused_file
from tiebreak.formats.tables.encodings import SAMPLE, encoding_of
from tiebreak.formats.tables.problems import TableProblems
from tiebreak.formats.tables.reading import open_table

SENTENCES = {
    "arabic": "اجتمعت اللجنة يوم الثلاثاء لمناقشة الميزانية.",
    "chinese": "委员会星期二开会讨论预算，一致同意上调道路开支。",
    "german": "Der Ausschuss prüfte am Dienstag die Höhe der Ausgaben für Straßen.",
    "greek": "Η επιτροπή συνεδρίασε την Τρίτη για τον προϋπολογισμό.",
    "hebrew": "הוועדה התכנסה ביום שלישי כדי לדון בתקציב.",
    "hindi": "समिति ने मंगलवार को बजट पर चर्चा की।",
    "japanese": "委員会は火曜日に予算について話し合いました。一部の道路も直します。",
    "korean": "위원회는 화요일에 모여 예산을 논의했다.",
    "russian": "Комитет собрался во вторник, чтобы обсудить бюджет.",
    "thai": "คณะกรรมการประชุมกันในวันอังคารเพื่อหารือเรื่องงบประมาณ",
    "emoji": "Great 👍 roads 🚗 and more 🎉",
}
ROWS = [1, 3, 400]


def table(sentence: str, n: int, *, header: str = "id\ttext", name: str = "") -> str:
    return "\r\n".join([header, *(f"{name}{i}\t{sentence * (1 + i % 3)}" for i in range(n)), ""])


def texts_in(path) -> list[str]:
    problems = TableProblems()
    with open_table(path) as opened:
        rows = [row for _, row in opened.rows(problems)]
    assert not problems.items
    return [[*row.values()][1] for row in rows]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8"])
@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("script", SENTENCES)
def test_unicode_is_read_in_any_script_with_or_without_a_mark(script, n, encoding, tmp_path):
    sentence = SENTENCES[script]
    header = f"{sentence[:4]}\t{sentence[5:9]}"  # no word of it need be in Latin letters
    for named in (table(sentence, n), table(sentence, n, header=header, name=sentence[:2])):
        path = tmp_path / "t.tsv"
        path.write_bytes(named.encode(encoding))
        assert texts_in(path) == [sentence * (1 + i % 3) for i in range(n)]


LEGACY = [
    ("cp1252", "german"),
    ("cp1251", "russian"),
    ("cp1253", "greek"),
    ("cp1255", "hebrew"),
    ("cp1256", "arabic"),
    ("shift_jis", "japanese"),
    ("gb18030", "chinese"),
    ("euc_kr", "korean"),
    ("utf-8", "chinese"),
    ("utf-8", "german"),
]


@pytest.mark.parametrize(("encoding", "script"), LEGACY)
@pytest.mark.parametrize("n", ROWS)
def test_other_encodings_are_not_taken_for_utf_16_because_of_a_stray_nul(
    encoding, script, n, tmp_path
):
    """Wherever it stands, and whichever half of a character it would be."""
    content, path = table(SENTENCES[script], n).encode(encoding), tmp_path / "t.tsv"
    rng, seen = random.Random(n), set()
    for place in (0, 2, 3, 8, 9, *rng.sample(range(len(content)), min(200, len(content)))):
        path.write_bytes(content[:place] + b"\0" * rng.choice((1, 1, 2)) + content[place:])
        try:
            seen.add(encoding_of(path, "a table"))
        except ValueError as refusal:
            seen.add(refusal.code)
    assert not {name for name in seen if name.startswith("utf-16")}


MAGIC = {
    "a.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\b\2",
    "a.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1",
    "a.gif": b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff",
    "a.out": b"\x7fELF\2\1\1\0\0\0\0\0",
    "a.7z": b"7z\xbc\xaf'\x1c\0\4",
    "a.wasm": b"\0asm\1\0\0\0",
    "a.sqlite": b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20\0\0\0\7",
}
TEXT_BEFORE = {"nothing": b"", "a line": b"id,text\n", "much": b"1,A line of text.\n" * 5_000}


@pytest.mark.parametrize("before", TEXT_BEFORE)
@pytest.mark.parametrize("size", [24, 60, 79, 5_000])
@pytest.mark.parametrize("name", MAGIC)
def test_a_binary_file_is_no_text_however_small_it_is_and_whatever_stands_first(
    name, size, before, tmp_path
):
    noise = MAGIC[name] + random.Random(name).randbytes(size)
    (tmp_path / name).write_bytes(TEXT_BEFORE[before] + noise[:size] + b"\0\xff")
    assert len(TEXT_BEFORE["much"]) > SAMPLE
    with refused_file((name, None, "not_text")), open_table(tmp_path / name):
        pass

import zipfile

import pytest

from tests.refusals import places_of, refused_file
from tests.tiebreak.formats.bundles import FLAWS, append, make_bundle
from tiebreak.formats import FormatError, read_bundle, write_bundle


def zipped(folder, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, f"{folder.name}/{file.name}")
    return path


def test_it_works(tmp_path):
    bundle = read_bundle(make_bundle(tmp_path / "b", with_ratings=True))
    assert bundle.spec.systems == ("old", "new")
    assert bundle.spec.guidelines == "Read both."
    assert len(bundle.instances) == 3
    assert len(bundle.generations) == 12
    assert len(bundle.ratings) == 12


def test_a_zip_is_read_like_its_folder(tmp_path):
    folder = make_bundle(tmp_path / "b")
    assert read_bundle(zipped(folder, tmp_path / "b.zip")) == read_bundle(folder)


def test_what_is_written_is_read_back(tmp_path):
    bundle = read_bundle(make_bundle(tmp_path / "b"))
    write_bundle(tmp_path / "again", bundle.spec, bundle.instances, bundle.generations)
    assert read_bundle(tmp_path / "again") == bundle


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_is_named_with_its_line_and_reason(flaw, tmp_path):
    damage, place = FLAWS[flaw]
    folder = make_bundle(tmp_path / "b", with_ratings=True)
    damage(folder)
    with pytest.raises(FormatError) as refusal:
        read_bundle(folder)
    assert places_of(refusal.value)[0] == place


def test_every_bad_row_is_named_at_once(tmp_path):
    folder = make_bundle(tmp_path / "b")
    for name in ("x", "y", "z"):
        append(folder / "generations.jsonl", f'{{"instance":"i0","system":"{name}","text":"t"}}')
    with refused_file(*(("generations.jsonl", line, "unknown_system") for line in (13, 14, 15))):
        read_bundle(folder)


@pytest.mark.parametrize("name", ["../evil.jsonl", "/etc/evil", "a/../../evil", "c:evil"])
def test_a_zip_cannot_reach_outside(name, tmp_path):
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "x")
    with refused_file(("evil.zip", None, "unsafe_path")):
        read_bundle(path)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("study.toml", b"0" * 30_000_000)
    with refused_file(("bomb.zip", None, "packed_too_tight")):
        read_bundle(path)


class Interrupted(OSError):
    """An error as from a full disk."""


def test_an_interrupted_write_leaves_nothing(tmp_path):
    bundle = read_bundle(make_bundle(tmp_path / "b"))

    def broken():
        yield bundle.generations[0]
        raise Interrupted

    with pytest.raises(Interrupted):
        write_bundle(tmp_path / "out", bundle.spec, bundle.instances, broken())
    assert [path.name for path in tmp_path.iterdir()] == ["b"]

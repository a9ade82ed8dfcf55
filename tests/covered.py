"""How much of each package the tests ran, by what coverage measured: `python -m tests.covered`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from coverage import Coverage

from tests.paths import ROOT


def package_of(path: Path) -> str:
    """The folder of a file, two levels deep at most."""
    return "/".join(path.relative_to(ROOT).parent.parts[:2]) or "."


def lines(statements: Counter[str], missed: Counter[str]) -> Iterator[str]:
    """A line for each package and one for all together, with the number of statements."""
    for package in sorted(statements):
        yield line(package, statements[package], missed[package])
    yield line("all packages", statements.total(), missed.total())


def line(name: str, statements: int, missed: int) -> str:
    share = 1 - missed / statements if statements else 1
    return f"{name:<32}{share:>8.1%}{statements:>9,}"


def main() -> None:
    measured = Coverage(config_file=str(ROOT / "pyproject.toml"))
    measured.load()
    statements: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for path in map(Path, measured.get_data().measured_files()):
        _, every, _, not_run, _ = measured.analysis2(str(path))
        statements[package_of(path)] += len(every)
        missed[package_of(path)] += len(not_run)
    print(*lines(statements, missed), sep="\n")


if __name__ == "__main__":
    main()

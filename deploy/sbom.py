"""Writes bills of materials of what is locked, and refuses licences that are not allowed: `make sbom`.

There is one of the server and one of the plain library, in CycloneDX's format. Names, versions and
hashes are those of the lock; licences are those that the installed packages state.
"""

import hashlib
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.licences import Policy, Refusal, stated
from tiebreak import __version__

ROOT = Path(__file__).parents[1]
SHA_256 = HashAlgorithm.SHA_256
FONTS = {".eot", ".otf", ".ttf", ".woff", ".woff2"}
# What a script of another project says of itself: `/*! jQuery v3.7.1`, or `version:"2.0.10"` in its code.
BANNER = re.compile(r"\s*/\*!?[\s*]*(\w+)[\w ]*\sv?(\d+\.\d+\.\d+)")
VERSION = re.compile(r"""\bversion\s*[:=]\s*["'](\d+\.\d+\.\d+)["']""")
NOT_INSTALLED = (
    "{} {} is locked but not installed, so its licence is not known. Run"
    " `make .venv/dev.installed`, and try again."
)


@dataclass(frozen=True)
class Pin:
    """A version in the lock, with the hashes of its files and the names of what depends on it."""

    name: str
    version: str
    is_for_this_machine: bool
    hashes: tuple[str, ...]
    parents: frozenset[str]

    @property
    def url(self) -> PackageURL:
        return PackageURL("pypi", None, self.name, self.version)

    def installed(self) -> metadata.Distribution | None:
        found = metadata.distributions(name=self.name)
        return next((one for one in found if one.version == self.version), None)


def read_lock(lock: Path) -> list[Pin]:
    """Read what `uv pip compile` writes: each version with its hashes, then what depends on it."""
    text = lock.read_text().replace("\\\n", " ")
    entries = re.findall(r"^(\w.*?==.+)\n((?:\s+#.*\n)*)", text, re.M)
    return [_pin(*entry) for entry in entries]


def _pin(line: str, comment: str) -> Pin:
    words, *hashes = re.split(r"\s+--hash=sha256:", line.strip())
    requirement = Requirement(words)
    return Pin(
        name=canonicalize_name(requirement.name),
        version=str(requirement.specifier).removeprefix("=="),
        is_for_this_machine=requirement.marker is None or requirement.marker.evaluate(),
        hashes=tuple(hashes),
        parents=frozenset(re.findall(r"^\s+#(?: via)? +([\w.-]+)", comment, re.M)),
    )


def of_library(pins: list[Pin], project: Path) -> list[Pin]:
    """Return what the plain library depends on, and what that needs."""
    lines = tomllib.loads(project.read_text())["project"]["dependencies"]
    needed: set[str] = {canonicalize_name(Requirement(line).name) for line in lines}
    found: set[str] = set()
    while needed - found:
        found |= needed
        needed |= {pin.name for pin in pins if pin.parents & found}
    return [pin for pin in pins if pin.name in found]


def component(pin: Pin, policy: Policy) -> Component:
    """Describe a version, by the hashes of all its files. What is for other machines only has no licence here."""
    package = pin.installed()
    files = [Path(str(path.locate())) for path in (package and package.files) or ()]
    return Component(
        type=ComponentType.LIBRARY,
        name=pin.name,
        version=pin.version,
        bom_ref=str(pin.url),
        purl=pin.url,
        scope=ComponentScope.REQUIRED if pin.is_for_this_machine else ComponentScope.OPTIONAL,
        licenses=policy.licences(pin.name, stated(package.metadata)) if package else (),
        components=vendored(files, str(pin.url), policy),
        hashes=[HashType(alg=SHA_256, content=one) for one in pin.hashes],
    )


def vendored(files: Iterable[Path], owner: str, policy: Policy) -> list[Component]:
    """Describe the fonts and the scripts of other projects among files for browsers."""
    found = defaultdict[tuple[str, str | None, bool], list[Path]](list)
    for file in files:
        if "static" in file.parts and (library := _library_in(file)):
            found[library].append(file)
    return [
        Component(
            type=ComponentType.LIBRARY,
            name=name,
            version=version,
            bom_ref=f"{owner}#{name}",
            purl=PackageURL("npm", None, name, version) if names_itself else None,
            licenses=policy.licences(name, ()),
            components=[_file(path, owner) for path in paths],
        )
        for (name, version, names_itself), paths in found.items()
    ]


def _library_in(file: Path) -> tuple[str, str | None, bool] | None:
    """Return the name and the version of what a file is, and whether it says its name itself."""
    if file.suffix in FONTS:
        return file.stem, None, False
    if file.suffix != ".js":
        return None
    text = file.read_text(errors="replace")
    if banner := BANNER.match(text):
        return banner[1].lower(), banner[2], True
    versions = set(VERSION.findall(text))
    version = versions.pop() if len(versions) == 1 else None
    return (re.split(r"\W", file.stem)[0], version, False) if version or versions else None


def _file(path: Path, owner: str) -> Component:
    name = str(path).rpartition("/static/")[2]
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    hashes = [HashType(alg=SHA_256, content=digest)]
    return Component(type=ComponentType.FILE, name=name, bom_ref=f"{owner}#{name}", hashes=hashes)


def bill(root: Component, parts: dict[Pin, Component]) -> Bom:
    """Make the bill of materials of the server or of the library."""
    bom = Bom(components=parts.values())
    bom.metadata.component = root
    for parent in (root, *parts.values()):
        needed = [part for pin, part in parts.items() if parent.name in pin.parents]
        bom.register_dependency(parent, needed)
    return bom


def _root(kind: ComponentType, static: Iterable[Path], policy: Policy) -> Component:
    url = PackageURL("pypi", None, "tiebreak", __version__)
    return Component(
        type=kind,
        name=url.name,
        version=url.version,
        bom_ref=str(url),
        licenses=policy.licences(url.name, ["Apache-2.0"]),
        components=vendored(static, str(url), policy),
    )


def write(*, project: Path, lock: Path, static: Path, out: Path) -> list[Refusal]:
    """Write both bills, and return what is refused."""
    policy, pins = Policy.of(project), read_lock(lock)
    parts = {pin: component(pin, policy) for pin in pins}
    server = _root(ComponentType.APPLICATION, sorted(static.rglob("*")), policy)
    bills = {
        "server": bill(server, parts),
        "library": bill(
            _root(ComponentType.LIBRARY, (), policy),
            {pin: parts[pin] for pin in of_library(pins, project)},
        ),
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, bom in bills.items():
        outputter = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6)
        outputter.output_to_file(str(out / f"{name}.cdx.json"), allow_overwrite=True, indent=2)
    return [*policy.refusals(server), *_refusals(parts, policy)]


def _refusals(parts: dict[Pin, Component], policy: Policy) -> Iterator[Refusal]:
    for pin, part in parts.items():
        if pin.installed():
            yield from policy.refusals(part)
        elif pin.is_for_this_machine:
            yield "not_installed", NOT_INSTALLED.format(pin.name, pin.version)


def main() -> int:
    out = ROOT / "build" / "sbom"
    refused = write(
        project=ROOT / "pyproject.toml",
        lock=ROOT / "requirements" / "runtime.txt",
        static=ROOT / "static",
        out=out,
    )
    for code, sentence in sorted(set(refused)):
        print(f"{code}: {sentence}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())

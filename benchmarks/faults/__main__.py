"""Two web hosts and three workers under faults: `make bench-faults [ONLY=cut,redis,…]`.

Writes `docs/reliability.md`. Needs root, because hosts are network namespaces.
"""

import json
import math
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.crowd import Annotator
from benchmarks.faults import hosts
from benchmarks.faults.kinds import FAULTS
from benchmarks.faults.site import HITS, PEOPLE, RATINGS, SCORED, Site, Trial
from benchmarks.servers import ROOT

PAGE = ROOT / "docs" / "reliability.md"
FILE = Path(__file__).with_name("results.json")
TEXT = Path(__file__).with_name("page.md")


@dataclass(frozen=True)
class Result:
    """What a fault did to a study."""

    times: int
    acknowledged: int
    lost: int
    wrong: int
    resumed: int
    longest_s: float
    problems: list[str]
    seconds: float
    is_right: bool


def result_of(site: Site, name: str) -> Result:
    fault, start = FAULTS[name], time.monotonic()
    trial = Trial(site, fault.annotator, invited=fault.annotator is not Annotator)
    times = fault.inject(site, trial)
    found, record = trial.finish(), trial.record
    trial.check(found["job_is_exact"], f"job: {found['job']}")
    result = Result(
        times,
        len(set(record.acknowledged)),
        found["lost"],
        found["wrong"],
        found["resumed"],
        max(record.saves + record.nexts, default=math.nan),
        trial.problems,
        time.monotonic() - start,
        not trial.problems and not found["wrong"] and (fault.may_lose or not found["lost"]),
    )
    errors = Counter(error[:60] for error in record.errors)
    print(
        f"{name}: {result}, {errors.total()} requests retried", *errors.most_common(3), flush=True
    )
    return result


def write_page(results: dict[str, Result]) -> None:
    """Write the page with these results and, of faults that were not injected now, the stored ones."""
    stored = json.loads(FILE.read_text()) if FILE.exists() else {}
    now = {"on": f"{datetime.now(UTC):%d %B %Y}".lstrip("0"), "machine": _machine()}
    stored |= {name: asdict(result) | now for name, result in results.items()}
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(stored, indent=1) + "\n")
    values = {"hits": HITS, "people": PEOPLE, "ratings": RATINGS, "scored": f"{SCORED:,}"}
    measured = sorted({f"{row['machine']}, {row['on']}" for row in stored.values()})
    rows = "\n".join(_row(name, stored.get(name)) for name in FAULTS)
    text = TEXT.read_text().format(**values, measured="; ".join(measured), rows=rows)
    PAGE.write_text(text, encoding="utf-8")


def _machine() -> str:
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"


def _row(name: str, row: dict[str, Any] | None) -> str:
    fault = FAULTS[name]
    head = f"| {fault.title} (`ONLY={name}`) | {fault.how} |"
    if row is None:
        return f"{head} not tried here | | | | |"
    numbers = f" {row['times']} | {row['acknowledged']:,} | {row['lost']} | {row['wrong']} |"
    return f"{head}{numbers} {row['longest_s']:.0f} | {'; '.join(row['problems']) or 'none'} |"


def main() -> int:
    only = [name for name in os.environ.get("ONLY", "").split(",") if name] or list(FAULTS)
    why = hosts.why_no_namespaces()
    if why:
        print("\n".join(f"{FAULTS[name].title}: not tried here: {why}." for name in only))
        return 1
    if hosts.INSIDE not in os.environ:
        return hosts.enter_namespaces("benchmarks.faults")
    with tempfile.TemporaryDirectory(prefix="tiebreak-", ignore_cleanup_errors=True) as folder:
        site = Site(Path(folder))
        site.start()
        results = {name: result_of(site, name) for name in only}
    write_page(results)
    return 0 if all(result.is_right for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

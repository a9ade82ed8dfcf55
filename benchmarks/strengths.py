"""Bradley–Terry strengths with intervals of 140,000 votes, beside refits and published packages."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import RESULTS, Measured, Row, measured, seconds_of
from tiebreak.stats import BradleyTerry, bradley_terry, generator_for

SYSTEMS, VOTES, REPLICATES, EXTRAPOLATED_FROM = 100, 140_000, 1_000, 20
WORK = f"Bradley–Terry intervals in closed form, {SYSTEMS} systems, {VOTES:,} votes"
LIMIT = 0.5
# evalica has intervals by refits alone; those of arena-rank take votes as independent.
PEERS = {
    "evalica": f"evalica's {REPLICATES:,} bootstrap fits, from {EXTRAPOLATED_FROM}",
    "arena-rank": "arena-rank's closed form after it has compiled",
}
PACKAGES = ("evalica==0.4.2", "arena-rank==0.1.1")
SCRIPT = Path(__file__).with_name("strengths_peers.py")
# An environment of its own, because arena-rank needs an older numpy than Tiebreak.
HOME = (RESULTS / "strengths").absolute()


def votes() -> dict[str, NDArray[Any]]:
    """Return the names of two systems and whether the first won, for each vote."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, SYSTEMS, size=VOTES)
    second = (first + rng.integers(1, SYSTEMS, size=VOTES)) % SYSTEMS
    better = 1 / (1 + np.exp((second - first) / 50))
    names = np.array([f"s{k}" for k in range(SYSTEMS)])
    return {"first": names[first], "second": names[second], "won": rng.random(VOTES) < better}


def prepare_fit(*, closed: bool) -> Callable[[], BradleyTerry]:
    """Prepare a fit with intervals over instances and raters, or by refits over instances."""
    of, rng = votes(), np.random.default_rng(1)
    fit = partial(
        bradley_terry,
        np.eye(3, dtype=np.int64)[np.where(of["won"], 0, 2)],
        system_a=of["first"].tolist(),
        system_b=of["second"].tolist(),
        clusters=rng.integers(0, 20_000, VOTES),
    )
    if closed:
        return partial(fit, raters=rng.integers(0, 500, VOTES))
    return lambda: fit(rng=generator_for(0), replicates=EXTRAPOLATED_FROM)


def closed_form_row() -> Row:
    """Alternate the closed form, over instances and raters, with refits, over instances alone."""
    closed, refits = prepare_fit(closed=True), prepare_fit(closed=False)
    pairs = [(seconds_of(closed, runs=3), seconds_of(refits, runs=1)) for _ in range(2)]
    seconds, slow = (min(times) for times in zip(*pairs, strict=True))
    against = f"{REPLICATES:,} bootstrap fits, from {EXTRAPOLATED_FROM}, alternated"
    cost = measured(partial(prepare_fit, closed=True))
    return _row(cost, against, slow / seconds * REPLICATES / EXTRAPOLATED_FROM)


def peer_rows() -> list[Row]:
    """Compare the closed form with published packages, which must give the same strengths."""
    closed = partial(prepare_fit, closed=True)
    before = measured(closed)
    try:
        peers = _by_peers()
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1]
        return [_row(before, f"no package, as they could not be installed or run: {reason}", None)]
    cost = min(before, measured(closed), key=lambda cost: cost.processor)
    ours = [estimate.value for _, estimate in sorted(closed()().systems.items())]
    return [_peer_row(cost, PEERS[name], ours, result) for name, result in peers.items()]


def _by_peers() -> dict[str, dict[str, Any]]:
    """Return the seconds and strengths of each package, which the first call installs."""
    python = HOME / "bin" / "python"
    if not python.exists():
        _run(sys.executable, "-m", "venv", str(HOME))
    _run(str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES)
    of, file = votes(), HOME / "votes.npz"
    np.savez(file, first=of["first"], second=of["second"], won=of["won"])
    output = _run(str(python), str(SCRIPT), str(file), str(EXTRAPOLATED_FROM))
    results: dict[str, dict[str, Any]] = json.loads(output.splitlines()[-1])
    results["evalica"]["seconds"] *= REPLICATES / EXTRAPOLATED_FROM
    return results


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _peer_row(cost: Measured, name: str, ours: list[float], result: dict[str, Any]) -> Row:
    difference = np.abs(np.subtract(ours, result["strengths"])).max()
    against = f"{name} (strengths equal within {difference:.0e})"
    return _row(cost, against, result["seconds"] / cost.seconds)


def _row(cost: Measured, against: str, ratio: float | None) -> Row:
    return Row(
        WORK,
        cost.seconds,
        cost.megabytes,
        against,
        ratio,
        f"under {LIMIT:g} s",
        cost.processor < LIMIT,
        cost.processor,
    )

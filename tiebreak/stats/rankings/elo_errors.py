"""Standard errors of Elo ratings that are averaged over the orders of the games.

Over random orders, ratings follow their expected changes closely, because each game changes them by
little. The expected path depends on the games only through each pair's sums of the steps K and of K times
the scores, so what each game contributes to the final ratings is known in closed form.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from tiebreak.stats.core.validation import FloatArray, IntArray

MIN_STEPS, MAX_STEPS = 200, 20_000
STEPS_PER_RATE = 8


@dataclass(frozen=True, eq=False)
class PlayedGames:
    """Games with their step sizes and mean scores of the first system, and their clusters."""

    first: IntArray
    second: IntArray
    step: FloatArray
    score: FloatArray
    cluster: IntArray
    systems: int

    def standard_errors(self, *, scale: float, base: float) -> FloatArray:
        """Return the standard error of each system's mean rating over orders, for new clusters."""
        codes, pair = np.unique(self.first * self.systems + self.second, return_inverse=True)
        gained = np.bincount(pair, self.step * self.score).astype(float)
        played = np.bincount(pair, self.step).astype(float)
        path = _Path(
            *np.divmod(codes, self.systems), gained, played, self.systems, log(base) / scale
        )
        errors = np.zeros(self.systems)
        for system, (by_gain, by_play) in enumerate(zip(*path.slopes(), strict=True)):
            contribution = self.step * (self.score * by_gain[pair] + by_play[pair])
            # A total over clusters: its error comes from its parts.
            parts = np.bincount(self.cluster, contribution).astype(float)
            n = len(parts)
            errors[system] = sqrt(n * float(parts.var(ddof=1))) if n > 1 else float("nan")
        return errors


@dataclass(frozen=True, eq=False)
class _Path:
    """Expected path of the ratings from the first game (time 0) to the last (time 1).

    For each pair, ``gained`` is the sum of K times the score, and ``played`` the sum of K.
    """

    first: IntArray
    second: IntArray
    gained: FloatArray
    played: FloatArray
    systems: int
    unit: float

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the final ratings by ``gained`` and ``played``.

        Both have the shape (systems, pairs). They are integrated backwards: a change at some time
        reaches the final ratings to the extent that later games do not undo it.
        """
        chances = self._chances()
        share = 1 / len(chances)
        reach, total = np.eye(self.systems), np.zeros((self.systems, self.systems))
        by_play = np.zeros((self.systems, len(self.first)))
        for chance in chances[::-1]:
            total += share * reach
            by_play -= share * chance * (reach[:, self.first] - reach[:, self.second])
            reach = reach - share * reach @ self._pull(chance)
        return total[:, self.first] - total[:, self.second], by_play

    def _chances(self) -> FloatArray:
        """Return the first system's chance in each pair by time, shape (times, pairs)."""
        by_system = np.bincount(self.first, self.played, self.systems)
        by_system += np.bincount(self.second, self.played, self.systems)
        rate = self.unit / 4 * float(by_system.max())
        number = int(np.clip(STEPS_PER_RATE * rate, MIN_STEPS, MAX_STEPS))
        ratings, chances = np.zeros(self.systems), np.zeros((number, len(self.first)))
        for time in range(number):
            apart = ratings[self.first] - ratings[self.second]
            chances[time] = 1 / (1 + np.exp(-self.unit * apart))
            change = (self.gained - self.played * chances[time]) / number
            ratings += np.bincount(self.first, change, self.systems)
            ratings -= np.bincount(self.second, change, self.systems)
        return chances

    def _pull(self, chance: FloatArray) -> FloatArray:
        """Return how fast differences of ratings shrink, shape (systems, systems)."""
        pull = self.unit * self.played * chance * (1 - chance)
        between = np.zeros((self.systems, self.systems))
        between[self.first, self.second] = between[self.second, self.first] = pull
        return np.asarray(np.diag(between.sum(axis=1)) - between)

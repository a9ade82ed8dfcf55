"""Fits votes by published packages, in their own environment, and prints seconds and strengths."""

import json
import sys
import time
from collections.abc import Callable

import evalica
import numpy as np
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

FITS = int(sys.argv[2])
votes = np.load(sys.argv[1])
first, second, won = votes["first"].tolist(), votes["second"].tolist(), votes["won"]


def by_evalica() -> list[float]:
    """Return the strengths, after some bootstrap fits, which evalica's intervals come from."""
    winners = [evalica.Winner.X if first_won else evalica.Winner.Y for first_won in won]
    result = evalica.bootstrap(
        evalica.bradley_terry,
        first,
        second,
        winners,
        n_resamples=FITS,
        bootstrap_method="percentile",
        random_state=0,
    )
    return np.log(result.result.scores.sort_index()).tolist()


def by_arena_rank() -> list[float]:
    """Return the strengths; their intervals take every vote as independent of the others."""
    winner = np.where(won, "model_a", "model_b")
    table = pd.DataFrame({"model_a": first, "model_b": second, "winner": winner})
    dataset = PairDataset.from_pandas(table)
    model = BradleyTerry(n_competitors=dataset.n_competitors)
    result = model.compute_ratings_and_cis(dataset)
    strengths = (np.asarray(result["ratings"]) - model.init_rating) / model.alpha
    return [strengths[k] for k in np.argsort(result["competitors"])]


def fitted(fit: Callable[[], list[float]], runs: int) -> dict[str, object]:
    """Return the least seconds of some runs, of which the first also compiles."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        strengths = fit()
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "strengths": strengths}


print(json.dumps({"evalica": fitted(by_evalica, 1), "arena-rank": fitted(by_arena_rank, 4)}))

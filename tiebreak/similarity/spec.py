"""Similarities that can be opened in any process, so that a Ray cluster can score, too."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from typing import Any

from tiebreak.errors import DomainError
from tiebreak.gateway.cluster import Cluster
from tiebreak.gateway.encoders import DTYPES, open_encoder
from tiebreak.similarity import ENCODED, Similarity, similarity
from tiebreak.similarity.alignment import CHUNK, Instance, align_many
from tiebreak.similarity.scores import Item, Score

NOT_SCORED = (
    "The processes that scored {instances} instances died. Other scores are kept; look at the logs of Ray"
    " and at the memory, then repeat the command or resume the job to go on."
)


@dataclass(frozen=True)
class SimilaritySpec:
    """A similarity by its name, and the encoder that it needs, if it needs one."""

    name: str
    encoder: str = ""
    device: str = "cpu"
    dtype: str = DTYPES[0]

    @property
    def needs_gpu(self) -> bool:
        return self.name in ENCODED and self.device != "cpu"

    def open(self) -> Similarity:
        if self.name not in ENCODED:
            return similarity(self.name)
        encoder = open_encoder(self.encoder, device=self.device, dtype=self.dtype)
        return similarity(self.name, encoder=encoder)

    def cluster(self, *, address: str = "", actors: int = 0) -> Cluster:
        """Return a cluster of which each actor opens the similarity, for `score_on`."""
        make = partial(_scoring, self)
        return Cluster(make, address=address, actors=actors, needs_gpu=self.needs_gpu)


def score_on(
    cluster: Cluster, items: Iterable[tuple[Item, Instance]]
) -> Iterator[tuple[Item, Score]]:
    """Yield each item with the score of its texts, as actors of a cluster finish them.

    Raises `DomainError` if actors die with the same instances, and what `Cluster.run` raises.
    """
    remaining, in_hand = iter(items), dict[int, list[Item]]()

    def lots() -> Iterator[tuple[int, list[Instance]]]:
        """Yield texts alone, because actors need not know what they belong to."""
        for number in count():
            if not (lot := list(islice(remaining, CHUNK))):
                return
            in_hand[number] = [item for item, _ in lot]
            yield number, [texts for _, texts in lot]

    for (number, _), scores in cluster.run(lots()):
        of = in_hand.pop(number)
        if scores is None:
            raise DomainError("engine_died", NOT_SCORED.format(instances=len(of)))
        yield from zip(of, scores, strict=True)


def _scoring(spec: SimilaritySpec) -> Callable[[Any], Any]:
    """Return what scores a lot of texts; called by each actor."""
    measure = spec.open()
    return lambda lot: [Score.of(one) for one in align_many(lot[1], measure)]

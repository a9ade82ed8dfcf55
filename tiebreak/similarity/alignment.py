"""Alignment matrices, which are the similarities within and across two systems' generations."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

import numpy as np

from tiebreak.errors import InvalidInput
from tiebreak.similarity.measure import FloatArray, Similarity

CHUNK, DEVICE_CHUNK = 32, 256  # numbers of instances; a GPU needs more of them to be busy
Instance = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, eq=False)
class Alignments:
    """Similarities of two systems' generations for one instance.

    See Also
    --------
    tiebreak.stats.separability : Compute separability from these matrices.
    """

    self_a: FloatArray
    """Similarities among the generations of system A; shape (n_a, n_a)."""
    self_b: FloatArray
    """Similarities among the generations of system B; shape (n_b, n_b)."""
    cross: FloatArray
    """Similarities of system A's generations with system B's; shape (n_a, n_b)."""
    truncated: int = 0
    """Number of generations that were too long, so only their beginning was read."""


def align(texts_a: Sequence[str], texts_b: Sequence[str], similarity: Similarity) -> Alignments:
    """Compare all pairs of two systems' generations for one instance.

    Parameters
    ----------
    texts_a, texts_b : sequence of str, length n_a and n_b
        Generations of system A and of system B. Both may be empty.
    similarity : Similarity
        Similarity to compute.

    Returns
    -------
    Alignments
        Alignment matrices of the instance.

    See Also
    --------
    align_many : Compare generations for many instances.

    Examples
    --------
    >>> from tiebreak.similarity import similarity
    >>> align(["a b", "a c"], ["a b"], similarity("rouge1")).cross.tolist()
    [[1.0], [0.5]]
    """
    return _align_chunk([(texts_a, texts_b)], similarity)[0]


def align_many(
    instances: Iterable[Instance],
    similarity: Similarity,
    *,
    chunk: int | None = None,
    workers: int = 1,
) -> Iterator[Alignments]:
    """Compare all pairs of two systems' generations for many instances.

    Parameters
    ----------
    instances : iterable of (sequence of str, sequence of str)
        Generations of system A and of system B for each instance.
    similarity : Similarity
        Similarity to compute.
    chunk : int, optional
        Number of instances whose texts a process prepares together, by default 32, or 256 on a
        device. Memory use depends on this number and not on the number of instances.
    workers : int, default 1
        Number of processes. Only lexical similarities can use more than one.

    Returns
    -------
    iterator of Alignments
        Alignment matrices of each instance, in order.

    Raises
    ------
    InvalidInput
        If there are several workers and the similarity needs a model.

    See Also
    --------
    align : Compare generations for one instance.

    Examples
    --------
    >>> from tiebreak.similarity import similarity
    >>> instances = [(["a b"], ["a b"]), (["a b"], ["c"])]
    >>> [float(aligned.cross[0, 0]) for aligned in align_many(instances, similarity("rouge1"))]
    [1.0, 0.0]
    """
    if workers > 1 and not similarity.is_parallel:
        raise InvalidInput(
            "one_process_only",
            f"{similarity.name} needs a model and can only run in one process. Use workers=1.",
        )
    size = chunk or (DEVICE_CHUNK if similarity.is_on_device else CHUNK)
    remaining = iter(instances)
    chunks = iter(lambda: list(islice(remaining, size)), [])
    if workers > 1:
        pool: Executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
        return _align_in_pool(chunks, similarity, pool, workers)
    if similarity.is_on_device:  # tokenise one chunk while the device computes another
        return _align_in_pool(chunks, similarity, ThreadPoolExecutor(2), 2)
    return (alignments for chunk in chunks for alignments in _align_chunk(chunk, similarity))


def _align_in_pool(
    chunks: Iterator[list[Instance]], similarity: Similarity, pool: Executor, workers: int
) -> Iterator[Alignments]:
    pending: deque[Future[list[Alignments]]] = deque()
    try:
        for chunk in chunks:
            pending.append(pool.submit(_align_chunk, chunk, similarity))
            if len(pending) > 2 * workers:  # limits how many instances are read in advance
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _align_chunk(instances: Sequence[Instance], similarity: Similarity) -> list[Alignments]:
    texts = list(dict.fromkeys(text for a, b in instances for text in (*a, *b)))
    prepared = dict(zip(texts, similarity.prepare(texts), strict=True))
    distinct = [list(dict.fromkeys([*a, *b])) for a, b in instances]
    groups = [[prepared[text] for text in group] for group in distinct]
    matrices = similarity.between_each(groups)
    is_truncated = {text: similarity.is_truncated(p) for text, p in prepared.items()}
    return [
        _alignments(*instance, group, matrix, is_truncated)
        for instance, group, matrix in zip(instances, distinct, matrices, strict=True)
    ]


def _alignments(
    texts_a: Sequence[str],
    texts_b: Sequence[str],
    distinct: Sequence[str],
    matrix: FloatArray,
    is_truncated: dict[str, bool],
) -> Alignments:
    index_of = {text: index for index, text in enumerate(distinct)}
    np.fill_diagonal(matrix, 1.0)
    a = np.array([index_of[text] for text in texts_a], dtype=np.intp)
    b = np.array([index_of[text] for text in texts_b], dtype=np.intp)
    truncated = sum(is_truncated[text] for text in (*texts_a, *texts_b))
    return Alignments(matrix[np.ix_(a, a)], matrix[np.ix_(b, b)], matrix[np.ix_(a, b)], truncated)

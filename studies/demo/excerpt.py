"""A system that quotes: it samples the most central sentences and keeps the order of the source."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from studies.demo.prose import FloatArray, Sentence, read_sentences, sample_order, words

DAMPING = 0.85
ITERATIONS = 60
SPREAD = 0.6  # the weight of centrality relative to the sampling noise
LEAD_BONUS = 0.8
SHORT = 5  # a sentence with fewer words says too little by itself
STOP_WORDS = frozenset(
    words(
        "a an and are as at be but by for from had has have he her his i if in is it its me my no not "
        "of on one or our she so that the their them then there they this to us was we were what when "
        "which who will with you your"
    )
)


def excerpt(source: str, *, rng: np.random.Generator, temperature: float) -> str:
    """Return sentences of the source that are sampled by centrality without replacement."""
    sentences = read_sentences(source)
    scores = sentence_scores(sentences)
    chosen = sample_order(scores, _length(sentences, rng), rng=rng, temperature=temperature)
    return _render([sentences[index] for index in sorted(chosen)])


def sentence_scores(sentences: Sequence[Sentence]) -> FloatArray:
    """Return the sentences' standardised centrality, with penalties and a bonus for the first."""
    centrality = SPREAD * _standardised(_centrality(_tfidf(sentences)))
    penalty = np.array([_penalty(sentence) for sentence in sentences])
    penalty[0] -= LEAD_BONUS
    scores: FloatArray = centrality - penalty
    return scores


def _length(sentences: Sequence[Sentence], rng: np.random.Generator) -> int:
    """Return the number of sentences: two or three for news, and one more for a dialogue."""
    extra = 1 if sentences[0].speaker else 0
    return min(int(rng.integers(2, 4)) + extra, max(1, len(sentences) - 1))


def _penalty(sentence: Sentence) -> float:
    short = 2.0 if len(words(sentence.text)) < SHORT else 0.0
    quoted = 1.0 if '"' in sentence.text else 0.0
    return short + quoted + 0.8 * sentence.is_question + 0.8 * sentence.is_dangling


def _tfidf(sentences: Sequence[Sentence]) -> FloatArray:
    """Return one tf-idf vector of unit length per sentence, with sentences as the documents."""
    bags = [
        Counter(word for word in words(sentence.text) if word not in STOP_WORDS)
        for sentence in sentences
    ]
    vocabulary = sorted(set().union(*bags))
    counts = np.array([[bag[word] for word in vocabulary] for bag in bags], dtype=float)
    frequency = (counts > 0).sum(axis=0)
    weighted = counts * (1 + np.log(len(bags) / np.maximum(frequency, 1)))
    norms = np.linalg.norm(weighted, axis=1, keepdims=True)
    rows: FloatArray = weighted / np.maximum(norms, 1e-12)
    return rows


def _centrality(rows: FloatArray) -> FloatArray:
    """Return the stationary weights of a damped random walk over the cosine similarities."""
    similarity = rows @ rows.T
    np.fill_diagonal(similarity, 0.0)
    totals = similarity.sum(axis=1, keepdims=True)
    size = len(rows)
    transition = np.where(totals > 0, similarity / np.maximum(totals, 1e-12), 1 / size)
    weights = np.full(size, 1 / size)
    for _ in range(ITERATIONS):
        weights = (1 - DAMPING) / size + DAMPING * (weights @ transition)
    return weights


def _standardised(values: FloatArray) -> FloatArray:
    spread = float(values.std())
    centred: FloatArray = values - values.mean()
    return centred / spread if math.isfinite(spread) and spread > 0 else np.zeros_like(values)


def _render(sentences: Sequence[Sentence]) -> str:
    """Return the sentences as one text, with a speaker's name before each run of sentences."""
    blocks = []
    for speaker, group in groupby(sentences, key=lambda sentence: sentence.speaker):
        text = " ".join(sentence.text for sentence in group)
        blocks.append(f"{speaker}: {text}" if speaker else text)
    return " ".join(blocks)

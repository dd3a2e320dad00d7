"""Text that is different in almost every row, such as names, tickets and remarks: which frequent words each has.

A word is a run of letters or of digits, in lower case: "C85" has "c" and "85", "Mr. Brown" has "mr" and "brown". A text
that is missing, or has no such word, has the word "".
"""

import re
from collections import Counter
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from frugalsvm.pipelines.coded import CodedText
from frugalsvm.pipelines.target_means import normalized

_WORD = re.compile(r"[^\W\d_]+|\d+")
_LEAST_ROWS, _LEAST_SHARE = 5, 0.02  # of a word: with rarer ones AutoSVC gained half as much on titanic
_FEW_ROWS, _MOST_OF_FEW_ROWS, _MOST = 10_000, 80, 20  # words of a column: features take time and memory for each row
_MOST_TEXTS = 100_000  # of which words are counted and judged: those of all may be more than there is memory for
_LEADING = 10  # most frequent words, which are also judged without the others
_BEYOND_CHANCE = 3.0  # standard deviations of what words explain by chance


def frequent_words(column: CodedText, weights: NDArray | None = None) -> NDArray:
    """The words that most rows have, sorted; none that is in all rows, in less than five, or in less than 2 %."""
    weights = np.ones(len(column.codes)) if weights is None else normalized(weights)
    sizes = np.bincount(column.codes, weights, len(column.text))
    some = np.arange(len(sizes))[_some_of(len(sizes))]
    counts: Counter[str] = Counter()
    for place in some.tolist():
        counts.update(dict.fromkeys(_words_of(column, place), sizes[place]))
    total = sizes[some].sum()
    least, most = max(_LEAST_ROWS, (_LEAST_SHARE - 1e-9) * total), (1.0 - 1e-9) * total  # sums of weights are rounded
    found = [word for word, size in counts.items() if least <= size < most]
    n_kept = _MOST_OF_FEW_ROWS if len(column.codes) <= _FEW_ROWS else _MOST
    return np.array(sorted(sorted(found, key=lambda word: (-counts[word], word))[:n_kept]), "U")


def indicators_of_words(column: CodedText, words: NDArray) -> csr_matrix:
    """For each row a feature for each of some words: 1 if the text has it."""
    places = {word: place for place, word in enumerate(words.tolist())}
    found = [[places[w] for w in _words_of(column, k) if w in places] for k in range(len(column.text))]
    indptr = np.cumsum([0, *map(len, found)])
    indices = np.fromiter(chain.from_iterable(found), np.int32, indptr[-1])
    each = csr_matrix((np.ones(len(indices), np.float32), indices, indptr), (len(found), len(words)))
    each.sort_indices()  # sets have no order
    return each[column.codes]


def _some_of(n_texts: int) -> slice:
    """Some texts from the first to the last: all that there is memory for."""
    return slice(None, None, max(1, -(-n_texts // _MOST_TEXTS)))


def _words_of(column: CodedText, place: int) -> set[str]:
    return set(_WORD.findall(column.text[place].casefold())) or {""}  # missing texts are empty here


def words_tell(indicators: csr_matrix, targets: NDArray, weights: NDArray) -> bool:
    """Whether a fit to all words of a column, or to the most frequent ones, explains more than it would by chance."""
    some = _some_of(len(targets))
    features, targets, weights = indicators[some].toarray(), targets[some], weights[some]
    leading = np.argsort(-(weights @ features), kind="stable")[:_LEADING]
    return any(_explains(X, targets, weights) for X in (features[:, leading], features))


def _explains(features, targets, weights):
    """By least squares: the share that is explained, times the rows, is about the number of features by chance."""
    weights = normalized(weights)
    n_rows = weights.sum() ** 2 / (weights**2).sum()  # as many as count
    root = np.sqrt(weights)[:, None]
    features, targets = (root * (each - np.average(each, axis=0, weights=weights)) for each in (features, targets))
    fitted, _, rank, _ = np.linalg.lstsq(features, targets, rcond=None)
    total = (targets**2).sum(axis=0)
    explained = np.divide(((features @ fitted) ** 2).sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
    return (n_rows * explained > rank + _BEYOND_CHANCE * np.sqrt(2.0 * rank)).any()

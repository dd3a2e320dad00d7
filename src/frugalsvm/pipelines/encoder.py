"""Columns of text as features: hashed, one for each category or frequent word of first rows, or means of a target."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from frugalsvm.estimators.constraints import check_choice, check_count
from frugalsvm.exceptions import ParameterError
from frugalsvm.pipelines.coded import CodedText, coded, coded_text
from frugalsvm.pipelines.frames import columns_of
from frugalsvm.pipelines.saved import ENCODER
from frugalsvm.pipelines.surprises import Surprises
from frugalsvm.pipelines.target_means import encoded_means, numbers_of
from frugalsvm.pipelines.text_words import frequent_words, indicators_of_words, words_tell

_SHOWN = 40  # characters of a value
METHODS = ("onehot", "hash", "target")
DENSE_WIDTH = 128  # up to this number of one-hot features, rows of numbers stay dense


class ColumnEncoder(TransformerMixin, BaseEstimator):
    """Turn columns of text into features.

    Parameters
    ----------
    method : {"onehot", "hash", "target"}, default="onehot"
        One feature for each category that `fit` has seen, all zeros for others; or scikit-learn's `FeatureHasher`,
        which needs no categories and has a fixed number of features, in which some categories collide. "target" is
        "onehot" for columns of few categories, and means of the target in each category for others (see Notes).
    n_features : int, default=256
        Number of features of "hash", for all columns together.
    cardinality_threshold : int, default=30
        Number of categories up to which "target" makes a feature for each, as long as there are no more than 128 such
        features of all columns together.
    words : sequence of str, default=()
        Names of columns that are read by their words, if there are such: text that is different in almost every row.
        Not with "hash".

    Attributes
    ----------
    names_ : list of str
        Names of the columns, sorted.
    categories_ : list of ndarray
        For each column the categories seen, or the words that have a feature, sorted; empty with "hash".
    means_ : list of ndarray
        With "target": for each column its features by category, those of missing values, and those of unknown ones;
        empty where there is a feature for each category.
    complete_ : list of str
        Names of the columns in which no value was missing.
    n_encoded_ : int
        Number of features.

    Notes
    -----
    None, NaN and pandas' NA are missing values: all zeros, or with "target" a category of their own.

    Means of the target are shrunk towards the mean of all rows, the more the fewer rows a category has, and then
    standardized. `fit_transform` gives each row means of other rows (five folds), so that no row sees its own target:
    a machine that is to learn must learn these. `transform` is for new rows.

    Words are runs of letters or of digits, in lower case: "C85" has "c" and "85". Each of the words that most rows have
    is a feature, if five rows and 2 % of all do: 80 at most, and 20 where there are more than 10,000 rows. That a text
    is missing counts as a word. With "target" a column has no feature if its words tell no more than by chance.

    Examples
    --------
    >>> from frugalsvm.pipelines import ColumnEncoder
    >>> encoder = ColumnEncoder().fit({"color": ["red", "blue", "red"]})
    >>> encoder.transform({"color": ["blue", "green"]}).toarray()
    array([[1., 0.],
           [0., 0.]], dtype=float32)
    """

    names_: list[str]
    categories_: list[np.ndarray]
    means_: list[np.ndarray]
    complete_: list[str]

    _saved = ENCODER

    def __init__(self, method="onehot", *, n_features=256, cardinality_threshold=30, words=()):
        self.method = method
        self.n_features = n_features
        self.cardinality_threshold = cardinality_threshold
        self.words = words

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.dict = False, True
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.target_tags.required = self.method == "target"
        return tags

    def fit(self, columns: Any, y=None, sample_weight=None):
        """Take the names of the columns, their categories, and with "target" what these tell about the target.

        Parameters
        ----------
        columns : dict of str to array-like of str, or DataFrame
            Columns by name, all of the same length; a DataFrame of pandas or polars is encoded as a whole.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), default=None
            For "target": numbers to predict, if they are floats, or else labels of classes.
        sample_weight : array-like of shape (n_rows,), default=None
            For "target": weights of the rows.

        Returns
        -------
        self
        """
        self._learn(columns, y, sample_weight)
        return self

    def fit_transform(self, columns: Any, y=None, sample_weight=None):
        """Fit, and return the features of the same rows: with "target", means of other rows.

        Parameters
        ----------
        columns, y, sample_weight
            As in `fit`.

        Returns
        -------
        csr_matrix or ndarray of float32 of shape (n_rows, n_encoded_)
        """
        found = self._learn(columns, y, sample_weight)
        return self._features(found)

    def _learn(self, columns, y, sample_weight):
        """For each column its distinct texts, and the features of its rows where these are not those of `transform`."""
        check_choice("method", self.method, METHODS)
        check_count("n_features", self.n_features)
        check_count("cardinality_threshold", self.cardinality_threshold, least=0)
        self._check_words()
        columns = columns_of(columns)
        if not columns:
            raise ValueError("There are no columns of text to encode.")
        self.names_ = sorted(columns)
        found = [self._coded(name, columns) for name in self.names_]
        self.complete_ = [name for name, column in zip(self.names_, found, strict=True) if column.present.all()]
        self.categories_ = []
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        if self.method != "hash":
            self.categories_ = [
                frequent_words(column, weights) if self._has_words(name) else np.unique(column.text[column.present])
                for name, column in zip(self.names_, found, strict=True)
            ]
        if self.method != "target":
            return [(column, None) for column in found]
        if y is None:
            raise ValueError("ColumnEncoder('target') requires y to be passed: it takes means of the target.")
        targets = numbers_of(y)
        weights = np.ones(len(targets)) if weights is None else weights
        return self._learn_means(found, targets, weights)

    def _check_words(self):
        is_list = not isinstance(self.words, str) and all(isinstance(name, str) for name in self.words)
        if not is_list or (len(self.words) and self.method == "hash"):
            raise ParameterError("words", self.words, 'a list of names of columns, and none with method="hash"')

    def _has_words(self, name) -> bool:
        """Whether a column is read by its words."""
        return name in self.words

    def _coded(self, name, columns) -> CodedText:
        found = coded(columns[name])
        for value in found.values:
            if not isinstance(value, Hashable):  # a list, a dict, an array
                raise ValueError(
                    f"Column {name!r} has several values in one place, such as {str(value)[:_SHOWN]}: give each a "
                    "column of its own."
                )
        return coded_text(found, object if self._has_words(name) else "U")

    def _learn_means(self, found, targets, weights):
        hot = self._hot_columns()
        self.means_, learned = [], []
        for index, (name, column) in enumerate(zip(self.names_, found, strict=True)):
            means, own = np.zeros((0, 0), np.float32), None  # an array of its own for each column in model files
            if self._has_words(name):
                own = self._indicators(index, column)
                if not words_tell(own, targets, weights):
                    self.categories_[index], own = self.categories_[index][:0], own[:, :0]
                own = own.toarray()
            elif not hot[index]:
                places = _places(column, self.categories_[index])[column.codes]
                means, own = encoded_means(places, targets, weights, len(self.categories_[index]) + 2)
            self.means_.append(means)
            learned.append((column, own))
        return learned

    def _hot_columns(self) -> np.ndarray:
        """Which columns get a feature for each category: those of the fewest, as long as there is room."""
        words = np.array([self._has_words(name) for name in self.names_])
        sizes = np.where(words, 0, list(map(len, self.categories_)))
        order = np.argsort(sizes, kind="stable")
        is_hot = np.empty(len(sizes), bool)
        is_hot[order] = (sizes[order] <= self.cardinality_threshold) & (np.cumsum(sizes[order]) <= DENSE_WIDTH)
        return is_hot

    @property
    def silent_(self) -> list[str]:
        """Names of columns without a feature, since their words are rare or tell nothing."""
        pairs = zip(self.names_, self.categories_, strict=True) if self.words else ()
        return [name for name, known in pairs if self._has_words(name) and not len(known)]

    @property
    def hot_categories_(self) -> list[np.ndarray]:
        """For each column the categories that have a feature each; none where there are means instead."""
        if self.method != "target":
            return self.categories_
        pairs = zip(self.means_, self.categories_, strict=True)
        return [known[:0] if means.size else known for means, known in pairs]

    @property
    def widths_(self) -> list[int]:
        """Number of features of each column; with "hash" they share all."""
        widths = list(map(len, self.hot_categories_))
        return widths if self.method != "target" else [w + m.shape[1] for w, m in zip(widths, self.means_, strict=True)]

    @property
    def n_encoded_(self) -> int:
        """Number of features."""
        check_is_fitted(self, "names_")
        return self.n_features if self.method == "hash" else sum(self.widths_)

    @property
    def largest_(self) -> float:
        """The largest size that features have."""
        return max((float(np.abs(means).max(initial=1.0)) for means in getattr(self, "means_", ())), default=1.0)

    def feature_names(self) -> list[str]:
        """Names of the features; none with "hash", where columns share them."""
        names: list[str] = []
        for name, known, width in zip(self.names_, self.hot_categories_, self.widths_, strict=False):
            own = [f"{name}={text}" for text in known]
            if self._has_words(name):
                own = [f"{name} has {word}" if word else f"{name} is missing" for word in known]
            n_means = width - len(known)
            names += own + ([f"{name} (mean)"] if n_means == 1 else [f"{name} ({k + 1})" for k in range(n_means)])
        return names

    def transform(self, columns: Any):
        """Features of some rows.

        Parameters
        ----------
        columns : dict of str to array-like of str, or DataFrame

        Returns
        -------
        csr_matrix of float32 of shape (n_rows, n_encoded_), or with "target" an ndarray
        """
        check_is_fitted(self, "names_")
        columns = columns_of(columns)
        self._check_names(columns)
        return self._features([(self._coded(name, columns), None) for name in self.names_])

    def _check_names(self, columns):
        if sorted(columns) != self.names_:
            raise ValueError(f"The columns of text are {sorted(columns)}, but the encoder knows {self.names_}.")

    def _features(self, found):
        if self.method == "hash":
            return self._hashed([column for column, _ in found])
        if self.method == "target":
            parts = [self._with_means(index, column, own) for index, (column, own) in enumerate(found)]
            return np.hstack(parts, dtype=np.float32)
        parts = [self._indicators(index, column) for index, (column, _) in enumerate(found)]
        return hstack(parts, format="csr", dtype=np.float32)

    def _with_means(self, index, column, own):
        """Features of a column with "target": those of its rows themselves, if they were learned from."""
        if own is not None:
            return own
        known, means = self.categories_[index], self.means_[index]
        return means[_places(column, known)[column.codes]] if means.size else self._indicators(index, column).toarray()

    def _indicators(self, index, column):
        """A feature for each category, or word, of a column."""
        known = self.categories_[index]
        return indicators_of_words(column, known) if self._has_words(self.names_[index]) else _one_hot(column, known)

    def note_surprises(self, columns: dict[str, Any], surprises: Surprises) -> None:
        """Count what `fit` has not seen: other categories, and values that are missing where there were none."""
        self._check_names(columns)
        for index, name in enumerate(self.names_):
            column = self._coded(name, columns)
            counts = np.bincount(column.codes, minlength=len(column.text))
            if self.method != "hash" and not self._has_words(name):
                unknown = column.present & ~np.isin(column.text, self.categories_[index])
                found = {str(column.text[k]): int(counts[k]) for k in np.flatnonzero(unknown)}
                surprises.note_unknown(name, found)
            if name in getattr(self, "complete_", ()):  # encoders that were saved before do not know
                surprises.note_missing(name, int(counts[~column.present].sum()))

    def _hashed(self, found):
        from sklearn.feature_extraction import FeatureHasher  # takes a while

        hasher = FeatureHasher(self.n_features, input_type="string", dtype=np.float32)
        total: Any = None
        for name, column in zip(self.names_, found, strict=True):  # each value is hashed once
            features = hasher.transform([[f"{name}={value}"] for value in column.text]).tocsr()
            features = features.multiply(column.present[:, None]).tocsr()[column.codes]
            total = features if total is None else total + features
        total.eliminate_zeros()
        total.sum_duplicates()
        return total.astype(np.float32)


def _places(column: CodedText, categories: np.ndarray) -> np.ndarray:
    """For each distinct text its place among the categories; after them come what is missing, and what is unknown."""
    if not len(categories):
        return np.where(column.present, 1, 0)
    places = np.minimum(np.searchsorted(categories, column.text), len(categories) - 1)
    is_known = categories[places] == column.text
    return np.where(column.present, np.where(is_known, places, len(categories) + 1), len(categories))


def _one_hot(column: CodedText, categories: np.ndarray) -> csr_matrix:
    places = _places(column, categories)[column.codes]
    is_known = places < len(categories)
    indptr = np.concatenate([[0], np.cumsum(is_known)])
    shape = (len(places), len(categories))
    return csr_matrix((np.ones(indptr[-1], np.float32), places[is_known], indptr), shape)


def joined_encoder(encoders: list[ColumnEncoder]) -> ColumnEncoder:
    """An encoder that knows all categories of several, which were fitted on other rows of the same columns."""
    first = encoders[0]
    for other in encoders:
        if other.names_ != first.names_:
            raise ValueError(f"Columns of text are {first.names_} in some rows, and {other.names_} in others.")
    whole = ColumnEncoder(first.method, n_features=first.n_features, words=first.words)
    whole.names_ = first.names_
    whole.categories_ = [
        np.unique(np.concatenate(parts)) for parts in zip(*(each.categories_ for each in encoders), strict=True)
    ]
    whole.complete_ = [name for name in first.names_ if all(name in each.complete_ for each in encoders)]
    return whole


def joined(X: Any, encoded: Any) -> Any:
    """Numbers and encoded features side by side; dense if the numbers are dense and the features few, or means."""
    encoded = encoded.astype(X.dtype, copy=False)
    if not issparse(X) and (not issparse(encoded) or encoded.shape[1] <= DENSE_WIDTH):
        return np.concatenate([X, encoded.toarray() if issparse(encoded) else encoded], axis=1)
    whole = hstack([csr_matrix(X), csr_matrix(encoded)], format="csr")
    whole.sort_indices()
    return whole

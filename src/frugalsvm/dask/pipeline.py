"""Rows as tables have them, with text, missing values and different scales, on a Dask cluster."""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor

from frugalsvm.dask._cluster import Cluster, SchedulerLostError, client_for
from frugalsvm.dask._collections import sources_of
from frugalsvm.dask._predicting import LazyPredictions
from frugalsvm.dask._preparing import check_numbers, naming, rows_together, shares
from frugalsvm.estimators.constraints import check_count
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline
from frugalsvm.pipelines.encoder import joined_encoder
from frugalsvm.pipelines.frames import is_frame
from frugalsvm.pipelines.rows import split_input

_MOST_CATEGORIES = 10_000  # of a column in a partition: the client gets all of them
_STREAM = 31  # of random numbers


class DaskPipeline(LazyPredictions):
    """`StreamPipeline` for data on many machines: missing values, scaling and text, then an estimator of this module.

    Categories of text come from all rows, in one pass. Medians, means and scales are those of a sample of rows that the
    client draws; up to ``statistics_rows`` rows they are those of all, as `StreamPipeline` takes them. Workers prepare
    their partitions with them, wherever these are read.

    Choose it for data frames and Parquet files with text, missing values or features of different scales.

    Parameters
    ----------
    estimator : DaskASSETClassifier, DaskASSETRegressor, DaskASSETOneClassSVM or DaskBSGDClassifier
        What learns the rows. Probabilities are those of an estimator with ``calibrate``.
    scale, encoder, impute
        As in `StreamPipeline`. With an encoder, partitions of ``X`` are data frames.
    statistics_rows : int, default=100_000
        Number of rows that medians, means and scales are taken from.

    Attributes
    ----------
    estimator_ : estimator
        The estimator of this module, which has learned prepared rows: it has ``history_``.
    classes_, n_iter_

    See Also
    --------
    to_local : The ordinary `StreamPipeline`, which takes raw rows and needs no Dask.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import numpy as np
    >>> import pandas as pd
    >>> from distributed import Client
    >>> from frugalsvm.dask import DaskASSETClassifier, DaskPipeline
    >>> from frugalsvm.pipelines import ColumnEncoder
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"size": 1000 * rng.random(4000), "color": rng.choice(["red", "blue"], 4000)})
    >>> table["label"] = (table["size"] > 500) ^ (table["color"] == "red")
    >>> table.loc[::50, "size"] = np.nan
    >>> rows = dd.from_pandas(table, npartitions=4)
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
    ...     model = DaskASSETClassifier(n_components=32, random_state=0)
    ...     pipeline = DaskPipeline(model, encoder=ColumnEncoder(), impute="median")
    ...     pipeline = pipeline.fit(rows[["size", "color"]], rows["label"])
    >>> pipeline.to_local().score(table[["size", "color"]], table["label"]) > 0.97
    True
    """

    def __init__(self, estimator, *, scale: Any = True, encoder=None, impute=None, statistics_rows=100_000):
        self.estimator = estimator
        self.scale = scale
        self.encoder = encoder
        self.impute = impute
        self.statistics_rows = statistics_rows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.impute is not None
        return tags

    def _predictor(self):
        return self.estimator

    def _sent(self, function):
        return self.estimator_._sent(function)

    # --- training -------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, *, callback=None):
        """Prepare all partitions, and learn from them in rounds.

        Parameters
        ----------
        X : Dask data frame, Dask array, or list of delayed objects or futures
            The rows. A partition is a data frame, an array or a CSR matrix; partitions may be empty.
        y : the same, with as many partitions
            None for outlier detectors.
        sample_weight : the same, default=None
        callback : callable, default=None
            Called after every round with what is also appended to ``estimator_.history_``.

        Returns
        -------
        self
        """
        check_count("statistics_rows", self.statistics_rows)
        cluster, estimator = Cluster(client_for(self.estimator.client)), clone(self.estimator)
        sources = sources_of(X, y, sample_weight, in_columns=is_regressor(estimator))
        pipeline = self._prepared(cluster, estimator, sources)
        shared = cluster.broadcast(pipeline)
        parts = cluster.lazy(estimator_rows, [(source.number, source.X) for source in sources], shared)
        targets = None if y is None else [source.y for source in sources]
        weights = None if sample_weight is None else [source.weight for source in sources]
        try:
            estimator.fit(parts, targets, weights, callback=callback)
        except SchedulerLostError as error:
            error.model = None if error.model is None else copy(pipeline).adopt(error.model)
            raise
        self.estimator_, self._local = estimator, pipeline.adopt(estimator.to_local())
        return self

    def _prepared(self, cluster: Cluster, estimator: Any, sources: list) -> StreamPipeline:
        """The ordinary pipeline with all statistics, around an estimator that has learned nothing."""
        local = estimator.new_local()
        pipeline = StreamPipeline(local, scale=self.scale, encoder=self.encoder, impute=self.impute)
        surveys = cluster.each(surveyed, [(source.number, source.X) for source in sources], self.encoder)
        n_rows = np.array([survey.n_rows for survey in surveys])
        n_wanted = shares(n_rows, min(self.statistics_rows, int(n_rows.sum())))
        if not n_wanted.any():
            raise ValueError("All partitions are empty: there are no rows to learn from.")
        chosen = [(*source[:3], int(n)) for source, n in zip(sources, n_wanted, strict=True) if n]
        drawn = cluster.each(some_rows, chosen)
        y = None if sources[0].y is None else np.concatenate([labels for _, labels in drawn])
        pipeline.prepare(rows_together([rows for rows, _ in drawn]), y)
        if pipeline.filler_ is not None and n_wanted.sum() < n_rows.sum():
            del pipeline.filler_.complete_  # that of a sample does not say that no value is missing
        if self.encoder is not None:
            pipeline.encoder_ = joined_encoder([survey.encoder for survey in surveys])
        return pipeline.adopt(local)

    # --- what was learned -----------------------------------------------------------------------------------

    classes_ = property(lambda self: self.estimator_.classes_, doc="The classes, sorted.")
    n_iter_ = property(lambda self: self.estimator_.n_iter_, doc="Number of rounds.")


class Survey(NamedTuple):
    """What a look at one partition finds."""

    n_rows: int
    encoder: ColumnEncoder | None  # with its categories


def surveyed(number: int, X: Any, encoder: ColumnEncoder | None) -> Survey:
    """A look at one partition: its length, and the categories of its text."""
    if encoder is None:
        if is_frame(X):
            with naming(number):
                check_numbers(X)
        return Survey(X.shape[0], None)
    with naming(number):
        fitted = clone(encoder).fit(split_input(X, encodes=True)[1])
    for name, categories in zip(fitted.names_, fitted.categories_, strict=False):
        if len(categories) > _MOST_CATEGORIES:
            raise ValueError(
                f"Partition {number}: column {name!r} has {len(categories):,} different texts. Leave it out, or take "
                "ColumnEncoder('hash'), which needs to know none of them."
            )
    return Survey(X.shape[0], fitted)


def some_rows(number: int, X: Any, y: Any, n_rows: int) -> tuple[Any, np.ndarray | None]:
    """Rows of a partition at random, in their order, with their labels."""
    chosen = np.sort(np.random.default_rng([number, _STREAM]).permutation(X.shape[0])[:n_rows])
    return X.iloc[chosen] if hasattr(X, "iloc") else X[chosen], None if y is None else np.asarray(y)[chosen]


def estimator_rows(number: int, X: Any, pipeline: StreamPipeline) -> Any:
    """A partition as the estimator takes it."""
    if not X.shape[0]:
        return np.zeros((0, 1), np.float32)
    with naming(number):
        return pipeline.estimator_rows(X)

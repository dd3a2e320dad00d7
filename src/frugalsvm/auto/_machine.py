"""What `AutoSVC` and `AutoSVR` share: from a table to rows, a search, a fit on all rows, and predictions."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from frugalsvm._locks import ThreadSafe, shared
from frugalsvm.arrays.namespace import arrays_on
from frugalsvm.auto._last_fit import LastFit, last_fit
from frugalsvm.auto._parameters import AutoParameters
from frugalsvm.auto.report import (
    IN_PROPORTION,
    ROUNDS,
    SCALED,
    SYMMETRIC,
    Report,
    as_dict,
    as_html,
    as_text,
    candidate_words,
    cv_results,
    left_out,
    machine_words,
    notes_on,
    reasons,
    row_of,
    view_words,
)
from frugalsvm.auto.tables import (
    Layout,
    Way,
    as_input,
    encoder_for,
    layout_of,
    may_stay_unscaled,
    weights_without_copies,
    without_text,
)
from frugalsvm.compiling.threads import Threads, all_cores_unless, thread_count
from frugalsvm.core.capabilities import offers
from frugalsvm.core.kernels import KERNELS
from frugalsvm.estimators.constraints import check_constraints, is_auto, parsed_bytes, parsed_seconds
from frugalsvm.estimators.labels import refuse_no_target
from frugalsvm.estimators.unchanged import unchanged_on_error
from frugalsvm.estimators.validation import numbers_with_weight, rows_that_count
from frugalsvm.exceptions import ParameterError, warn_caller
from frugalsvm.pipelines import MissingValueFiller, StreamingScaler, StreamPipeline
from frugalsvm.pipelines.rows import LabeledRows, is_pair
from frugalsvm.selection.rounds import Entry
from frugalsvm.selection.search import Plan, search
from frugalsvm.selection.task import Clock, Machinery, Task, new_view

KERNELS_TRIED = ("rbf", "laplacian", "matern12", "matern32")
CLIP = 6.0  # in scales: softly, since a column may tell classes apart by how far out its values are
_LEAST_ROWS = 4
_GPU = 20.0  # usual cores
_ON_HOST, _SHARE_OF_GPU = "4GB", 0.8  # of memory


class AutoMachine(AutoParameters, ThreadSafe, BaseEstimator):
    """Base of estimators that choose everything themselves.

    Subclasses define ``_classifies``, ``_loss`` (of low-rank machines), ``_cells_machine``, ``_left_out`` (its
    leave-one-out scores), ``_low_rank_machine`` and ``_targets``.

    Attributes
    ----------
    best_params_ : dict
        ``kernel``, ``gamma``, ``C`` (where the mean weight of rows is 1), ``rows`` (how they are seen: scaled, with
        long tails drawn in, in proportion, or in a learned metric), and ``cell_size`` and ``n_trees``, or
        ``n_components`` of a low-rank machine.
    refit_time_ : float
        Seconds that the fit to all rows took, when everything was chosen.
    cv_results_ : dict
        All candidates, in the form of scikit-learn's halving searches, of which ``iter`` is the round. A split is a
        fifth of the rows that count.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X has names.
    """

    _classifies: bool
    _layout: Layout | None
    pipeline_: StreamPipeline

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "pipeline_")

    # --- parameters -----------------------------------------------------------------------------------------------

    def _check_params(self):
        check_constraints(self)
        self._kernels()

    def _kernels(self) -> tuple[str, ...]:
        if is_auto(self.kernel):
            return KERNELS_TRIED
        wanted = (self.kernel,) if isinstance(self.kernel, str) else tuple(self.kernel)
        known = [name for name in KERNELS if offers(KERNELS[name], "shift_invariant")]
        if not wanted or not set(wanted) <= set(known):
            raise ParameterError("kernel", self.kernel, f"'auto', or one or more of {', '.join(map(repr, known))}")
        return wanted

    # --- learning -------------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, *, feature_names=None, words=None, callback=None):
        """Choose a machine and fit it to all rows.

        Whatever ends this early, be it Ctrl-C, leaves the estimator as it was before. To end sooner with the best
        model by then, set ``time_budget``.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame, or pair of an array and a dict of columns of text
            A data frame of pandas or polars may have columns of categories, text and dates. All columns of a dict are
            learned as categories, but for those that ``words`` names.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples; rows of weight 0 are ignored.
        feature_names : sequence of str, default=None
            Names of the columns of numbers for the report and for messages, where ``X`` has none.
        words : sequence of str, default=None
            Names of columns of text that are read by their words, such as titles; they are left out if these tell
            nothing about ``y``. None is, of a data frame, text that is different in almost every row.
        callback : callable, default=None
            Called with a dict after each candidate: ``round``, ``rows`` (how they are seen), ``kernel``, ``gamma``,
            ``C``, ``score``, its name ``score_name``, ``seconds``. Before work that takes a while without candidates,
            the dict has one item, ``stage``: what is done, in words.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_params()
            refuse_no_target(type(self).__name__, y)
            callbacks = [each for each in (self._print if self.verbose else None, callback) if each is not None]
            self._fit(X, y, sample_weight, feature_names, words, callbacks)
        return self

    def _fit(self, X, y, sample_weight, feature_names, words, callbacks):
        for name in ("feature_names_in_", "n_features_in_"):
            self.__dict__.pop(name, None)
        random_state = check_random_state(self.random_state)
        clock = Clock(parsed_seconds("time_budget", self.time_budget))
        ways, notes = self._ways(X, y, sample_weight, feature_names, words)
        rows = ways[SCALED].given
        if len(rows.y) < _LEAST_ROWS:
            raise ValueError(f"{type(self).__name__} needs at least {_LEAST_ROWS} rows, but n_samples = {len(rows.y)}.")
        task = self._task(ways, rows, np.random.default_rng(random_state.randint(2**31)))
        if task.n_rows < _LEAST_ROWS:
            raise ValueError(
                f"{type(self).__name__} needs at least {_LEAST_ROWS} rows with a positive sample_weight, and "
                f"{task.n_rows} have one."
            )
        entries: list[Entry] = []

        def emit(event):
            for each in callbacks:
                each(event)

        def tell(entry):
            entries.append(entry)
            emit(self._event(entry))

        def announce(words):
            emit({"stage": words})

        try:
            found = search(task, self._plan(task), clock, tell, announce)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{type(self).__name__} found no kernel machine for these rows: numbers in X may be too large or too "
                "small for squares of them (1e-150 to 1e150), or weights too different. Choose other units for them."
            ) from None
        view = task.views[found.best.candidate.view]
        way = ways[view.base or view.name]
        start = clock.spent
        announce(f"fitting the best to all {task.n_rows} rows")
        last = last_fit(self, task, found, way.all_rows, self._known(rows), self._common(task, random_state), clock)
        fit_seconds = clock.spent - start
        typical = way.typical_rows(np.random.default_rng(random_state.randint(2**31)))
        errors = self._errors(last, entries, rows)
        self.pipeline_ = way.pipeline.adopt(last.model, self._calibration(task, last), typical, errors)
        self._publish(task, found, last, entries, notes, fit_seconds, clock)

    def _event(self, entry):
        """What callbacks get for a candidate."""
        candidate, score = entry.candidate, 1.0 - float(entry.judgment.error)
        chosen = {"rows": candidate.view, "kernel": candidate.kernel, "gamma": float(candidate.gamma)}
        figures = {"score": score, "score_name": self._score_name, "seconds": float(entry.seconds)}
        return {"round": int(entry.round.number), **chosen, "C": float(entry.C), **figures}

    def _print(self, event):
        """The callback of ``verbose``."""
        if "stage" in event:
            print(f"[{type(self).__name__}] {event['stage']} ...")
            return
        score = f"{event['score_name']} {event['score']:.4f} ({event['seconds']:.1f} s)"
        print(f"[{type(self).__name__}] {candidate_words(event)}: {score}")

    # --- rows -----------------------------------------------------------------------------------------------------

    def _ways(self, X, y, sample_weight, feature_names, words) -> tuple[dict[str, Way], list[str]]:
        """The rows in all views, and what there is to say about them."""
        self._layout, unlike = layout_of(X)
        unlike, table = unlike if words is None else words, X
        way = self._first_way(as_input(X, self._layout), unlike, y, sample_weight)
        ways, pipeline = {SCALED: way}, way.pipeline
        encoder = pipeline.encoder_
        if way.given.X.shape[1] == 0 and encoder is not None and encoder.n_encoded_ == 0:
            raise ValueError("All values of all columns are missing: there is nothing to learn from.")
        silent = [name for name in unlike if encoder is None or name not in encoder.names_]
        if (sentence := left_out(table, silent, unlike)) is not None and self._layout is not None:
            warn_caller(f"{sentence} To keep a column, convert it with astype('category').", UserWarning)
        names = feature_names if self._layout is None else self._layout.number_names
        if names is not None:
            if len(names) != pipeline.n_features_in_:
                expected = f"{pipeline.n_features_in_} names, one for each column of numbers"
                raise ParameterError("feature_names", names, expected)
            pipeline.number_names_ = np.array(names, object)
        self._name_features(pipeline)
        notes = [*([] if sentence is None else [sentence]), *notes_on(table, self._layout, pipeline)]
        if pipeline.indicates:
            n_missing = len(pipeline.filler_.indicated_)
            notes.append(
                f"Missing values in {n_missing} column{'' if n_missing == 1 else 's'} were filled with the median; "
                "further columns say where."
            )
        if way.has_copies:
            notes.append("Many rows are copies of others: each counts as often as it is there, and is left out as one.")
        if encoder is None and may_stay_unscaled(pipeline):
            ways[IN_PROPORTION] = way.unscaled()
        if pipeline.scaler_ is not None and pipeline.scaler_.centres_:
            bent = way.made_symmetric()
            if not np.array_equal(bent.pipeline.scaler_.limit_, pipeline.scaler_.limit_):
                ways[SYMMETRIC] = bent
        return ways, notes

    def _first_way(self, X, words, y, sample_weight):
        """The rows scaled, without columns of text whose words tell nothing about the target."""
        scaler = StreamingScaler(clip=CLIP, soft_clip=True)
        way = self._way(scaler, encoder_for(X, words), X, y, sample_weight)
        encoder = way.pipeline.encoder_
        silent = [] if encoder is None else encoder.silent_
        if not silent:
            return way
        if self._layout is not None:
            self._layout = self._layout.without(silent)
        X = without_text(X, silent)
        return self._way(scaler, encoder_for(X, words), X, y, sample_weight)

    def _way(self, scale, encoder, X, y, sample_weight):
        impute = MissingValueFiller(indicator=True) if self.missing == "impute" else None
        pipeline = StreamPipeline(
            self._cells_machine().set_params(n_jobs=all_cores_unless(self.n_jobs)),
            scale=scale,
            encoder=encoder,
            impute=impute,
            calibrate=self._classifies,
        )
        rows = pipeline.survey(X, y, sample_weight)
        weights = weights_without_copies(rows, X[1] if is_pair(X) else {})
        if weights is not None:
            rows = pipeline.survey(X, y, weights)
        if pipeline.scaler_ is not None:
            pipeline.scaler_.hold_constant()
            pipeline.scaler_.widen_rare(rows_that_count(rows.X, rows.weights))
        if rows.weights is not None and rows.weights.any():  # in whatever unit they come
            rows = rows._replace(weights=rows.weights / rows.weights[rows.weights > 0].mean())
        return Way(pipeline, rows, weights is not None)

    def _name_features(self, pipeline):
        if self._layout is not None:
            self.feature_names_in_ = np.array(self._layout.names, object)
            self.n_features_in_ = len(self._layout.names)
            return
        self.n_features_in_ = pipeline.n_features_in_
        if hasattr(pipeline, "feature_names_in_"):
            self.feature_names_in_ = pipeline.feature_names_in_

    def _task(self, ways, rows, rng) -> Task:
        targets, labels, weights = self._targets(rows)
        numbers = self._known(rows)
        if numbers is not None:
            targets, weights = targets[:, numbers], weights[numbers]
            labels = None if labels is None else labels[numbers]
        views = {name: new_view(name, way.rows_of(numbers)) for name, way in ways.items()}
        return Task(views, targets, labels, np.asarray(weights, np.float32), self._loss(), self._machinery(), rng)

    def _common(self, task, random_state) -> dict[str, Any]:
        """Parameters of whatever machine is fitted."""
        return {
            "memory": f"{task.machinery.memory}B",
            "device": self.device,
            "n_jobs": all_cores_unless(self.n_jobs),
            "random_state": random_state.randint(2**31),
        }

    @staticmethod
    def _known(rows) -> np.ndarray | None:
        """The rows that have a weight; None if all have."""
        has_all = rows.weights is None or rows.weights.all()
        return None if has_all else numbers_with_weight(rows.weights, len(rows.y))

    def _machinery(self):
        arrays = arrays_on(self.device)
        return Machinery(arrays, Threads(thread_count(all_cores_unless(self.n_jobs))), self._memory_on(arrays))

    def _memory_on(self, arrays) -> int:
        """Bytes for kernel values, of the device that computes them."""
        if self.memory == "auto":
            return int(_SHARE_OF_GPU * arrays.free_bytes()) if arrays.is_gpu else parsed_bytes("memory", _ON_HOST)
        return parsed_bytes("memory", self.memory)

    def _plan(self, task) -> Plan:
        plan = Plan(self._kernels(), learns_metric=self.metric == "auto")
        if self.n_components != "auto":
            plan = plan._replace(n_components=min(self.n_components, task.n_rows))
        return plan.times(_GPU) if task.machinery.arrays.is_gpu else plan

    # --- what was found -------------------------------------------------------------------------------------------

    def _calibration(self, task: Task, last: LastFit) -> Any:
        return None

    def _errors(self, last: LastFit, entries: list[Entry], rows: LabeledRows) -> Any:
        return None

    def _publish(self, task, found, last, entries, notes, fit_seconds, clock):
        best = last.entry
        size = {"n_components": best.n_components} if last.is_low_rank else self._size_of(found)
        self.best_params_ = {
            "kernel": best.candidate.kernel,
            "gamma": float(best.candidate.gamma),
            "C": float(best.C),
            "rows": best.candidate.view,
            **size,
        }
        self.best_score_ = 1.0 - float(last.judgment.error)
        self.refit_time_ = fit_seconds
        self._rows_tried = [row_of(entry) for entry in entries]
        self._summary = {
            "title": self._title(task, last, fit_seconds, clock),
            "score": self._score_name,
            "rounds": ROUNDS,
            "notes": [*notes, *reasons(self._score_name, task, found, last, entries), *found.notes],
        }

    def _title(self, task, last, fit_seconds, clock):
        best = last.entry
        view = view_words(best.candidate.view)
        return (
            f"{type(self).__name__}: {best.candidate.kernel} kernel on {view}, gamma={best.candidate.gamma:.3g}, "
            f"C={best.C:.3g}, {machine_words(last.model, task.n_rows)}; {self._score_name} {self.best_score_:.4f} on "
            f"rows left out ({len(last.rows)} of them). {clock.spent:.1f} s in all, {fit_seconds:.1f} s of it for the "
            "last fit."
        )

    @staticmethod
    def _size_of(found):
        return {"cell_size": int(found.cell_size), "n_trees": int(found.n_trees)}

    @property
    def model_(self) -> Any:
        """The estimator inside, for rows that were prepared."""
        check_is_fitted(self)
        return self.pipeline_.estimator_

    @property
    def cv_results_(self) -> dict[str, Any]:
        """All candidates in scikit-learn's form; ``iter`` is the round, ``n_resources`` its number of rows."""
        check_is_fitted(self)
        return cv_results(self._rows_tried)

    def report(self, *, html: bool = False, output_dict: bool = False) -> Any:
        """What was tried, what won, by how much and how sure.

        Parameters
        ----------
        html : bool, default=False
            Whether to return HTML.
        output_dict : bool, default=False
            Whether to return a dict, of which the text is made: ``title``, a sentence about the winner; ``notes``,
            further sentences; ``score``, the name of the score; ``rounds``, a list of dicts with ``round``, ``words``,
            ``n_rows``, ``seconds`` and ``candidates``, the best first.

        Returns
        -------
        str or dict
            Notebooks show text as a table.
        """
        check_is_fitted(self)
        found = as_dict(self._summary, self._rows_tried)
        if output_dict:
            return found
        made = as_html(found)
        if html:
            return made
        report = Report(as_text(found))
        report.html = made
        return report

    # --- predictions ----------------------------------------------------------------------------------------------

    @property
    def layout_(self) -> Layout | None:
        """What the columns of the table are; None where all of them are numbers."""
        check_is_fitted(self)
        return self._layout

    def pipeline_input(self, X):
        """Rows as ``pipeline_`` takes them: numbers, or a pair of numbers and columns of text."""
        check_is_fitted(self)
        return as_input(X, self._layout)

    @shared
    def predict(self, X, *, device=None):
        """Predicted class, or value, of each row of ``X``, computed on a device if one is given."""
        X = self.pipeline_input(X)
        return self.pipeline_.predict(X, device=device)


def ones(n_rows: int) -> np.ndarray:
    """Weights of examples that have none, without memory for each."""
    return np.broadcast_to(np.float32(1.0), n_rows)

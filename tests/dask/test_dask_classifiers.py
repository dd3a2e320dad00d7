"""The Dask classifiers: what they learn, what they take, and what they refuse."""

import pickle

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")  # a folder of this name is found as `dask` where Dask is missing

import dask.array as da  # noqa: E402
from dask import delayed  # noqa: E402
from distributed.scheduler import KilledWorker  # noqa: E402
from scipy.sparse import csr_matrix  # noqa: E402
from sklearn.base import clone  # noqa: E402

from frugalsvm import ASSETClassifier, BSGDClassifier  # noqa: E402
from frugalsvm.dask import DaskASSETClassifier, DaskBSGDClassifier, DaskPipeline  # noqa: E402
from frugalsvm.dask._cluster import Cluster  # noqa: E402
from frugalsvm.dask._preparing import shares  # noqa: E402
from frugalsvm.datasets import make_checkerboard  # noqa: E402
from frugalsvm.lowrank import newton  # noqa: E402
from frugalsvm.lowrank.backends.partitions import PartitionedProblem  # noqa: E402
from frugalsvm.lowrank.training import Watch  # noqa: E402
from frugalsvm.pipelines import ColumnEncoder  # noqa: E402

ASSET = {"n_components": 64, "C": 10.0, "gamma": 8.0, "random_state": 0}
BSGD = {"budget": 60, "gamma": 8.0, "alpha": 1e-4, "random_state": 0, "max_iter": 3}


@pytest.fixture(scope="module")
def rows():
    return make_checkerboard(4000, random_state=0)


def divided(X, y, n_rows=1000):
    return da.from_array(X, chunks=(n_rows, -1)), da.from_array(y, chunks=n_rows)


def estimators(client):
    return [DaskASSETClassifier(client=client, **ASSET), DaskBSGDClassifier(client=client, **BSGD)]


@pytest.mark.parametrize(("offset", "dtype", "gamma"), [(1e6, np.float64, "scale"), (1e3, np.float32, 8.0)])
@pytest.mark.slow
def test_offsets_change_nothing(client, rows, offset, dtype, gamma):
    X, y = rows[0].astype(np.float64), rows[1]
    far = (X + offset * X.std(axis=0) * np.array([1, -1])).astype(dtype)
    for model in estimators(client):
        scores = [
            clone(model).set_params(gamma=gamma).fit(*divided(each, y)).to_local().score(each, y)
            for each in (X.astype(dtype), far)
        ]
        # Small budgets are sensitive to rounding: another merge, another model, as good as the first on average.
        assert scores[1] == pytest.approx(scores[0], abs=0.005 if "n_components" in model.get_params() else 0.03)


def test_the_ordinary_estimator_and_lazy_predictions(client, rows):
    X, y = rows
    for model, ordinary in zip(estimators(client), (ASSETClassifier, BSGDClassifier), strict=True):
        model.fit(*divided(X, y))
        local = model.to_local()
        assert type(local) is ordinary
        dX, dy = divided(X, y)
        for lazy, expected in (
            (model.predict(dX), local.predict(X)),
            (model.decision_function(dX), local.decision_function(X)),
        ):
            assert isinstance(lazy, da.Array)
            assert lazy.chunks == ((1000,) * 4,)
            # not bit by bit: products of other blocks are rounded otherwise
            np.testing.assert_allclose(client.compute(lazy).result(), expected, rtol=1e-4, atol=1e-4)
        score = model.score(dX, dy)
        assert isinstance(score, da.Array)
        assert client.compute(score).result() == pytest.approx(local.score(X, y))
        assert local.score(X, y) > 0.9
        assert local.t_ >= 0.95 * len(y)  # all but the validation rows
        assert model.n_iter_ == len(model.history_) == local.n_iter_


@pytest.mark.parametrize(
    ("kernel", "gamma"), [("laplacian", 4.0), pytest.param("matern32", 8.0, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_other_kernels(client, rows, kernel, gamma):
    X, y = rows
    for model in estimators(client):
        if isinstance(model, DaskBSGDClassifier):
            model.set_params(maintenance="project")
        local = model.set_params(kernel=kernel, gamma=gamma).fit(*divided(X, y)).to_local()
        assert local.kernel == kernel
        assert local.score(X, y) > 0.85


def test_asset_is_as_good_as_on_one_machine(client, rows):
    X, y = rows
    own = ASSETClassifier(**ASSET).fit(X, y)
    model = DaskASSETClassifier(client=client, **ASSET).fit(*divided(X, y, 700)).to_local()
    assert model.score(X, y) > own.score(X, y) - 0.01
    assert 0 <= model.suboptimality_bound_ < 0.05 * model.objective_


def test_landmarks_that_are_passed(client, rows):
    X, y = rows[0] + 100.0, rows[1]  # far from zero: landmarks are moved as rows are
    settings = {**ASSET, "landmarks": X[:64], "n_components": 512}
    model = DaskASSETClassifier(client=client, **settings).fit(*divided(X, y)).to_local()
    own = ASSETClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(model.landmarks_, X[:64], atol=1e-4)
    assert model.objective_ == pytest.approx(own.objective_, rel=0.01)


def test_steps_that_go_too_far_are_taken_back(client, rows, monkeypatch):
    """A sample can be wrong about how far to go; the objective of all rows tells, and the end is nearly the same.

    Without validation rows, which may prefer a model with a larger objective.
    """
    settings = {**ASSET, "validation_fraction": 0}
    usual = DaskASSETClassifier(client=client, **settings).fit(*divided(*rows)).to_local()
    right = newton.line_search

    def too_far(problem, *arguments):
        return (5.0 if isinstance(problem, PartitionedProblem) else 1.0) * right(problem, *arguments)

    monkeypatch.setattr(newton, "line_search", too_far)
    model = DaskASSETClassifier(client=client, **settings).fit(*divided(*rows))
    assert model.to_local().objective_ == pytest.approx(usual.objective_, rel=0.02)


@pytest.mark.parametrize("solver", ["asset", "asset*"])
def test_epochs_with_means_between_them(client, rows, solver):
    model = DaskASSETClassifier(client=client, solver=solver, max_iter=8, **ASSET).fit(*divided(*rows))
    local = model.to_local()
    assert local.score(*rows) > 0.9
    assert 0 <= local.suboptimality_bound_ < local.objective_


def test_a_last_round_for_the_coefficients(client, rows):
    rows = rows[0].astype(np.float64), rows[1]
    plain, post = (
        DaskBSGDClassifier(client=client, average=average, **BSGD).fit(*divided(*rows)) for average in (False, "post")
    )
    assert len(post.history_) == len(plain.history_) + 1
    np.testing.assert_array_equal(post.to_local().support_vectors_, plain.to_local().support_vectors_)
    assert post.to_local().score(*rows) > plain.to_local().score(*rows) - 0.01


def test_the_same_model_whatever_the_input_is(client, rows):
    """Arrays, delayed partitions and data frames; kept in memory or not."""
    pd = pytest.importorskip("pandas")
    import dask.dataframe as dd

    X, y = rows
    arrays = divided(X, y)
    lists = (
        [delayed(X[i : i + 1000]) for i in range(0, 4000, 1000)],
        [delayed(y[i : i + 1000]) for i in range(0, 4000, 1000)],
    )
    frame = dd.from_pandas(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": y}), npartitions=4, sort=False)
    frames = frame[["a", "b"]], frame["label"]
    for model in estimators(client):
        expected = model.fit(*arrays).to_local().decision_function(X)
        for given, persist in ((lists, "auto"), (arrays, False)):
            again = clone(model).set_params(client=client, persist=persist).fit(*given)
            np.testing.assert_array_equal(again.to_local().decision_function(X), expected)
        framed = clone(model).set_params(client=client).fit(*frames)
        assert list(framed.to_local().feature_names_in_) == ["a", "b"]
        np.testing.assert_allclose(client.compute(framed.decision_function(frames[0])).result(), expected, atol=1e-3)


def test_small_parquet_files_are_partitions(client, rows, tmp_path):
    """Dask would join the files of the labels, which are one of many columns, and not those of the rows."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    import dask.dataframe as dd

    X, y = rows
    wide = np.column_stack([X, np.zeros((len(y), 18))])
    for number in range(4):
        part = slice(1000 * number, 1000 * (number + 1))
        frame = pd.DataFrame(wide[part], columns=[f"x{j}" for j in range(20)]).assign(label=y[part])
        frame.to_parquet(tmp_path / f"part-{number}.parquet")
    table = dd.read_parquet(tmp_path)
    model = DaskASSETClassifier(client=client, **ASSET).fit(table.drop(columns="label"), table["label"])
    expected = DaskASSETClassifier(client=client, **ASSET).fit(*divided(wide, y))
    assert client.compute(model.score(table.drop(columns="label"), table["label"])).result() > 0.9
    names = {f"x{j}": wide[:, j] for j in range(20)}
    np.testing.assert_array_equal(
        model.to_local().decision_function(pd.DataFrame(names)), expected.to_local().decision_function(wide)
    )


def test_sparse_rows_and_three_classes(client):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4)) * (rng.random((900, 4)) < 0.7)
    y = np.array(["one", "three", "two"])[np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.4, 0.4])]
    parts = [delayed(csr_matrix(X[i : i + 300])) for i in range(0, 900, 300)]
    labels = [delayed(y[i : i + 300]) for i in range(0, 900, 300)]
    for model in (
        DaskASSETClassifier(n_components=64, C=10.0, random_state=0, client=client),
        DaskBSGDClassifier(budget=60, alpha=1e-3, random_state=0, client=client),
    ):
        model.fit(parts, labels)
        assert list(model.classes_) == ["one", "three", "two"]
        assert client.compute(model.score(parts, labels)).result() > 0.8
        assert client.compute(model.decision_function(parts)).result().shape == (900, 3)


def test_weights_of_zero_are_no_rows(client, rows):
    X, y = rows
    weights = np.ones(4000)
    weights[::2] = 0.0
    wrong = np.where(weights > 0, y, -y)
    for model in estimators(client):
        dX, dy = divided(X, wrong)
        model.fit(dX, dy, da.from_array(weights, chunks=1000))
        assert model.to_local().score(X, y) > 0.85


@pytest.mark.parametrize("how", ["sample_weight", "class_weight"])
def test_a_class_without_weight_is_refused(client, rows, how):
    X, y = rows
    y = np.where(X[:, 0] > np.quantile(X[:, 0], 0.8), 2, (y > 0).astype(int))
    order = np.argsort(y, kind="stable")  # its rows fill partitions of their own
    X, y = divided(X[order], y[order], 400)
    for model in estimators(client):
        weights = {"sample_weight": (y != 2).astype(float)} if how == "sample_weight" else {}
        if how == "class_weight":
            model.set_params(class_weight={0: 1.0, 1: 1.0, 2: 0.0})
        with pytest.raises(ValueError, match="All rows of class 2 have weight 0"):
            model.fit(X, y, **weights)


def test_a_column_of_text_is_named(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": np.arange(40.0), "kind": ["red", "green"] * 20, "y": [0, 1] * 20})
    frame = dd.from_pandas(frame, npartitions=2)
    for model in [*estimators(client), *map(DaskPipeline, estimators(client))]:
        with pytest.raises(ValueError, match=r"column 'kind' has values that are not numbers, such as 'red'.*encoder"):
            model.fit(frame[["a", "kind"]], frame["y"])


def test_dates_in_a_pipeline_are_numbers(client):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    days = pd.date_range("2020-01-01", periods=400)
    frame = pd.DataFrame({"when": days, "kind": ["red", "green"] * 200}).sample(frac=1, random_state=0)
    frame["y"] = (frame["when"] > days[200]).astype(int)
    parts = dd.from_pandas(frame.reset_index(drop=True), npartitions=2)
    model = DaskPipeline(DaskASSETClassifier(client=client, **ASSET | {"gamma": 1.0}), encoder=ColumnEncoder())
    local = model.fit(parts[["when", "kind"]], parts["y"]).to_local()
    assert (local.feature_names_in_.tolist(), local.encoder_.names_) == (["when"], ["kind"])
    assert local.score(frame[["when", "kind"]], frame["y"]) > 0.9


def test_balanced_classes(client):
    """Of two blobs that overlap, more of the rare one are found."""
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.1).astype(int)
    X = rng.normal(size=(3000, 2)) + y[:, None]
    found = [
        np.mean(
            DaskASSETClassifier(n_components=32, class_weight=weight, random_state=0, client=client)
            .fit(*divided(X, y))
            .to_local()
            .predict(X[y == 1])
        )
        for weight in (None, "balanced")
    ]
    assert found[1] > found[0] + 0.2


def test_empty_partitions_and_partitions_of_one_class_are_no_trouble(client, rows):
    X, y = rows
    order = np.argsort(y, kind="stable")
    cuts = [0, 0, 1500, 2500, 2500, 4000]
    parts = [order[a:b] for a, b in zip(cuts, cuts[1:], strict=False)]
    for model in estimators(client):
        model.fit([delayed(X[part]) for part in parts], [delayed(y[part]) for part in parts])
        assert model.to_local().score(X, y) > 0.8
        assert client.compute(model.predict([delayed(X[part]) for part in parts])).result().shape == (4000,)


def refused(client, message, X_parts, y_parts, error=ValueError):
    for model in estimators(client):
        with pytest.raises(error, match=message):
            model.fit([delayed(part) for part in X_parts], [delayed(part) for part in y_parts])
        assert not hasattr(model, "classes_")


def test_what_is_wrong_with_a_partition_is_told_with_its_number(client, rows, caplog):
    X, y = rows[0][:200], rows[1][:200]
    refused(client, "Partition 1 has 1 features, but partition 0 has 2", [X, X[:, :1]], [y, y])
    refused(client, "Partition 1: there are 200 rows, but 199 labels", [X, X], [y, y[1:]])
    refused(client, "Partition 1: Input X contains NaN", [X, np.full_like(X, np.nan)], [y, y])
    refused(client, "Partition 1 has labels like 'a', which do not mix", [X, X], [y, np.full(200, "a")])
    refused(client, "Partition 0: Unknown label type", [X], [y + 0.5 * np.arange(200) + 0.25])
    refused(client, "at least two classes, but all labels are 1", [X, X], [np.ones(200, int)] * 2)
    refused(client, "All partitions are empty", [X[:0], X[:0]], [y[:0], y[:0]])


def test_what_is_wrong_with_the_input_is_told(client, rows):
    X, y = rows
    dX, dy = divided(X, y)
    for model in estimators(client):
        with pytest.raises(TypeError, match="X must be a Dask array"):
            model.fit(X, y)
        with pytest.raises(ValueError, match="X has 1 partitions, but y has 2"):
            model.fit([delayed(X)], [delayed(y), delayed(y)])
        with pytest.raises(ValueError, match="X has 4000 rows, but"):
            model.fit(dX, dy[:100])
        with pytest.raises(ValueError, match="validation_fraction must be"):
            clone(model).set_params(validation_fraction=1.0, client=client).fit(dX, dy)
        with pytest.raises(ValueError, match="There is no Dask client"):
            clone(model).set_params(client=None).fit(dX, dy)
    with pytest.raises(ValueError, match="C must be"):
        DaskASSETClassifier(C=[1.0, -10.0], client=client).fit(dX, dy)
    with pytest.raises(ValueError, match="average must be False or 'post'"):
        DaskBSGDClassifier(average=True, client=client).fit(dX, dy)


def test_workers_that_die_again_and_again_are_told_from_other_errors(client):
    cluster = Cluster(client)
    told = r"died again and again while they computed rows-1\b.*allowed-failures"
    with pytest.raises(RuntimeError, match=told), cluster._answering():
        raise KilledWorker("rows-1", None, 3)
    with pytest.raises(OSError, match=r"^a file$"), cluster._answering():  # the scheduler is there
        raise OSError("a file")


def test_fitted_estimators_travel_without_their_client(client, rows):
    model = DaskBSGDClassifier(client=client, **BSGD).fit(*divided(*rows))
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.predict(divided(*rows)[0]).compute(), model.to_local().predict(rows[0]))


def test_shares_add_up():
    for total in (0, 3, 100, 1000):
        parts = shares(np.array([500, 0, 3, 497]), total)
        assert parts.sum() == total
        assert (parts <= [500, 0, 3, 497]).all()


def test_the_best_is_kept_and_small_gains_end_it():
    watch = Watch(2, 0.01)
    told = [watch.note(score, score) for score in (0.5, 0.9, 0.905, 0.903)]
    assert told == [False, False, False, True]
    assert watch.best_parameters == 0.905

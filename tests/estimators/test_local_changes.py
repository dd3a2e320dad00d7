"""`LocalSVC` and `LocalSVR` that forget, add and replace rows: the same as training on the rows that are left."""

import json
import os
import pickle
import tempfile
import zipfile

import numpy as np
import pytest
from sklearn.base import clone

from frugalsvm import LocalSVC, LocalSVR, load, save
from frugalsvm.cells.changes.structure import NO_LEVEL, levels_of
from frugalsvm.cells.places import OnThreads
from frugalsvm.cells.solver import Examples
from frugalsvm.cells.tree import cells_of
from frugalsvm.compiling.threads import ONE_THREAD
from frugalsvm.estimators._learned_rows import room_of
from frugalsvm.estimators.forget_reports import is_signed_by
from frugalsvm.persist.checkpoint import save_checkpoint
from tests.oracles import kernels as kernel_oracle
from tests.oracles.changes import Table, from_scratch

GAMMA, C, SIZE = 0.5, 10.0, 40


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, "a", "b"), np.sin(2 * X[:, 0]) + X[:, 1]


def new_model(cls=LocalSVC, **others):
    settings = {"kernel": "rbf", "gamma": GAMMA, "cell_size": SIZE, "dtype": "float64", "random_state": 0, **others}
    if cls is LocalSVR:
        settings.setdefault("intervals", None)
    return cls(C, **settings)


def oracle_of(model, known):
    """The oracle's leave-one-out scores and scores for the trees of a model."""
    trees = [cells.tree for cells in model._cells]
    return from_scratch(known, trees, lambda A, B: kernel_oracle.value("rbf", A, B, GAMMA), 1.0 / C)


def check_trees(model, X_by_id):
    """Rows are in the cells that they fall into, in the order of ids; cells are neither empty nor too large."""
    ids, rows = model._row_ids, model._rows
    for i, row in zip(ids.tolist(), rows, strict=True):
        np.testing.assert_array_equal(row, X_by_id[i])
    for cells in model._cells:
        tree = cells.tree
        assert sorted(tree.members) == list(range(len(rows)))
        assert tree.sizes.min() >= 1
        assert tree.sizes.max() <= SIZE
        np.testing.assert_array_equal(
            cells_of(tree, rows)[tree.members], np.repeat(np.arange(tree.n_cells), tree.sizes)
        )
        for cell in range(tree.n_cells):
            assert (np.diff(ids[tree.members_of(cell)]) > 0).all()


def random_change(model, known, rng, *, weighted, targets_of):
    """Change a model and a table in the same way."""
    ids = np.array(sorted(known.rows))
    kind = rng.choice(["forget", "forget rows", "add", "update"])
    count = int(rng.choice([1, 1, 3, 30]))
    if kind.startswith("forget"):
        gone = rng.choice(ids, min(count, len(ids) - 60) if len(ids) > 70 else 1, replace=False)
        if kind == "forget":
            model.unlearn(gone)
        else:
            model.unlearn(np.array([known.rows[i][0] for i in gone.tolist()]))
        known.forget(gone.tolist())
        return
    X, labels, values = table(count, int(rng.integers(2**31)))
    X *= rng.choice([1.0, 0.1])  # of all cells, or of few
    y = targets_of(labels, values)
    weights = rng.uniform(0.5, 2.0, count) if weighted else None
    if kind == "add":
        numbers = model._n_ids + np.arange(count)
        model.partial_fit(X, y, sample_weight=weights)
    else:
        numbers = rng.choice(ids, min(count, len(ids)), replace=False)
        X, y = X[: len(numbers)], y[: len(numbers)]
        weights = None if weights is None else weights[: len(numbers)]
        model.update(numbers, X, y, sample_weight=weights)
    known.put(numbers.tolist(), X, scaled(model, y), np.ones(len(X)) if weights is None else weights)


def scaled(model, y):
    """Targets in units of the machines, (n, 1)."""
    if isinstance(model, LocalSVC):
        return np.where(y == model.classes_[1], 1.0, -1.0)[:, None]
    return model._target_scale.standardized(y[:, None])


@pytest.mark.parametrize("cls", [LocalSVC, LocalSVR])
@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_any_changes_are_those_of_the_oracle(cls, n_trees, weighted, seed):
    X, labels, values = table()
    y = labels if cls is LocalSVC else values
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = new_model(cls, n_trees=n_trees).fit(X, y, weights)
    known = Table(X, scaled(model, y), np.ones(len(X)) if weights is None else weights)
    new = table(20, 99)[0]
    for _ in range(8):
        random_change(
            model, known, rng, weighted=weighted, targets_of=lambda a, b: a if cls is LocalSVC else b
        )  # fmt: skip
        check_trees(model, {i: row[0] for i, row in known.rows.items()})
    left_out, scores = oracle_of(model, known)
    np.testing.assert_array_equal(model.row_ids_, known.arrays()[0])
    np.testing.assert_allclose(model.standardized_left_out(), left_out, atol=1e-8)
    np.testing.assert_allclose(model.scores_of(new), scores(new), atol=1e-8)


def trained_again(model, X, y, weights=None):
    """A model of rows, in the order of their ids, with the structure, gamma and C of another one."""
    same = clone(model)
    vars(same).update({name: value for name, value in vars(model).items() if name != "loo_scores_"})
    same.calibration_ = None
    rows = model._known_rows(X, model._dtype)
    targets = model.known_targets(y).astype(model._dtype)
    weights = np.empty(0) if weights is None else weights
    trees = []
    for cells in model._cells:
        found = cells_of(cells.tree, rows)
        starts = np.concatenate([[0], np.cumsum(np.bincount(found, minlength=cells.tree.n_cells))])
        trees.append(cells.tree._replace(members=np.argsort(found, kind="stable"), starts=starts))
    same._rows = rows
    same._cells, left_out = OnThreads(ONE_THREAD).trained(
        model._kernel, Examples(rows, targets, weights), trees, model.cell_size_, 1.0 / model.C_
    )
    same.take_left_out(left_out, targets, weights if len(weights) else None)
    return same


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_everything_is_that_of_training_again_to_the_last_bit(dtype):
    X, y, _ = table(6000)
    model = new_model(cell_size=500, dtype=dtype).fit(X, y)
    rng = np.random.default_rng(0)
    gone = rng.choice(6000, 500, replace=False)
    model.unlearn(gone[:450]).unlearn(gone[450:451]).unlearn(X[gone[451:]], y[gone[451:]])
    stays = np.setdiff1d(np.arange(6000), gone)
    same = trained_again(model, X[stays], y[stays])
    np.testing.assert_array_equal(model.loo_scores_, same.loo_scores_)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    assert model.loo_error_ == same.loo_error_


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_trees", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_error_is_that_of_the_scores_after_any_changes(n_classes, n_trees, weighted):
    X, _, values = table()
    y, rng = np.digitize(values, [0.0, 1.0][: n_classes - 1]), np.random.default_rng(0)
    y[::10] = 0  # errors
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
    model = new_model(n_trees=n_trees).fit(X, y, weights)
    weights = np.ones(len(X)) if weights is None else weights
    y_by_id, weight_by_id = dict(enumerate(y.tolist())), dict(enumerate(weights.tolist()))
    for count in (1, 1, 40, 1):
        gone = rng.choice(model.row_ids_, count, replace=False)
        model.unlearn(gone)
        replaced = rng.choice(model.row_ids_, 5, replace=False)
        new = rng.integers(0, n_classes, 5)
        model.update(replaced, X[:5], new, sample_weight=np.ones(5) if weighted else None)
        first = model._n_ids
        model.partial_fit(X[:3] + 0.01, y[:3], sample_weight=np.ones(3) if weighted else None)
        added = [*replaced.tolist(), *range(first, first + 3)]
        y_by_id.update(zip(added, [*new.tolist(), *y[:3].tolist()], strict=True))
        weight_by_id.update(dict.fromkeys(added, 1.0))
        scores, ids = model.loo_scores_, model.row_ids_.tolist()
        found = scores[:, 0] >= 0 if n_classes == 2 else scores.argmax(axis=1)
        is_wrong = found != np.array([y_by_id[i] for i in ids])
        expected = np.average(is_wrong, weights=[weight_by_id[i] for i in ids] if weighted else None)
        assert 0.0 < expected == model.loo_error_


def test_scores_and_ids_that_users_have_taken_stay_as_they_are():
    X, y, _ = table()
    model = new_model().fit(X, y)
    scores, ids = model.loo_scores_, model.row_ids_
    before = scores.copy()
    model.unlearn([3]).unlearn([4, 5])
    np.testing.assert_array_equal(scores, before)
    np.testing.assert_array_equal(ids, np.arange(200))


def test_rows_without_influence_on_the_tree_leave_no_trace_in_it():
    X, y, _ = table(8000)
    model = new_model(cell_size=1000).fit(X, y)
    others = np.setdiff1d(np.arange(8000), model.structure_rows_)
    assert 0.5 < len(others) / 8000 < 0.8
    before = model._cells[0].tree
    model.unlearn(others[:100])
    assert model.forgotten_[-1]["parts grown again"] == [0]
    np.testing.assert_array_equal(model._cells[0].tree.directions, before.directions)
    np.testing.assert_array_equal(model._cells[0].tree.cuts, before.cuts)


def test_parts_that_rows_have_made_are_grown_again():
    X, y, _ = table(8000)
    model = new_model(cell_size=1000).fit(X, y)
    levels = model._known_levels()[0]
    for level in (0, 1, 2):
        own = model._row_ids[levels == level]
        changed = clone(model).fit(X, y).unlearn(own[:1])
        directions, others = changed._cells[0].tree.directions, model._cells[0].tree.directions
        kept = [i for i, row in enumerate(others) if (np.abs(directions - row).max(axis=1) == 0).any()]
        n_grown = 2 ** (3 - level) - 1  # nodes of the part
        assert len(kept) == len(others) - n_grown
        assert changed.forgotten_[-1]["parts grown again"] == [1]


def test_levels_after_changes_are_those_of_the_tree():
    X, y, _ = table(3000)
    model = new_model(cell_size=600).fit(X, y)
    rng = np.random.default_rng(0)
    for _ in range(10):
        model.unlearn(rng.choice(model.row_ids_, 3, replace=False))
    tree = model._cells[0].tree
    for node in range(len(tree.cuts)):  # rows whose removal would move a cut are known as such
        below = model._rows[_members_below(tree, node)] @ tree.directions[node]
        levels = model._row_levels[0][_members_below(tree, node)]
        left = below < tree.cuts[node]
        assert levels[left][below[left].argmax()] <= 10 or below[left].max() < tree.cuts[node] - 1e-3
    found = levels_of(tree, model._rows, model._row_ids)
    assert (found < NO_LEVEL).any()


def _members_below(tree, part):
    if part < 0:
        return tree.members_of(~part)
    return np.concatenate([_members_below(tree, each) for each in tree.children[part].tolist()])


def test_equal_rows_go_one_after_the_other():
    X, y, _ = table()
    X[7] = X[3]
    y[3], y[7] = "a", "b"
    model = new_model().fit(X, y)
    assert 7 not in model.unlearn(X[3:4]).row_ids_
    assert 3 not in model.unlearn(X[3:4]).row_ids_
    with pytest.raises(ValueError, match="no row \\(any more\\) that equals row 0"):
        model.unlearn(X[3:4])
    model = new_model().fit(X, y).unlearn(X[3:4], ["a"])
    assert 3 not in model.row_ids_
    assert 7 in model.row_ids_


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda model, X: model.unlearn([3, 3]), "given twice"),
        (lambda model, X: model.unlearn([1000]), "unknown: 200 rows"),
        (lambda model, X: model.unlearn([0.5]), "must be integers"),
        (lambda model, X: model.unlearn([1], ["a"]), "y is for rows only"),
        (lambda model, X: model.unlearn(np.arange(200)), "at least one row"),
        (lambda model, X: model.update([1], X[:2], ["a", "b"]), "2 rows, but there are 1 ids"),
        (lambda model, X: model.partial_fit(X[:1], ["c"]), "c"),
    ],
)
def test_what_cannot_be_done_changes_nothing(wrong, message):
    X, y, _ = table()
    model = new_model().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        wrong(model, X)
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(model.row_ids_, np.arange(200))


def test_rows_without_weight_have_ids_but_cannot_be_forgotten():
    X, y, _ = table()
    weights = np.ones(200)
    weights[[2, 5]] = 0.0
    model = new_model().fit(X, y, weights)
    assert model.loo_scores_.shape == (200, 1)
    with pytest.raises(ValueError, match="Row 5 was forgotten before, or had no weight"):
        model.unlearn([5])
    model.unlearn([10])
    assert model.loo_scores_.shape == (197, 1)
    assert set(model.row_ids_) == set(range(200)) - {2, 5, 10}
    model.partial_fit(X[:2], y[:2], sample_weight=[0.0, 1.0])
    assert model.row_ids_[-1] == 201


def test_models_with_a_budget_for_all_rows_forget_but_take_no_more():
    X, y, _ = table()
    model = new_model(budget="1MB").fit(X, y).unlearn([1])
    with pytest.raises(ValueError, match="with a budget cannot take more rows"):
        model.partial_fit(X[:1], y[:1])


def test_what_fails_at_the_end_changes_nothing():
    X, _, y = table()
    model = new_model(LocalSVR).fit(X, y)
    before, scores = model.predict(X), model.loo_scores_.copy()
    stored = ("_rows", "_row_ids", "_row_targets")
    arrays = [getattr(model, name).copy() for name in stored]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "_look_back_again", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.unlearn([3, 199])
    vars(model).pop("_look_back_again", None)
    for name, array in zip(stored, arrays, strict=True):
        np.testing.assert_array_equal(getattr(model, name), array)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(model.loo_scores_, scores)
    np.testing.assert_array_equal(model.row_ids_, np.arange(200))
    assert len(model.unlearn([3, 199]).row_ids_) == 198


def test_models_with_a_budget_cannot_change():
    X, y, _ = table(600)
    model = new_model(budget="3KB", dtype="float32", cell_size=200).fit(X, y)
    with pytest.raises(ValueError, match="has a budget"):
        model.unlearn([1])


def test_batches_and_files_change_alike(tmp_path):
    X, y, _ = table()
    model = new_model().fit(X, y)
    in_batches = new_model().fit_batches([(X[:120], y[:120]), (X[120:], y[120:])])
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    for each in (model, in_batches, loaded):
        each.unlearn([3, 50]).partial_fit(X[:5] + 0.1, y[:5])
    for each in (in_batches, loaded):
        np.testing.assert_array_equal(each.row_ids_, model.row_ids_)
        np.testing.assert_array_equal(each.loo_scores_, model.loo_scores_)
        np.testing.assert_array_equal(each.decision_function(X), model.decision_function(X))


def test_intervals_are_those_of_the_rows_that_are_left():
    X, _, y = table(400)
    for intervals in ("local", "constant"):
        model = new_model(LocalSVR, intervals=intervals, cell_size=100).fit(X, y)
        model.unlearn(np.arange(50))
        low, high = model.predict_interval(X).T
        assert (low < high).all()
        n_known = 0 if model._spread is None else len(model._spread._rows)
        assert n_known == (350 if intervals == "local" else 0)
        assert model._errors_left_out.shape == (1, 350)


def test_the_first_rows_of_a_stream_are_a_fit():
    X, y, _ = table()
    stream = new_model().partial_fit(X[:100], y[:100])
    model = new_model().fit(X[:100], y[:100])
    np.testing.assert_array_equal(stream.decision_function(X), model.decision_function(X))
    assert stream.partial_fit(X[100:], y[100:]).score(X, y) > 0.9


def test_reports_say_what_was_done_and_are_signed():
    X, y, _ = table()
    model = new_model().fit(X, y)
    model.unlearn([3, 50]).unlearn([7], certify=True)
    report = json.loads(json.dumps(model.forget_report(key="secret")))
    first, second = report["forgotten"]
    assert (first["ids"], second["ids"], report["rows"]) == ([3, 50], [7], 197)
    assert second["digest before"] != second["digest after"] == report["digest"]
    assert second["residual"] < 1e-12
    assert is_signed_by(report, "secret")
    assert not is_signed_by(report, b"other")
    report["forgotten"][0]["ids"] = [3]
    assert not is_signed_by(report, "secret")
    assert "signature" not in model.forget_report()


def test_digests_do_not_depend_on_the_order_of_changes():
    X, y, _ = table(8000)
    model = new_model(cell_size=1000).fit(X, y)
    others = np.setdiff1d(np.arange(8000), model.structure_rows_)[:3]
    digests = set()
    for order in ([0, 1, 2], [2, 0, 1]):
        changed = new_model(cell_size=1000).fit(X, y)
        for i in order:
            changed.unlearn(others[[i]])
        digests.add(changed.forget_report()["digest"])
    digests.add(new_model(cell_size=1000).fit(X, y).unlearn(others).forget_report()["digest"])
    assert len(digests) == 1


def values_in(path_or_bytes, rows, dtype):
    """Which of some rows are found in bytes: any of their values."""
    return [i for i, row in enumerate(rows) if any(value.astype(dtype).tobytes() in path_or_bytes for value in row)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_of_a_row_is_left_in_files_or_memory(tmp_path, dtype):
    X, y, _ = table(1000)
    model = new_model(cell_size=200, dtype=dtype, n_trees=2).fit(X, y)
    model.partial_fit(X[:10] + 1e-3, y[:10])  # there is room after the rows now
    gone = np.array([0, 500, 999])
    others = np.setdiff1d(np.arange(1000), gone)
    model.unlearn(gone)
    rows = X.astype(dtype)
    save(model, tmp_path / "model.frugal")
    save(model, tmp_path / "small.frugal", for_prediction=True)
    save_checkpoint(model, tmp_path / "checkpoint.frugal")
    contents = [unpacked(tmp_path / name) for name in ("model.frugal", "small.frugal", "checkpoint.frugal")]
    for content in (*contents, pickle.dumps(model), room_of(model).tobytes()):
        assert values_in(content, rows[gone], dtype) == []
        assert len(values_in(content, rows[others][:20], dtype)) == 20  # the search finds what is there


def unpacked(path):
    """The bytes of all that is in a model file."""
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def test_nothing_of_a_row_is_left_in_temporary_files(tmp_path):
    X, y, _ = table(1000)
    files = []
    make = tempfile.TemporaryFile

    def watched(**options):
        files.append(make(**options))
        return os.fdopen(os.dup(files[-1].fileno()), "w+b")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", watched)
        model = new_model(cell_size=200).fit_batches([(X, y)], folder=tmp_path)
    gone = np.array([0, 500, 999])
    model.unlearn(gone)
    contents = []
    for file in files:
        size = os.fstat(file.fileno()).st_size
        contents.append(os.pread(file.fileno(), size, 0))
    assert any(len(values_in(content, X[1:20], "float64")) == 19 for content in contents)
    assert all(values_in(content, X[gone], "float64") == [] for content in contents[1:])

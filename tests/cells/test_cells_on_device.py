"""Cells on a device: trees, machines, leave-one-out errors, scores and choices are those of compiled code."""

import numpy as np
import pytest

from frugalsvm import LocalSVC, LocalSVR, load, save
from frugalsvm.cells import batches, on_device
from frugalsvm.cells.choosing import Choice, judge_in
from frugalsvm.cells.places import OnDevice, OnThreads
from frugalsvm.cells.solver import Examples, solved_cells
from frugalsvm.cells.tree import cells_of, grown_tree
from frugalsvm.compiling.threads import ONE_THREAD
from frugalsvm.core.kernels import KERNELS
from tests.cells.test_cells_solver import far_apart

RIDGE, SIZE, MEMORY = 0.1, 100, 2**20
ATOL = {np.float64: 1e-9, np.float32: 1e-3}
each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def examples_of(dtype=np.float64, n=1000, *, weighted=True):
    """Rows of which some are equal: they are a cell of their own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[50:200] = X[0]
    y = np.stack([np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n), np.sign(X[:, 1] * X[:, 2])])
    weights = rng.uniform(0.5, 2.0, size=n) if weighted else np.empty(0)
    return Examples(X.astype(dtype), y.astype(dtype), weights)


def machine(name="matern12", gamma=0.3):
    return KERNELS[name](gamma=gamma)


def trained_on(place, kernel, own, size=SIZE, ridge=RIDGE, n_trees=1):
    """The machines and leave-one-out scores of a place, in trees of compiled code."""
    trees = OnThreads(ONE_THREAD).grown(own, size, n_trees, np.random.default_rng(0))
    return place.trained(kernel, place.examples(*own), trees, size, ridge, lambda n_cells: None)


@each_dtype
def test_trees_are_those_of_compiled_code(arrays, dtype):
    own, place = examples_of(dtype), OnDevice(arrays, MEMORY)
    expected = grown_tree(own.rows, SIZE, np.random.default_rng(1))
    tree = place.grown(place.examples(*own), SIZE, 1, np.random.default_rng(1))[0]
    for found, wanted in zip(tree, expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_trees_do_not_depend_on_the_unit(arrays):
    rows, place = examples_of(np.float32).rows, OnDevice(arrays, MEMORY)
    plain, large = (
        place.grown(place.examples(each, rows.T, np.empty(0)), SIZE, 1, np.random.default_rng(0))[0]
        for each in (rows, rows * np.float32(2.0**60))
    )
    np.testing.assert_array_equal(plain.members, large.members)


@pytest.mark.parametrize("values", [(0, 1, 2.5, -3e10), (0, 1e-30), (4,)])
def test_trees_of_few_different_rows(arrays, values):
    rows = np.random.default_rng(0).choice(np.array(values, np.float32), size=(300, 2))
    place = OnDevice(arrays, MEMORY)
    tree = place.grown(place.examples(rows, rows.T, np.empty(0)), 9, 1, np.random.default_rng(0))[0]
    assert tree.is_sound(None)
    for cell in np.flatnonzero(tree.sizes > 9):
        members = rows[tree.members_of(cell)]
        assert (members == members[0]).all()
    cells = cells_of(tree, rows)
    assert all((cells[tree.members_of(cell)] == cell).all() for cell in range(tree.n_cells))


@each_dtype
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n_trees", [1, 2])
def test_machines_and_leave_one_out_scores(arrays, dtype, weighted, n_trees):
    own, kernel = examples_of(dtype, weighted=weighted), machine()
    found, left_out = trained_on(OnDevice(arrays, MEMORY), kernel, own, n_trees=n_trees)
    wanted, expected = trained_on(OnThreads(ONE_THREAD), kernel, own, n_trees=n_trees)
    np.testing.assert_allclose(left_out, expected, atol=ATOL[dtype])
    for mine, other in zip(found, wanted, strict=True):
        assert mine.tree.sizes.max() == 151
        assert mine.coef.dtype == dtype
        for array, known in zip(mine[2:], other[2:], strict=True):
            np.testing.assert_allclose(array, known, atol=ATOL[dtype])


@pytest.mark.parametrize("weighted", [True, False])
def test_cells_of_one_row(arrays, weighted):
    """A single one, and one again and again: means, and what is left of them without a row."""
    own = examples_of(weighted=weighted)
    own = own._replace(rows=np.zeros_like(own.rows))
    own.rows[321] = 1.0
    (cells, left_out), (wanted, expected) = (
        trained_on(place, machine(), own) for place in (OnDevice(arrays, MEMORY), OnThreads(ONE_THREAD))
    )
    assert sorted(cells[0].tree.sizes) == [1, 999]
    np.testing.assert_allclose(left_out, expected, atol=1e-12)
    np.testing.assert_allclose(cells[0].intercepts, wanted[0].intercepts, atol=1e-12)
    scores = OnDevice(arrays, MEMORY).scores(machine(), own.rows, cells, own.rows[[320, 321]])
    np.testing.assert_allclose(scores, cells[0].intercepts[cells_of(cells[0].tree, own.rows[[320, 321]])], atol=1e-12)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear"])
def test_other_kernels(arrays, name):
    kernel = KERNELS[name]() if name == "linear" else machine(name)
    own = examples_of(np.float64)
    own = own._replace(rows=own.rows.clip(-3, 3))
    scores = [
        place.scores(kernel, own.rows, trained_on(place, kernel, own)[0], own.rows)
        for place in (OnDevice(arrays, MEMORY), OnThreads(ONE_THREAD))
    ]
    np.testing.assert_allclose(*scores, atol=1e-8)


@pytest.mark.parametrize("memory", [1, 2**40])
def test_memory_changes_nothing(arrays, memory):
    own, kernel = examples_of(), machine()
    (mine, left_out), (other, expected) = (trained_on(OnDevice(arrays, each), kernel, own) for each in (memory, MEMORY))
    np.testing.assert_allclose(left_out, expected, atol=1e-12)
    np.testing.assert_allclose(mine[0].coef, other[0].coef, atol=1e-12)


@each_dtype
def test_scores_of_new_rows(arrays, dtype):
    own, kernel = examples_of(dtype), machine()
    X = np.random.default_rng(1).normal(size=(700, 3)).astype(dtype)
    X[:300] = X[0]  # more rows of one cell than are scored together
    X[300:303] = own.rows[[0, 1, 2]]
    cells, _ = trained_on(OnThreads(ONE_THREAD), kernel, own, n_trees=2)
    found, expected = (
        place.scores(kernel, own.rows, cells, X) for place in (OnDevice(arrays, MEMORY), OnThreads(ONE_THREAD))
    )
    np.testing.assert_allclose(found, expected, atol=ATOL[dtype])


def test_float32_falls_back_to_float64_where_it_is_too_coarse(arrays):
    own, kernel, ridge = examples_of(np.float32, weighted=False), machine("rbf", 0.01), 1e-7
    _, left_out = trained_on(OnDevice(arrays, MEMORY), kernel, own, ridge=ridge)
    exact = Examples(*(np.asarray(each, np.float64) for each in own))
    (tree,) = OnThreads(ONE_THREAD).grown(own, SIZE, 1, np.random.default_rng(0))
    tree = tree._replace(directions=np.asarray(tree.directions, np.float64))  # as trees of such rows have them
    errors = np.zeros(own.targets.shape)
    solved_cells(kernel, exact, tree, SIZE, ridge, errors)
    np.testing.assert_allclose(left_out.T, exact.targets - errors, atol=1e-4)


def test_scores_are_in_float64_where_cells_were_solved_in_it(arrays):
    place, own, kernel = OnDevice(arrays, 2**24), far_apart(), machine("matern12", 4.0)
    cells, _ = trained_on(place, kernel, own, size=300, ridge=1e-3)
    assert cells[0].coef.dtype == np.float64
    np.testing.assert_allclose(place.scores(kernel, own.rows, cells, own.rows).T, own.targets, atol=0.1)


def test_more_regularization_where_there_is_no_room_for_float64(arrays, monkeypatch):
    own, kernel, types = examples_of(np.float32, weighted=False), machine("rbf", 0.01), []
    solve = on_device._solve

    def solve_and_tell(machines, examples, tree, left, dtype, found):
        types.append(dtype)
        return solve(machines, examples, tree, left, dtype, found)

    monkeypatch.setattr(on_device, "_solve", solve_and_tell)
    memory = on_device.bytes_on_device(batches.padded_length(SIZE), 3, 2, 4)
    _, left_out = trained_on(OnDevice(arrays, memory), kernel, own, ridge=1e-7)
    assert len(types) > 1
    assert all(each == arrays.xp.float32 for each in types)
    assert np.isfinite(left_out).all()
    assert np.square(own.targets.T - left_out).mean() < 0.9 * np.square(own.targets).mean()


def test_more_regularization_where_float64_is_too_coarse(arrays):
    own = examples_of(weighted=False)
    own = own._replace(rows=np.repeat(own.rows[:500], 2, axis=0))  # every row twice: K is singular
    cells, left_out = trained_on(OnDevice(arrays, MEMORY), machine("rbf"), own, ridge=1e-18)
    assert np.isfinite(cells[0].coef).all()
    assert np.isfinite(left_out).all()


@pytest.mark.parametrize("weighted", [True, False])
def test_choices_are_judged_alike(arrays, weighted):
    own, kernel = examples_of(weighted=weighted), machine()
    points = [Choice(0.3, 10.0), Choice(0.1, 100.0), Choice(1.2, 0.1)]

    def loss(targets, scores, weights):
        return float(np.average(np.square(targets - scores).mean(axis=0), weights=weights))

    tree = grown_tree(own.rows, SIZE, np.random.default_rng(0))
    found, expected = (
        judge_in(place, kernel, place.examples(*own), tree, SIZE, loss)[0](points)
        for place in (OnDevice(arrays, MEMORY), OnThreads(ONE_THREAD))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    place = OnDevice(arrays, MEMORY)
    assert judge_in(place, kernel, place.examples(*own), tree, SIZE, loss)[0]([]) == []


# --- estimators ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch():
    pytest.importorskip("array_api_compat")
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3)).astype(np.float32) + 1000  # far from zero: there is an origin
    return X, np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] - 1000, [-0.7, 0.7])


def fitted(table, device, kind=LocalSVC, sample_weight=None, **changes):
    return kind(cell_size=SIZE, random_state=0, device=device, **changes).fit(*table, sample_weight)


@pytest.mark.parametrize(
    ("changes", "atol"),
    [({}, 0.01), ({"dtype": "float64"}, 1e-8), ({"metric": np.array([2.0, 1.0, 0.1]), "n_trees": 2}, 0.01)],
)
@pytest.mark.usefixtures("torch")
def test_estimators_learn_the_same(table, changes, atol):
    there, here = (fitted(table, device, **changes) for device in ("torch", "cpu"))
    assert (there.C_, there.cell_size_, there.n_cells_) == (here.C_, here.cell_size_, here.n_cells_)
    assert there.gamma_ == pytest.approx(here.gamma_)
    np.testing.assert_allclose(there.loo_scores_, here.loo_scores_, atol=atol)
    expected = here.decision_function(table[0])
    for values in (
        there.decision_function(table[0]),
        there.decision_function(table[0], device="cpu"),
        here.decision_function(table[0], device="torch"),
    ):
        np.testing.assert_allclose(values, expected, atol=atol)
    np.testing.assert_allclose(
        here.predict_proba(table[0], device="torch"), here.predict_proba(table[0]), atol=max(atol, 1e-9)
    )


def test_rows_without_weight_are_left_out(torch, table):
    weights = np.random.default_rng(0).integers(0, 3, size=1500).astype(float)
    X = table[0]
    there, here = (
        fitted((X, np.sin(X[:, :2])), device, LocalSVR, weights, dtype="float64", C=100.0)
        for device in ("torch", "cpu")
    )
    np.testing.assert_allclose(there.loo_scores_, here.loo_scores_, atol=1e-8)
    assert there.loo_error_ == pytest.approx(here.loo_error_)
    np.testing.assert_allclose(here.predict(X, device="torch"), there.predict(X), atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tensors(torch, table, dtype):
    X, y = table
    expected = fitted(table, "torch", dtype=dtype, C=100.0)
    model = fitted((torch.from_numpy(X), torch.from_numpy(y)), "torch", dtype=dtype, C=100.0)
    np.testing.assert_array_equal(model.loo_scores_, expected.loo_scores_)
    np.testing.assert_array_equal(model.predict(torch.from_numpy(X)), expected.predict(X))
    assert isinstance(model._rows, np.ndarray)


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("kind", ["float64", "uint8", "list", "memory-mapped"])
def test_rows_of_other_types(table, kind, tmp_path):
    X = np.round((table[0] - 990) * 10).astype(np.uint8)
    y = table[1]
    expected = fitted((X.astype(np.float32), y), "torch", C=100.0)
    if kind == "memory-mapped":
        np.save(tmp_path / "rows.npy", X.astype(np.float32))
        given = np.load(tmp_path / "rows.npy", mmap_mode="r")
    else:
        given = X.tolist() if kind == "list" else X.astype(kind)
    model = fitted((given, y), "torch", C=100.0)
    assert model._rows.dtype == np.float32
    np.testing.assert_allclose(model.loo_scores_, expected.loo_scores_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(given), expected.decision_function(X), atol=1e-6)


@pytest.mark.usefixtures("torch")
def test_rows_that_a_device_has_no_room_for(table, monkeypatch):
    expected = fitted(table, "torch")
    values = expected.decision_function(table[0])
    monkeypatch.setattr(batches, "_ROWS_SHARE", 0.0)
    model = fitted(table, "torch", memory="1MB")
    assert (model.C_, model.gamma_) == (expected.C_, pytest.approx(expected.gamma_))
    np.testing.assert_allclose(model.loo_scores_, expected.loo_scores_, atol=0.01)
    np.testing.assert_allclose(model.decision_function(table[0]), values, atol=0.01)


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_batches(table, monkeypatch, share):
    monkeypatch.setattr(batches, "_ROWS_SHARE", share)
    X, y = table
    data = [(X[i : i + 400], y[i : i + 400]) for i in range(0, 1500, 400)]
    there, here = (
        LocalSVC(cell_size=SIZE, random_state=0, device=device, C=100.0).fit_batches(data)
        for device in ("torch", "cpu")
    )
    np.testing.assert_allclose(there.loo_scores_, here.loo_scores_, atol=0.01)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=0.01)


def test_model_files_do_not_know_the_device(torch, table, tmp_path):
    model = fitted(table, "torch", C=100.0)
    save(model, tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz").set_params(device="cpu")
    np.testing.assert_allclose(
        loaded.decision_function(table[0]), model.decision_function(table[0], device="cpu"), rtol=1e-12
    )


def test_rows_of_users_are_not_shared(torch, table):
    X = table[0] - 1000  # so that there is no origin, and no copy for it
    model = fitted((X, table[1]), "torch", C=100.0)
    others = X[::2].copy()
    before = model.decision_function(others)
    X[:] = 0.0
    np.testing.assert_array_equal(model.decision_function(others), before)


@pytest.mark.usefixtures("torch")
def test_refusals(table):
    X, y = table
    with pytest.raises(ValueError, match="NaN or infinity"):
        fitted((np.where(X.min() < X, X, np.nan), y), "torch")
    with pytest.raises(ValueError, match="raise memory, or lower cell_size"):
        fitted(table, "torch", memory="1kB")
    model = fitted(table, "torch", C=100.0)
    with pytest.raises(ValueError, match="2 features"):
        model.predict(X[:, :2])

"""Learners in C learn what Python learns: compared with plain Python, bit for bit, and with the compiled one."""

import os
import re
import struct
import subprocess
import sys
import zlib
from ctypes import byref, c_uint32, create_string_buffer
from pathlib import Path

import numpy as np
import pytest
from learning_support import CASES, LearnerInC, begun, compiled_with, learn_on, stream_for, targets_for
from sklearn.base import clone

from frugalsvm import ASSETClassifier, BSGDClassifier, BSGDOneClassSVM, BSGDRegressor, BudgetedPerceptron
from frugalsvm.export import read_state, to_c, write_state
from frugalsvm.export.learning_c.around import learner_of
from frugalsvm.export.learning_c.plan import plan_of
from frugalsvm.export.learning_c.state import context_bytes, state_bytes
from frugalsvm.persist import ModelFileError
from frugalsvm.pipelines import ColumnEncoder, StreamingScaler, StreamPipeline

FAST = (
    "merge",
    "merge, norma, 3 classes",
    "project",
    "quantiles",
    "one class",
    "projectron++",
    "half-lives, 3 classes",
    "conformal",
)
DTYPES = ("float32", "float64")


def in_plain_python(*arguments):
    """What the script of the support module prints where nothing is compiled: sums are in the order of the source."""
    script = Path(__file__).with_name("learning_support.py")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, script, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_c_equals_python_bit_for_bit():
    compiled_with("--version")
    assert in_plain_python("1", *FAST) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_c_equals_python_bit_for_bit_in_20_streams(name):
    compiled_with("--version")
    assert in_plain_python("20", name) == ""


def stream(n_classes=2, seed=4, n_rows=800, dtype="float64"):
    X, score = stream_for(n_classes, seed, n_rows=n_rows, dtype=dtype)
    return X, targets_for(BSGDClassifier(), n_classes, X, score)


@pytest.fixture(scope="module")
def trained():
    X, y = stream()
    model = BSGDClassifier(budget=12, alpha=1e-3, gamma=0.7)
    return begun(model, X, y, 60), X, y


@pytest.fixture(scope="module")
def device(trained, tmp_path_factory):
    return LearnerInC(trained[0], tmp_path_factory.mktemp("device"))


def test_compiled_python_makes_the_same_decisions(tmp_path):
    """Compiled code adds numbers in another order: the same vectors are learned and merged, up to rounding."""
    X, y = stream()
    model = begun(BSGDClassifier(budget=12, alpha=1e-3, gamma=0.7), X, y, 60)
    learner = LearnerInC(model, tmp_path)
    learner.learn_all(X[60:], y[60:])
    model.partial_fit(X[60:], y[60:])
    made = read_state(model, learner.save())
    for name in ("t_", "n_updates_", "n_maintenance_", "n_kernel_evals_"):
        assert getattr(made, name) == getattr(model, name)
    np.testing.assert_array_equal(made.support_ages_, model.support_ages_)
    np.testing.assert_allclose(made.support_vectors_, model.support_vectors_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(made.dual_coef_, model.dual_coef_, rtol=1e-8)


def test_rows_far_from_zero_are_learned_as_well_in_float32(tmp_path):
    """The model, in float64, needs no origin there."""
    X, y = stream(dtype="float32")
    X += 1000.0
    model = begun(BSGDClassifier(budget=12, alpha=1e-3, gamma=0.7), X.astype(np.float64), y, 200)
    learner = LearnerInC(model, tmp_path, dtype="float32")
    scores = np.array([np.ravel(learner.scores(x)) for x in X[200:]])
    expected = np.reshape(model.decision_function(X[200:]), (len(scores), -1))
    np.testing.assert_allclose(scores[:, -expected.shape[1] :], expected, atol=1e-4)
    learner.learn_all(X[200:], y[200:])
    made = read_state(model, learner.save())
    model.partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(made.decision_function(X), model.decision_function(X), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_compiled_python_makes_the_same_decisions_in_all_cases(name, dtype, tmp_path):
    X, score = stream_for(CASES[name][1], 4, n_rows=2000, dtype=dtype)
    y = targets_for(CASES[name][0], CASES[name][1], X, score)
    model = begun(clone(CASES[name][0]), X, y, 60)
    learner = LearnerInC(model, tmp_path, dtype=dtype)
    learner.learn_all(X[60:], None if y is None else y[60:])
    learn_on(model, X, y, range(60, 2000))
    made = read_state(model, learner.save())
    for attribute in ("t_", "n_updates_", "n_maintenance_"):
        assert getattr(learner_of(made), attribute) == getattr(learner_of(model), attribute)
    if learner.is_regressor:
        np.testing.assert_allclose(made.predict(X), model.predict(X), rtol=1e-3, atol=1e-3)
    else:
        assert np.mean(made.predict(X) == model.predict(X)) >= (0.999 if dtype == "float32" else 1.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_in_float32(n_classes, tmp_path):
    X, y = stream(n_classes, seed=5, n_rows=2000, dtype="float32")
    model = begun(BSGDClassifier(budget=30, alpha=1e-3, gamma=0.3), X, y, 100)
    learner = LearnerInC(model, tmp_path, dtype="float32")
    learner.learn_all(X[100:], y[100:])
    model.partial_fit(X[100:], y[100:])
    predicted = np.array([learner.predict(x) for x in X])
    assert np.mean(predicted == model.predict(X)) >= 0.999


def test_a_learner_begins_empty(trained, tmp_path):
    model, X, y = trained
    learner = LearnerInC(model, tmp_path, start="empty")
    empty = read_state(model, learner.save())
    assert (empty.t_, len(empty.support_vectors_)) == (0, 0)
    learner.learn_all(X[:400], y[:400])
    made, model = read_state(model, learner.save()), BSGDClassifier(**model.get_params()).partial_fit(X[:400], y[:400])
    assert (made.t_, made.n_updates_) == (model.t_, model.n_updates_)
    np.testing.assert_allclose(made.support_vectors_, model.support_vectors_, rtol=1e-8, atol=1e-10)


def test_memory_and_refusals_in_plain_python():
    """The slow tests of these classes: they learn a few rows only, for which machine code would take a minute."""
    names = [*FAST, "remove, laplacian", "random", "pipeline, following"]
    sizes = [f"test_sizes_are_those_of_the_formulas[{name}-{DTYPES[k % 2]}]" for k, name in enumerate(names)]
    tests = [*sizes, *(f"test_the_stack_is_small[{name}]" for name in names)]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "slow", "-p", "no:cacheprovider"]
    command += [f"{__file__}::TestRefusals", *(f"{__file__}::TestMemory::{each}" for each in tests)]
    done = subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


class TestMemory:
    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("name", CASES)
    def test_sizes_are_those_of_the_formulas(self, name, dtype, tmp_path):
        model, n_targets = CASES[name]
        X, score = stream_for(n_targets, 6, dtype=dtype)
        model = begun(clone(model), X, targets_for(model, n_targets, X, score), 60)
        learner = LearnerInC(model, tmp_path, dtype=dtype, flags=("-O0",))  # sizes are the same, and it compiles faster
        plan = plan_of(model)
        assert learner.context_bytes == context_bytes(plan, np.dtype(dtype))
        assert learner.sizes["STATE_BYTES"] == state_bytes(plan, np.dtype(dtype)) >= len(learner.save())

    def test_fifty_vectors_of_ten_features_fit_in_4_kilobytes(self):
        X, y = stream(seed=9, dtype="float32")
        assert X.shape[1] == 10
        model = begun(BSGDClassifier(budget=50, gamma=0.1), X, y, 60)
        assert context_bytes(plan_of(model), np.dtype(np.float32)) <= 4096

    @pytest.mark.slow
    @pytest.mark.parametrize("name", CASES)
    def test_the_stack_is_small(self, name, tmp_path):
        """The sum over all functions is more than any chain of calls takes, as none calls itself."""
        model, n_targets = CASES[name]
        X, score = stream_for(n_targets, 6)
        model = begun(clone(model), X, targets_for(model, n_targets, X, score), 60)
        _, source = to_c(model, tmp_path, learn=True)
        compiled_with("-c", "-fstack-usage", "-o", str(tmp_path / "model.o"), str(source))
        lines = (tmp_path / "model.su").read_text().splitlines()
        assert all(line.endswith("static") for line in lines)  # no arrays of a size that varies
        assert sum(int(line.split()[-2]) for line in lines) <= 2048
        text = source.read_text()
        assert not re.search(r"alloc|\bgoto\b", text)
        assert not re.search(r"^static (?!const\b)[^(]*[;=]", text, re.MULTILINE)  # no variables that are not constant


class TestBadCalls:
    def test_rows_and_labels(self, trained, device):
        _, X, _ = trained
        device("init")
        before = device.save()
        for value in (np.nan, np.inf, -np.inf, 1e200):
            x = X[0].copy()
            x[1] = value
            assert device.learn(x, 1) == 1
            assert device.predict(x) == -1
        for label in (-1, 2, 2**31 - 1):
            assert device.learn(X[0], label) == 2
        assert device.save() == before

    def test_targets(self, tmp_path):
        X, score = stream_for(1, 4)
        learner = LearnerInC(begun(BSGDRegressor(budget=5, gamma=0.5), X, score, 60), tmp_path)
        before = learner.save()
        for target in (np.nan, np.inf, 1e30):
            assert learner.learn(X[0], target) == 2
        assert learner.save() == before
        assert np.isnan(learner.predict(np.full_like(X[0], np.nan)))

    def test_states_that_are_cut_or_changed(self, trained, device):
        device("init")
        state = device.save()
        for end in range(len(state)):
            assert device.load(state[:end]) == 3
        for place in range(len(state)):
            changed = bytearray(state)
            changed[place] ^= 1 << place % 8
            assert device.load(bytes(changed)) == 3
        assert device.save() == state

    def test_too_little_room(self, device):
        device("init")
        n_bytes = len(device.save())
        for size in (0, 3, 4, 60, n_bytes - 1):
            assert device("save", create_string_buffer(n_bytes), c_uint32(size), byref(c_uint32())) == 4


class TestReadState:
    def test_that_of_another_model(self, trained):
        model, X, y = trained
        other = begun(BSGDClassifier(budget=12, alpha=1e-3, gamma=0.8), X, y, 60)
        with pytest.raises(ModelFileError, match="The state is that of another model"):
            read_state(other, write_state(model))

    def test_damaged_ones(self, trained, tmp_path):
        model, *_ = trained
        state = write_state(model)
        with pytest.raises(ModelFileError, match="do not begin with FSVM"):
            read_state(model, b"something else that is long enough")
        with pytest.raises(ModelFileError, match="its checksum does not match"):
            read_state(model, state[:-1])
        whole, norm = write_state(model, dtype="float64"), 72 + 8 * model.n_features_in_  # after the first row
        changed = whole[:norm] + struct.pack("<d", 1e30) + whole[norm + 8 : -4]
        with pytest.raises(ModelFileError, match="its numbers do not make a model"):
            read_state(model, changed + struct.pack("<I", zlib.crc32(changed)))
        (tmp_path / "state").write_bytes(state)
        assert write_state(read_state(model, tmp_path / "state")) == state

    def test_the_model_stays_as_it_is(self, trained, device):
        model, X, y = trained
        before = write_state(model, dtype="float64")
        device("init")
        device.learn_all(X[60:100], y[60:100])
        made = read_state(model, device.save())
        assert write_state(made, dtype="float64") == device.save() != before
        assert write_state(model, dtype="float64") == before


class TestPipelines:
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    @pytest.mark.parametrize(
        "scale", [StreamingScaler(), StreamingScaler(soft_clip=True), StreamingScaler("standard", clip=None)]
    )
    def test_rows_are_filled_and_scaled(self, scale, dtype, tmp_path):
        X, y = stream(seed=4, dtype=dtype)
        X = (X * 3 + 7).astype(dtype)
        X[::7, 1] = np.nan
        X[::50, 0] = 1e6
        inner = BSGDClassifier(budget=12, alpha=1e-3, gamma=0.3)
        model = StreamPipeline(inner, scale=scale, impute="median", warmup_rows=100).partial_fit(X[:200], y[:200])
        learner = LearnerInC(model, tmp_path, dtype=dtype)
        learner.learn_all(X[200:], y[200:])
        made = read_state(model, learner.save())
        model.partial_fit(X[200:], y[200:])
        assert made.estimator_.t_ == model.estimator_.t_ == len(X)
        predicted = np.array([learner.predict(x) for x in X])
        assert np.mean(predicted == model.predict(X)) >= 0.99
        np.testing.assert_array_equal(predicted, made.predict(X))

    def test_what_does_not_learn_in_c(self, tmp_path):
        X, y = stream()

        def refused(pipeline, rows=X):
            pipeline.partial_fit(rows, y)
            with pytest.raises(ValueError, match="cannot learn in C"):
                to_c(pipeline, tmp_path, learn=True)

        inner = BSGDClassifier(budget=12, alpha=1e-3, gamma=0.3)
        refused(StreamPipeline(inner, scale=StreamingScaler(half_life=1000), warmup_rows=50))
        refused(StreamPipeline(inner, encoder=ColumnEncoder(), warmup_rows=50), (X, {"a": np.array(["b"] * len(X))}))
        waiting = StreamPipeline(inner, warmup_rows=10_000).partial_fit(X, y)
        with pytest.raises(ValueError, match="call flush before"):
            to_c(waiting, tmp_path, learn=True)


class TestRefusals:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (BSGDClassifier(gamma=1.0, budget=None), "with budget=None cannot learn in C"),
            (BSGDClassifier(gamma=1.0, average=True, budget=8), "with average"),
            (BSGDClassifier(gamma=1.0, radius=3.0, budget=8), "with radius"),
            (BSGDClassifier(gamma=1.0, calibrate="platt", budget=8), "with calibrate"),
            (BSGDClassifier(gamma=1.0, class_weight="balanced", budget=8), "with class_weight='balanced'"),
            (BSGDClassifier(gamma=1.0, metric=np.ones(5), budget=8), "with a metric"),
            (BSGDClassifier(kernel="poly", gamma=1.0, maintenance="remove", budget=8), "kernel Poly cannot"),
            (BudgetedPerceptron("tightest", 8, gamma=1.0), "policy RemoveHarmless cannot"),
        ],
    )
    def test_settings(self, model, message, tmp_path):
        X, y = stream()
        with pytest.raises(ValueError, match=message):
            to_c(model.partial_fit(X[:40], y[:40]), tmp_path / "c", learn=True)
        assert not (tmp_path / "c").exists()

    @pytest.mark.slow
    def test_one_against_the_rest(self, tmp_path):
        X, y = stream(3)
        with pytest.raises(ValueError, match="strategy='silk' learns each of several classes against the rest"):
            to_c(BudgetedPerceptron("silk", 8, gamma=1.0).partial_fit(X, y), tmp_path, learn=True)

    def test_others(self, trained, tmp_path):
        with pytest.raises(TypeError, match=r"learn=True is for BSGDClassifier, .*, not for ASSETClassifier"):
            to_c(ASSETClassifier(), tmp_path, learn=True)
        with pytest.raises(ValueError, match="start"):
            to_c(trained[0], tmp_path, learn=True, start="full")
        with pytest.raises(ValueError, match="leave out explain or learn"):
            to_c(trained[0], tmp_path, learn=True, explain=True)


def test_two_learners_in_one_program(trained, tmp_path):
    model, *_ = trained
    sources = [str(to_c(model, tmp_path, name=name, learn=True)[1]) for name in ("one", "two")]
    main = tmp_path / "main.c"
    main.write_text(
        '#include "one.h"\n#include "two.h"\nstatic one_context a;\nstatic two_context b;\nint main(void) {\n'
        "    float x[ONE_N_FEATURES] = {0};\n    one_init(&a);\n    two_init(&b);\n"
        "    return one_learn(&a, x, 1) != two_learn(&b, x, 1);\n}\n"
    )
    compiled_with("-o", str(tmp_path / "main"), str(main), *sources, "-lm")
    assert subprocess.run([str(tmp_path / "main")]).returncode == 0


@pytest.mark.parametrize("options", [{"learn": True}, {"precision": "int8"}])
def test_labels_like_the_names_of_the_files(options, tmp_path):
    X, y = stream(3)
    labels = np.array(["name_x", "NAME_Y", "@labels@"])
    model = BSGDClassifier(budget=5, gamma=1.0).partial_fit(X[:60], labels[y[:60]], classes=labels)
    header, source = to_c(model, tmp_path, **options)
    table = source.read_text().split("model_labels[MODEL_N_CLASSES] = ")[1].split(";")[0]
    assert table == '{"@labels@", "NAME_Y", "name_x"}'
    assert "extern const char *const model_labels[MODEL_N_CLASSES];" in header.read_text()


def test_outliers(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    model = BSGDOneClassSVM(alarm_rate=0.05, window=256, budget=20, gamma=0.5).partial_fit(X[:100])
    learner = LearnerInC(model, tmp_path)
    learner.learn_all(X[100:])
    assert learner.predict([0.0, 0.0]) == 1
    assert learner.predict([9.0, 9.0]) == -1
    assert learner.predict([np.nan, 0.0]) == 0
    assert read_state(model, learner.save()).offset_ != model.offset_

"""C models compile without a warning and predict what Python predicts."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from export_support import KERNELS, LABELS, CompiledModel, assert_same_scores, compiled_with, random_model, rows_for

from frugalsvm.export import to_c

TOLERANCES = {"float32": 1e-5, "float64": 1e-12}


@pytest.mark.parametrize("decision", LABELS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_compiled_code_predicts_the_same(kernel, decision, tmp_path):
    model = random_model(kernel, decision)
    if kernel == "poly":
        model = model.with_scaling(np.full(5, 0.5), np.full(5, 2.0))
    X = rows_for(model)
    for dtype, tolerance in TOLERANCES.items():
        compiled = CompiledModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype)
        assert_same_scores(compiled.scores(X), model.decision_function(X), tolerance)
        if decision == "value":
            assert_same_scores(compiled.predictions(X), model.predict(X), tolerance)
        else:
            np.testing.assert_array_equal(compiled.predictions(X), model.predict(X))


@pytest.mark.parametrize(
    ("kernel", "soft"), [*((kernel, False) for kernel in KERNELS), ("rbf", True), ("linear", True)]
)
def test_inputs_are_clipped(kernel, soft, tmp_path):
    limits = np.arange(1.0, 6.0) / 4
    model = random_model(kernel, "argmax").with_scaling(np.full(5, 0.5), np.full(5, 2.0), limits, soft_clip=soft)
    X = rows_for(model)
    X[::10] *= 1e6
    for dtype, tolerance in TOLERANCES.items():
        compiled = CompiledModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype)
        assert_same_scores(compiled.scores(X), model.decision_function(X), tolerance)


@pytest.mark.parametrize("scaled", [True, False])
def test_missing_inputs_are_filled(scaled, tmp_path):
    model = random_model("rbf", "argmax")
    model = model.with_scaling(np.full(5, 0.5), np.full(5, 2.0), np.full(5, 0.5)) if scaled else model
    model = model._replace(filling=np.arange(5.0) / 8)
    X = rows_for(model)
    X[::3, 1] = np.nan
    assert np.isfinite(model.decision_function(X)).all()
    for dtype, tolerance in TOLERANCES.items():
        compiled = CompiledModel(model, tmp_path, name=f"m_{dtype}", dtype=dtype)
        assert_same_scores(compiled.scores(X), model.decision_function(X), tolerance)


@pytest.mark.parametrize(
    ("classes", "label_type"),
    [
        ([False, True], ctypes.c_int),
        ([-5, 30_000], ctypes.c_int),
        ([-5, 70_000], ctypes.c_long),
        ([-(2**40), 2**40], ctypes.c_longlong),
        ([0.1, 2.5], ctypes.c_double),
    ],
)
def test_tables_of_numbers(classes, label_type, tmp_path):
    compiled = CompiledModel(random_model("linear", "sign", classes=classes), tmp_path)
    assert compiled.labels(label_type) == classes


def test_tables_of_strings_hold_whatever_they_are(tmp_path):
    """Quotes, escapes, ends of comments, trigraphs, digits after an escape, other alphabets."""
    classes = ['"; */ //', "\\n\n\t9", "what??/ ??!", "", "Größe 9", "日本\u00001"]
    compiled = CompiledModel(random_model("linear", "argmax", classes=np.array(classes, object)), tmp_path)
    labels = [label.decode() for label in compiled.labels(ctypes.c_char_p)]
    assert labels == [*classes[:-1], "日本"]  # a C string ends at a zero


def test_a_hundred_vectors_of_22_features_fit_in_16_kilobytes(tmp_path):
    size = shutil.which("size")
    if size is None:
        pytest.skip("there is no `size` here")
    model = random_model("rbf", "sign", n=100, n_features=22)
    _, source = to_c(model, tmp_path)
    compiled_with("-c", "-o", str(tmp_path / "model.o"), str(source))
    table = subprocess.run([size, str(tmp_path / "model.o")], check=True, capture_output=True, text=True).stdout
    text, data, bss = map(int, table.splitlines()[1].split()[:3])
    assert data == bss == 0  # all is constant, and can stay in read-only memory
    assert 100 * 23 * 4 <= text <= 16 * 1024


def test_the_source_takes_no_memory_and_needs_nothing_else(tmp_path):
    header, source = to_c(random_model("rbf", "votes"), tmp_path)
    includes = [line for line in source.read_text().splitlines() if line.startswith("#include")]
    assert includes == ['#include "model.h"', "#include <math.h>"]
    assert "#include" not in header.read_text()
    assert "alloc" not in source.read_text()


def test_two_models_in_one_program(tmp_path):
    sources = [str(to_c(random_model("rbf", "sign", seed=k), tmp_path, name=f"m{k}")[1]) for k in range(2)]
    main = tmp_path / "main.c"
    main.write_text(
        '#include "m0.h"\n#include "m1.h"\nint main(void) { float x[M0_N_FEATURES] = {0}; '
        "return m0_labels[m0_predict(x)] + m1_labels[m1_predict(x)] == 1000; }\n"
    )
    program = tmp_path / "main"
    compiled_with("-o", str(program), str(main), *sources, "-lm")
    assert subprocess.run([str(program)]).returncode == 0


def test_a_new_folder_is_made(tmp_path):
    header, source = to_c(random_model("linear", "sign"), tmp_path / "new", name="small")
    assert (header.name, source.name) == ("small.h", "small.c")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["small.c", "small.h"]


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a b", "_hidden", "größe", "a\n", "../up", None])
def test_a_name_that_is_no_identifier_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="name must be a C identifier"):
        to_c(random_model("linear", "sign"), tmp_path, name=name)
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_header_of_c_is_refused(tmp_path):
    with pytest.raises(ValueError, match="header of C, such as 'math'"):
        to_c(random_model("linear", "sign"), tmp_path, name="math")


def test_the_name_of_a_program_is_refused(tmp_path):
    with pytest.raises(ValueError, match="name must not be 'main'"):
        to_c(random_model("linear", "sign"), tmp_path, name="main")
    assert not list(tmp_path.iterdir())


def test_an_unknown_type_is_refused(tmp_path):
    with pytest.raises(ValueError, match="dtype='int8' is not one of"):
        to_c(random_model("linear", "sign"), tmp_path, dtype="int8")

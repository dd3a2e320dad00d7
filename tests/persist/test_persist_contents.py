"""Files with right checksums whose contents are wrong, one by one; and files that are not the one that is meant."""

import hashlib

import numpy as np
import pytest
from make_version_files import FOLDER
from mutating import number_of, refused, with_array, with_document
from support import blobs

from frugalsvm import BSGDClassifier, BSGDOneClassSVM
from frugalsvm.conformal import ConformalDetector
from frugalsvm.persist import ModelFileError, digest_of, load, save
from frugalsvm.persist.codec import plain_fields
from frugalsvm.pipelines import StreamPipeline

GOOD = FOLDER / "version1.frugal"


@pytest.fixture(scope="module")
def good():
    return GOOD.read_bytes()


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    X, y = blobs(80, 3, 2, seed=1)
    model = StreamPipeline(BSGDClassifier(budget=10, gamma=0.3, random_state=0), warmup_rows=50, calibrate=True)
    path = tmp_path_factory.mktemp("pipeline") / "model.frugal"
    save(model.partial_fit(X, y), path)
    return path.read_bytes()


class TestContents:
    """Files with right checksums that once loaded, and then raised whatever came, or predicted NaN."""

    @pytest.mark.parametrize(
        ("name", "node"),
        [
            ("encoder_", 1),
            ("scaler_", None),
            ("estimator_", {"object": "ColumnEncoder", "complete": True, "state": {}}),
            ("estimator", 1.5),
            ("_held", {"tuple": []}),
            ("_dtype", {"dtype": "<i8"}),
            ("n_features_in_", 4),
            ("calibration_", {"part": "linear", "fields": {}}),
            ("predict", 1),
            ("_prepared", 1),
        ],
        ids=lambda value: value if isinstance(value, str) else None,
    )
    def test_pipelines(self, tmp_path, pipeline, name, node):
        refused(tmp_path, with_document(pipeline, lambda doc: doc["model"]["state"].update({name: node})))

    @pytest.mark.parametrize(
        ("name", "node", "why"),
        [
            ("classes_", "poly", "BSGDClassifier.classes_ is not what it should be"),
            ("classes_", {"objects": ["b", "a"], "shape": [2]}, "classes_"),
            ("classes_", {"objects": ["a", "b", "c"], "shape": [3]}, "do not fit together"),
            ("_kernel", {"part": "rbf", "fields": {"gamma": {"float": "nan"}}}, "gamma is out of range"),
            ("_kernel", {"part": "rbf", "fields": {"gamma": "1"}}, "gamma cannot be '1'"),
            ("_kernel", {"part": "core.losses.BinaryHinge", "fields": {}}, "_kernel"),
            ("_policy", {"part": "merge", "fields": {"budget": 10**6}}, "do not fit together"),
            ("_policy", {"part": "merge", "fields": {"budget": 2**62}}, "do not fit together"),
            ("n_jobs", "many", "n_jobs must be a number of threads"),
            ("learner", "svm", "parameters of BSGDClassifier are wrong: learner='svm' is not one of"),
            ("_scores", 1, "cannot have an attribute '_scores'"),
        ],
    )
    def test_attributes(self, tmp_path, good, name, node, why):
        refused(tmp_path, with_document(good, lambda doc: doc["model"]["state"].update({name: node})), why)

    @pytest.mark.parametrize("name", ["_kernel", "_policy", "classes_", "n_features_in_", "budget_"])
    def test_what_is_missing(self, tmp_path, good, name):
        refused(tmp_path, with_document(good, lambda doc: doc["model"]["state"].pop(name)), "lacks its attribute")

    def test_arrays_that_are_one(self, tmp_path, pipeline):
        """One array in two places would be counted up twice, and slots written beyond the last."""

        def change(doc):
            fields = doc["model"]["state"]["estimator_"]["state"]["_expansion"]["fields"]
            fields["norms"] = fields["sizes"]

        refused(tmp_path, with_document(pipeline, change), "two arrays of BSGDClassifier are the same")

    def test_arrays_that_are_one_in_an_object_and_in_another_inside_it(self, tmp_path):
        """A row that is judged and then learned would be counted twice."""
        model, path = ConformalDetector(BSGDOneClassSVM(budget=5, window=20), window=20), tmp_path / "model.frugal"
        save(model.partial_fit(np.random.default_rng(0).normal(size=(30, 2))), path)

        def change(doc):
            state = doc["model"]["state"]
            window = state["estimator_"]["state"]["_window"]["fields"]
            state["_reservoirs"][0]["fields"]["ring"] = window["scores"]

        refused(tmp_path, with_document(path.read_bytes(), change), "an array of an object inside it")

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e38])
    @pytest.mark.parametrize("field", ["rows", "norms", "coef", "scalars"])
    def test_numbers(self, tmp_path, good, field, value):
        array = plain_fields(load(GOOD)._expansion)[field].copy()
        array.flat[0] = value
        refused(tmp_path, with_array(good, number_of(good, field), array), "malformed")


class TestDigest:
    def test_the_expected_file(self, tmp_path, good):
        path = tmp_path / "model.frugal"
        path.write_bytes(good)
        digest = digest_of(path)
        assert digest == hashlib.sha256(good).hexdigest()
        for expected in (digest, digest.upper(), f" {digest}\n"):
            assert load(path, expected_digest=expected).budget == 10

    def test_another_file_is_refused_before_it_is_read(self, tmp_path, good):
        path = tmp_path / "model.frugal"
        path.write_bytes(with_document(good, lambda doc: doc["model"]["state"].update(alpha=0.5)))
        assert load(path).alpha == 0.5  # its checksums are right
        with pytest.raises(ModelFileError, match=f"not the expected one: its SHA-256 is {digest_of(path)}"):
            load(path, expected_digest=hashlib.sha256(good).hexdigest())
        path.write_bytes(b"something else")
        with pytest.raises(ModelFileError, match="not the expected one"):
            load(path, expected_digest=hashlib.sha256(good).hexdigest())

    @pytest.mark.parametrize("expected", ["", "abc", 5, b"0" * 64, "x" * 64])
    def test_what_is_no_digest(self, expected):
        with pytest.raises(ModelFileError, match="expected_digest must be 64 hexadecimal digits"):
            load(GOOD, expected_digest=expected)

"""The deformed digits: an example never depends on how it is read, and the warp is SciPy's."""

from itertools import islice

import numpy as np
import pytest
from scipy.ndimage import map_coordinates

from frugalsvm.compiling.functions import INTERPRETED
from frugalsvm.datasets import DatasetUnavailableError, deformed, make_deformed_mnist, stream_deformed_mnist
from frugalsvm.datasets._blocks import BLOCK_SIZE, Reader
from frugalsvm.datasets.deformed import _deformed, _Recipes, _smooth_fields, _TestRecipes

N_DIGITS = 50


def made_up_digits(n_digits=N_DIGITS, *, border=0):
    """Noise in place of digits, with a blank border; the label is the number of the image."""
    images = np.random.default_rng(0).integers(256, size=(n_digits, 28, 28), dtype=np.uint8)
    inside = np.zeros((28, 28), dtype=np.uint8)
    inside[border : 28 - border, border : 28 - border] = 1
    return (images * inside).reshape(n_digits, 784), np.arange(n_digits)


def chunks_of(n_samples, *, digits=None, start=0, chunk_size=1000, seed=7, kind=_Recipes, **options):
    images, labels = made_up_digits() if digits is None else digits
    recipes = kind(**{"elasticity": 1.0, "shift": 1.0, **options})
    return _deformed(images, labels, recipes, seed, start, n_samples, chunk_size)


def examples(n_samples, **options):
    X, y = zip(*chunks_of(n_samples, **options), strict=True)
    return np.concatenate(X), np.concatenate(y)


def fields_of(seed, kind=_Recipes):
    fields = _smooth_fields(np.random.SeedSequence(seed, spawn_key=(kind.stream_key,)))
    return fields.reshape(-1, 2, 28, 28).astype(np.float64)


def warped_by_scipy(images, recipe, pick, fields, mode):
    """One example of a stream, from its recipe, in double precision."""
    first, second, c1, c2, *shift = recipe.astype(np.float64)
    displacement = c1 * fields[int(first)] + c2 * fields[int(second)] + np.reshape(shift, (2, 1, 1))
    image = images[pick % len(images)].reshape(28, 28) / 255
    return map_coordinates(image, np.indices((28, 28)) + displacement, order=1, mode=mode, cval=0.0).ravel()


def assert_same_examples(left, right):
    np.testing.assert_array_equal(left[0], right[0])
    np.testing.assert_array_equal(left[1], right[1])


class TestReading:
    @pytest.mark.parametrize("chunk_size", [1, 7, 60, 10_000])
    def test_chunk_size_does_not_matter(self, chunk_size):
        assert_same_examples(examples(60, chunk_size=chunk_size), examples(60))

    @pytest.mark.parametrize("start", [0, 1, 59])
    def test_reading_starts_anywhere(self, start):
        X, y = examples(60)
        assert_same_examples(examples(60 - start, start=start), (X[start:], y[start:]))

    def test_reads_across_blocks(self):
        across = examples(6, start=BLOCK_SIZE - 3)
        for i in range(6):
            [(X, y)] = chunks_of(1, start=BLOCK_SIZE - 3 + i)
            assert_same_examples((X, y), (across[0][i : i + 1], across[1][i : i + 1]))

    def test_far_start_is_immediate(self):
        X, _ = examples(3, start=10**15)
        np.testing.assert_array_equal(examples(2, start=10**15 + 1)[0], X[1:])

    def test_never_ends_without_a_number_of_samples(self):
        assert [len(y) for _, y in islice(chunks_of(None, chunk_size=20), 5)] == [20] * 5

    def test_chunks_are_writable_and_independent(self):
        chunks = chunks_of(20, chunk_size=10)
        X, _ = next(chunks)
        X[:] = np.nan
        assert np.isfinite(next(chunks)[0]).all()

    def test_seed_decides(self):
        assert_same_examples(examples(30), examples(30))
        X, y = examples(30)
        X_other, y_other = examples(30, seed=8)
        assert not np.array_equal(y, y_other)
        assert not np.array_equal(X, X_other)

    def test_splits_are_independent_under_one_seed(self):
        (_, y), (_, y_test) = examples(100), examples(100, kind=_TestRecipes)
        assert (y == y_test).mean() < 0.2
        assert abs(np.corrcoef(fields_of(7)[0].ravel(), fields_of(7, _TestRecipes)[0].ravel())[0, 1]) < 0.5

    def test_dtype_changes_only_the_rounding(self):
        X32, y32 = examples(30)
        X64, y64 = examples(30, dtype=np.float64)
        assert (X32.dtype, X64.dtype, y32.dtype) == (np.float32, np.float64, np.int64)
        np.testing.assert_array_equal(y32, y64)
        np.testing.assert_allclose(X32, X64, rtol=1e-6)


class TestWarp:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_without_deformation_the_digits_are_the_real_ones(self, dtype):
        images, _ = made_up_digits()
        X, y = examples(200, elasticity=0.0, shift=0.0, dtype=dtype)
        np.testing.assert_array_equal(X, images[y].astype(dtype) / 255)
        assert len(set(y.tolist())) > N_DIGITS // 2

    # Beyond the edge SciPy interpolates towards zero in one mode, and is zero at once in the other: with a blank
    # border, as nearly all digits have, that is the same.
    @pytest.mark.parametrize(("border", "mode"), [(0, "grid-constant"), (1, "constant")])
    @pytest.mark.parametrize(("elasticity", "shift"), [(1.0, 1.0), (0.0, 2.0), (3.0, 0.0), (28.0, 28.0)])
    def test_is_the_interpolation_of_scipy(self, border, mode, elasticity, shift):
        images, labels = made_up_digits(border=border)
        strength = {"elasticity": elasticity, "shift": shift}
        X, y = examples(20, digits=(images, labels), **strength)
        recipes, picks = Reader(_Recipes(**strength), 7).read(0, 20)
        fields = fields_of(7)
        expected = [warped_by_scipy(images, *of_one, fields, mode) for of_one in zip(recipes, picks, strict=True)]
        # Noise has the steepest slopes: an error in a place comes out as large in the pixel.
        np.testing.assert_allclose(X, expected, atol=1e-4)
        np.testing.assert_array_equal(y, labels[picks % N_DIGITS])

    def test_pixels_stay_in_their_range(self):
        white = np.full((1, 784), 255, dtype=np.uint8), np.zeros(1, dtype=np.int64)
        for digits in (white, made_up_digits()):
            X, _ = examples(100, digits=digits, elasticity=2.0)
            assert X.min() == 0.0
            assert X.max() <= 1.0

    def test_far_displacements_see_nothing(self):
        X, _ = examples(50, elasticity=0.0, shift=28.0)
        recipes, _ = Reader(_Recipes(elasticity=0.0, shift=28.0), 7).read(0, 50)
        left_half_is_outside = recipes[:, 5] < -15
        assert left_half_is_outside.any()
        assert not X.reshape(-1, 28, 28)[left_half_is_outside, :, :14].any()


class TestDeformations:
    def test_fields_are_standard_normal_everywhere(self):
        fields = fields_of(0)
        assert fields.shape == (deformed._N_FIELDS, 2, 28, 28)
        np.testing.assert_allclose(fields.mean(axis=0), 0.0, atol=0.15)
        np.testing.assert_allclose(fields.std(axis=0), 1.0, atol=0.12)

    def test_fields_are_as_smooth_as_those_of_simard(self):
        # White noise smoothed by a Gaussian of width s has the correlation exp(-d^2 / 4 s^2) at distance d.
        fields = fields_of(0)
        for distance in (1, 4, 8):
            for pair in (
                (fields[..., distance:], fields[..., :-distance]),
                (fields[..., distance:, :], fields[..., :-distance, :]),
            ):
                assert abs((pair[0] * pair[1]).mean() - np.exp(-(distance**2) / 64)) < 0.05
        assert abs((fields[:, 0] * fields[:, 1]).mean()) < 0.05

    def test_strengths_are_those_asked_for(self):
        recipes, _ = Reader(_Recipes(elasticity=1.5, shift=3.0), 0).read(0, 20_000)
        np.testing.assert_allclose(np.hypot(recipes[:, 2], recipes[:, 3]), 1.5, rtol=1e-5)
        assert abs(recipes[:, 2:4].mean()) < 0.05
        np.testing.assert_allclose(recipes[:, 4:].min(axis=0), -3.0, atol=0.01)
        np.testing.assert_allclose(recipes[:, 4:].max(axis=0), 3.0, atol=0.01)
        assert set(np.unique(recipes[:, :2])) == set(range(deformed._N_FIELDS))

    def test_strengths_do_not_change_which_digits_are_drawn(self):
        np.testing.assert_array_equal(examples(100, elasticity=0.0, shift=0.0)[1], examples(100)[1])


@pytest.mark.parametrize("function", [make_deformed_mnist, stream_deformed_mnist])
class TestArguments:
    """Wrong arguments are told at once, before the real digits are looked for."""

    @pytest.mark.parametrize(
        ("bad", "error", "message"),
        [
            ({"n_samples": -1}, ValueError, "n_samples must be at least 0, got -1"),
            ({"n_samples": 1.5}, TypeError, "n_samples must be an integer, got 1.5"),
            ({"split": "all"}, ValueError, "split must be 'train' or 'test', got 'all'"),
            ({"digits": (3, 10)}, ValueError, r"digits must be some of the digits 0 to 9, got \(3, 10\)"),
            ({"digits": []}, ValueError, r"digits must be some of the digits 0 to 9, got \[\]"),
            ({"digits": "38"}, ValueError, "digits must be some of the digits 0 to 9, got '38'"),
            ({"elasticity": -0.5}, ValueError, "elasticity must lie between 0 and 28 pixels, got -0.5"),
            ({"elasticity": np.nan}, ValueError, "elasticity must lie between 0 and 28 pixels, got nan"),
            ({"shift": 100}, ValueError, "shift must lie between 0 and 28 pixels, got 100"),
            ({"dtype": np.int32}, ValueError, "dtype must be float32 or float64, got int32"),
            ({"random_state": -1}, ValueError, "random_state must be at least 0, got -1"),
        ],
    )
    def test_rejects_wrong_ones(self, function, bad, error, message, tmp_path):
        with pytest.raises(error, match=f"^{message}$"):
            function(**bad, data_home=tmp_path, download=False)

    def test_says_where_the_real_digits_belong(self, function, tmp_path):
        with pytest.raises(DatasetUnavailableError, match="does not exist, and download=False"):
            function(10, data_home=tmp_path, download=False)


@pytest.mark.parametrize(
    ("bad", "message"),
    [({"start": -1}, "start must be at least 0, got -1"), ({"chunk_size": 0}, "chunk_size must be at least 1, got 0")],
)
def test_stream_rejects_wrong_places(bad, message, tmp_path):
    with pytest.raises(ValueError, match=f"^{message}$"):
        stream_deformed_mnist(**bad, data_home=tmp_path, download=False)


class TestFunctionsOnMadeUpDigits:
    """What the public functions do, with noise in place of the real digits."""

    @pytest.fixture(autouse=True)
    def digits(self, monkeypatch):
        images, _ = made_up_digits()
        labels = np.arange(N_DIGITS) % 10
        asked_for = []

        def load(name, split, **options):
            asked_for.append((name, split, options["download"]))
            return images, labels

        monkeypatch.setattr(deformed, "load", load)
        return asked_for

    def test_maker_is_the_beginning_of_the_stream(self):
        X, y = zip(*stream_deformed_mnist(50, chunk_size=20, random_state=1), strict=True)
        assert_same_examples(make_deformed_mnist(50, random_state=1), (np.concatenate(X), np.concatenate(y)))

    def test_only_the_digits_asked_for(self):
        _, y = make_deformed_mnist(100, digits=(3, 8), random_state=0)
        assert set(y.tolist()) == {3, 8}

    def test_reads_the_split_asked_for(self, digits):
        train, test = (make_deformed_mnist(20, split=split, random_state=0) for split in ("train", "test"))
        assert digits == [("mnist", "train", True), ("mnist", "test", True)]
        assert not np.array_equal(train[0], test[0])

    @pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
    def test_generator_as_seed(self, kind):
        generator = kind(0)
        first, second = (make_deformed_mnist(20, random_state=generator) for _ in range(2))
        assert_same_examples(first, make_deformed_mnist(20, random_state=kind(0)))
        assert not np.array_equal(first[0], second[0])

    def test_fresh_seeds_differ(self):
        assert not np.array_equal(make_deformed_mnist(20)[0], make_deformed_mnist(20)[0])

    def test_no_samples(self):
        X, y = make_deformed_mnist(0, dtype=np.float64)
        assert (X.shape, X.dtype, y.shape, y.dtype) == ((0, 784), np.float64, (0,), np.int64)
        assert list(stream_deformed_mnist(0)) == []


class TestRealDigits:
    @pytest.fixture
    def folder(self, shared_data):
        if not (shared_data / "mnist.npz").is_file():
            pytest.skip("MNIST is not here")
        return shared_data

    @pytest.mark.skipif(INTERPRETED, reason="too many pixels without compilation")
    def test_deformed_digits_still_look_like_their_class(self, folder):
        def accuracy_of_the_nearest_mean(**strength):
            options = {**strength, "random_state": 0, "data_home": folder, "download": False}
            X, y = make_deformed_mnist(4000, **options)
            X_test, y_test = make_deformed_mnist(2000, split="test", **options)
            assert np.bincount(y, minlength=10).min() > 250
            means = np.array([X[y == digit].mean(axis=0) for digit in range(10)])
            return (((X_test[:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1) == y_test).mean()

        plain, deformed_by_default = accuracy_of_the_nearest_mean(elasticity=0, shift=0), accuracy_of_the_nearest_mean()
        assert 0.5 < deformed_by_default < plain

"""Text that is different in almost every row is read by its most frequent words."""

import numpy as np
import pytest

from frugalsvm import AutoSVC, AutoSVR, LocalSVC, load, save
from frugalsvm.exceptions import ParameterError
from frugalsvm.export import plain_model, to_c, to_onnx
from frugalsvm.pipelines import ColumnEncoder, StreamPipeline
from frugalsvm.pipelines.coded import coded_text
from frugalsvm.pipelines.text_words import frequent_words, indicators_of_words, words_tell

QUICK = {"kernel": "rbf", "metric": None, "random_state": 0}
TITLES = ["Mr", "Mrs", "Miss", "Dr"]


def people(n_rows=400, seed=0):
    """Names with titles that tell something, cabins of which most are missing, and random numbers."""
    rng = np.random.default_rng(seed)
    title, deck = rng.integers(4, size=n_rows), rng.integers(3, size=n_rows)
    names = np.array([f"Smith{'xyz'[k % 3] * (k % 7)}-{k}, {TITLES[t]}. A." for k, t in enumerate(title)], object)
    cabins = np.array([f"{'ABC'[d]}{k}" for k, d in enumerate(deck)], object)
    cabins[rng.random(n_rows) < 0.6] = None
    return names, cabins, title, deck


def words_in(text):
    """The words of a text, one character after the other."""
    found, word = [], ""
    for character in [*text.lower(), " "]:
        if word and not ((word[-1].isalpha() and character.isalpha()) or (word[-1].isdigit() and character.isdigit())):
            found, word = [*found, word], ""
        word += character if character.isalpha() or character.isdigit() else ""
    return set(found)


def test_frequent_words_and_who_has_them():
    names, cabins, _, _ = people()
    for texts in (names, cabins):
        rows = [{""} if text is None else words_in(text) for text in texts]
        every = sorted(set().union(*rows))
        counts = np.array([sum(word in row for row in rows) for word in every])
        order = [k for k in np.argsort(-counts, kind="stable") if 0.02 * 400 <= counts[k] < len(texts)][:80]
        column = coded_text(texts)
        words = frequent_words(column)
        assert words.tolist() == sorted(every[k] for k in order)
        expected = [[float(word in row) for word in words] for row in rows]
        np.testing.assert_array_equal(indicators_of_words(column, words).toarray(), expected)


def test_all_languages_have_words():
    column = coded_text(["Straße 12b", "STRASSE 12", "北京 2", "Ωmega_x", "...", None])
    words = np.array(["", "12", "b", "strasse", "x", "ωmega", "北京"])
    expected = [[0, 1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1, 0]]
    found = indicators_of_words(column, words).toarray()
    np.testing.assert_array_equal(found, [*expected, [1, 0, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]])


def test_rows_without_weight_and_the_unit_of_weights_change_nothing():
    names, _, title, _ = people()
    weights = np.ones(400)
    weights[200:] = 0.0
    encoder = ColumnEncoder("target", words=["name"])
    found = encoder.fit({"name": names}, title % 2, 7.0 * weights).categories_[0]
    np.testing.assert_array_equal(encoder.fit({"name": names[:200]}, title[:200] % 2).categories_[0], found)
    assert {"mr", "mrs", "miss", "dr"} <= set(found)
    assert "a" not in found  # which all rows have


def test_words_tell_as_a_fit_of_least_squares_does():
    names, _, title, _ = people()
    column = coded_text(names)
    indicators = indicators_of_words(column, frequent_words(column))
    weights = np.random.default_rng(1).integers(1, 3, 400).astype(float)
    most = np.argsort(-(weights @ indicators.toarray()), kind="stable")[:10]
    for y in ((title == 1) * 1.0, np.random.default_rng(2).normal(size=400)):
        expected = [explains(words, y, weights) for words in (indicators.toarray()[:, most], indicators.toarray())]
        assert words_tell(indicators, y[:, None], weights) == any(expected)
        assert expected == [set(y) == {0.0, 1.0}] * 2


def explains(words, y, weights):
    """Whether least squares with an intercept explain more than by chance."""
    design, root = np.column_stack([np.ones(len(y)), words]), np.sqrt(weights)
    residual = root * (y - design @ np.linalg.lstsq(root[:, None] * design, root * y, rcond=None)[0])
    explained = 1.0 - (residual**2).sum() / (weights * (y - np.average(y, weights=weights)) ** 2).sum()
    rank = np.linalg.matrix_rank(design) - 1
    return weights.sum() ** 2 / (weights**2).sum() * explained > rank + 3.0 * np.sqrt(2.0 * rank)


def test_one_word_among_many_may_tell():
    rng = np.random.default_rng(0)
    y = rng.random(600) < 0.5
    titles = np.where(rng.random(600) < np.where(y, 0.65, 0.35), "Mr", "Dr")
    names = [f"{title} {' '.join(rng.choice(70, 6).astype(str))}" for title in titles]
    words = ColumnEncoder("target", words=["name"]).fit({"name": names}, y).categories_[0]
    assert len(words) > 60
    assert {"dr", "mr"} < set(words)


def test_a_long_text_among_short_ones_takes_no_memory_for_the_others():
    texts = ["long " * 10**6, *(f"short {k}" for k in range(2000))]  # 40 GB, were all as long
    assert ColumnEncoder(words=["c"]).fit({"c": texts}).transform({"c": texts[:2]}).toarray().tolist() == [[0.0], [1.0]]


def test_many_rows_have_fewer_words():
    texts = [f"a{'bcdefghijk'[k % 10]} a{'lmnopqrstuvwxyzbcde'[k % 19]} {k % 36}" for k in range(10_001)]
    assert len(frequent_words(coded_text(texts))) == 20
    assert len(frequent_words(coded_text(texts[:-1]))) > 60


def test_random_texts_have_no_features():
    rng, n_telling = np.random.default_rng(0), 0
    for _ in range(100):
        codes = ["".join(row) for row in rng.choice(list("abcdefgh12345678"), (300, 8))]
        encoder = ColumnEncoder("target", words=["code"])
        n_telling += encoder.fit_transform({"code": codes}, rng.integers(3, size=300)).shape[1] > 0
    assert n_telling <= 8  # of three targets, and two fits, one may be beyond three standard deviations by chance


@pytest.mark.parametrize("n_rows", [1, 2, 12])
def test_few_rows(n_rows):
    encoder = ColumnEncoder("target", words=["c"])
    made = encoder.fit_transform({"c": [f"w {k}" for k in range(n_rows)]}, np.arange(float(n_rows)))
    assert made.shape == (n_rows, 0)  # a word has five rows at least
    assert encoder.transform({"c": ["w", None]}).shape == (2, 0)
    assert encoder.silent_ == ["c"]


def test_beside_other_columns():
    names, cabins, title, deck = people()
    columns = {"name": names, "cabin": cabins, "deck": deck.astype(str)}
    encoder = ColumnEncoder(words=("name", "cabin", "elsewhere")).fit(columns)
    own = encoder.feature_names()
    assert own[:4] == ["cabin is missing", "cabin has a", "cabin has b", "cabin has c"]
    assert own[4:7] == ["deck=0", "deck=1", "deck=2"]
    assert encoder.transform(columns).shape == (400, len(own) == encoder.n_encoded_ and len(own))
    told = ColumnEncoder("target", words=("name", "cabin")).fit_transform(columns, (title == 1).astype(int))
    np.testing.assert_array_equal(told, encoder.transform(columns).toarray()[:, 4:])  # cabins tell nothing


@pytest.mark.parametrize(("words", "method"), [("name", "onehot"), ([3], "target"), (["name"], "hash")])
def test_what_words_cannot_be(words, method):
    with pytest.raises(ParameterError, match="words"):
        ColumnEncoder(method, words=words).fit({"name": ["a", "b"]}, [0, 1])


@pytest.fixture(scope="module")
def frame():
    pandas = pytest.importorskip("pandas")
    names, cabins, title, deck = people(600)
    known = np.array([cabin is not None for cabin in cabins])
    rng = np.random.default_rng(0)
    age, codes = rng.normal(size=600), [f"q{k:04d}z" for k in rng.permutation(600)]
    return pandas.DataFrame({"code": codes, "age": age, "cabin": cabins, "name": names}), title, deck, known


@pytest.fixture(scope="module")
def model(frame):
    X, title, deck, known = frame
    with pytest.warns(UserWarning, match="Left out, with another text in almost every row, .*: code"):
        return AutoSVC(**QUICK).fit(X[:500], ((title % 2 == 1) | (known & (deck == 0)))[:500])


def test_a_table(frame, model, tmp_path):
    X, title, deck, known = frame
    assert model.score(X[500:], ((title % 2 == 1) | (known & (deck == 0)))[500:]) > 0.95
    assert model.layout_.text == ("cabin", "name")
    assert model.layout_.ignored == ("code",)
    notes = model.report(output_dict=True)["notes"]
    assert "Text that is different in almost every row is read by its most frequent words: cabin, name." in notes
    expected = model.predict_proba(X)
    without = X.drop(columns="code")
    np.testing.assert_array_equal(model.predict_proba(without), expected)
    np.testing.assert_allclose(
        np.vstack([model.predict_proba(X[k : k + 1]) for k in range(9)]), expected[:9], rtol=1e-4
    )
    save(model, tmp_path / "m.frugal")
    np.testing.assert_array_equal(load(tmp_path / "m.frugal").predict_proba(X), expected)
    assert not model.pipeline_.surprises(model.pipeline_input(X)).unknown


def test_words_of_whatever_comes_later(frame, model):
    X = frame[0][:4].copy()
    X["name"] = ["", "n/a", "Nobody", "..."]
    X["cabin"] = [None, 3, "C 1", "D"]
    assert np.isfinite(model.predict_proba(X)).all()


def test_numbers_and_several_classes(frame):
    X, title, _, _ = frame
    some = X[["age", "name"]]
    assert AutoSVR(**QUICK).fit(some[:500], title[:500] + 0.0).score(some[500:], title[500:] + 0.0) > 0.9
    assert AutoSVC(**QUICK).fit(some[:500], title[:500]).score(some[500:], title[500:]) > 0.95


def test_names_alone(frame):
    X, title, _, _ = frame
    assert AutoSVC(**QUICK).fit(X[["name"]][:500], title[:500] % 2).score(X[["name"]][500:], title[500:] % 2) == 1.0


def test_text_that_tells_nothing_changes_nothing(frame):
    X, title, _, _ = frame
    y, named = title % 2, X[["age"]].assign(kind=title.astype(str))
    with pytest.warns(UserWarning, match="Left out"):
        model = AutoSVC(**QUICK).fit(named.assign(code=X["code"]), y)
    expected = AutoSVC(**QUICK).fit(named, y)
    np.testing.assert_array_equal(model.predict_proba(named.assign(code="new")), expected.predict_proba(named))


def test_a_pair_of_arrays(frame):
    X, title, _, _ = frame
    pair = X[["age"]].to_numpy(), {name: X[name].to_numpy() for name in ("code", "name")}
    model = AutoSVC(**QUICK).fit(pair, title % 2, words=["code", "name"])
    assert model.pipeline_.encoder_.names_ == ["name"]
    assert "Left out, with another text in almost every row, and words that tell nothing: code." in model.report()
    left = pair[0], {"name": pair[1]["name"]}
    expected = AutoSVC(**QUICK).fit(X[["age", "name"]], title % 2)
    np.testing.assert_array_equal(model.predict_proba(left), expected.predict_proba(X[["age", "name"]]))


def test_exports_refuse_words_by_the_name_of_the_column(frame, model, tmp_path):
    with pytest.raises(ValueError, match="'cabin' is read by its words, which cannot be exported to C"):
        to_c(model, tmp_path)
    with pytest.raises(ValueError, match="'cabin' is read by its words, which cannot be exported to ONNX"):
        to_onnx(model)
    rows = model.pipeline_input(frame[0])
    found = plain_model(model).decision_function(rows)
    np.testing.assert_allclose(found, model.decision_function(frame[0]), atol=1e-3)


def test_in_a_pipeline_that_learns_a_stream():
    names, _, title, _ = people()
    model = StreamPipeline(LocalSVC(), encoder=ColumnEncoder(words=["name"])).fit((None, {"name": names}), title == 1)
    assert model.score((None, {"name": names}), title == 1) == 1.0

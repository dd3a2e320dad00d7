"""`frugalsvm train -a one-class`: files and pipes without labels; alarms, scores and p-values of other rows."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from frugalsvm.cli.app import app
from frugalsvm.cli.commands import train_stream
from frugalsvm.cli.io import saved_run
from frugalsvm.persist import load

N_ROWS, N_UNUSUAL = 6000, 20
ONE_CLASS = ("-a", "one-class", "--budget", 40)


def invoke(*arguments, code=0, data=None):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=data)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def table(seed):
    """Rows of which some are unusual, and labels that tell which."""
    rng = np.random.default_rng(seed)
    X, unusual = 1000 + 50 * rng.normal(size=(N_ROWS, 3)), np.zeros(N_ROWS, int)
    unusual[rng.choice(N_ROWS, N_UNUSUAL, replace=False)] = 1
    X[unusual == 1] = 1000 + rng.choice([-1, 1], size=(N_UNUSUAL, 3)) * rng.uniform(200, 400, size=(N_UNUSUAL, 3))
    return X.round(3), unusual


def csv(X, labels=None, *, header=True):
    columns = [X] if labels is None else [X, np.reshape(labels, (-1, 1))]
    names = ["a", "b", "c", "label"][: 3 if labels is None else 4]
    rows = [",".join(map(str, row)) for row in np.hstack([np.asarray(each, object) for each in columns])]
    return "\n".join(([",".join(names)] if header else []) + rows) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("novelty")
    for name, seed in (("train", 0), ("test", 1)):
        X, unusual = table(seed)
        (made / f"{name}.csv").write_text(csv(X))
        (made / f"{name}_labeled.csv").write_text(csv(X, unusual))
        (made / f"{name}_plain.csv").write_text(csv(X, header=False))
        lines = [" ".join(f"{k + 1}:{value}" for k, value in enumerate(row)) for row in X]
        (made / f"{name}.libsvm").write_text("\n".join(lines) + "\n")
        lines = [f"{label} {line}" for label, line in zip(np.where(unusual, -1, 1), lines, strict=True)]
        (made / f"{name}_labeled.libsvm").write_text("\n".join(lines) + "\n")
    return made


@pytest.fixture(scope="module")
def model(folder):
    output = folder / "model.frugal"
    told = json.loads(invoke("train", folder / "train.csv", *ONE_CLASS, "-o", output, "--json").stdout)
    assert 0.005 < told["alarms_before_learning"] < 0.03
    assert told["chosen"]["labels"] is None
    return output


def predicted(*arguments):
    return np.array([line.split("\t") for line in invoke("predict", *arguments).stdout.splitlines()], float)


def test_alarms_scores_and_p_values(model, folder):
    X, unusual = table(1)
    fitted = load(model)
    found = predicted(model, folder / "test.csv", "--scores")
    np.testing.assert_array_equal(found[:, 0], fitted.predict(X))
    np.testing.assert_allclose(found[:, 1], fitted.score_samples(X), rtol=1e-6)
    np.testing.assert_allclose(found[:, 2], fitted.p_values(X), rtol=1e-6)
    assert set(np.unique(found[:, 0])) == {-1.0, 1.0}
    assert np.mean(found[unusual == 1, 0] == -1) > 0.9
    assert np.mean(found[unusual == 0, 0] == -1) < 0.03  # a rate of 1 % was promised
    np.testing.assert_array_equal(predicted(model, folder / "test.csv")[:, 0], found[:, 0])


def test_another_alarm_rate(model, folder):
    rates = [np.mean(predicted(model, folder / "test.csv", "--alarm-rate", rate) == -1) for rate in (0.02, 0.2)]
    assert rates[0] < 0.06 < rates[1] < 0.3
    said = invoke("predict", model, folder / "test.csv", "--alarm-rate", 1e-5, code=3).stderr
    assert "knows its latest 2,048 scores" in said
    assert "above 0" in invoke("predict", model, folder / "test.csv", "--alarm-rate", 0, code=2).output


def test_figures_with_labels(model, folder):
    X, unusual = table(1)
    told = json.loads(invoke("evaluate", model, folder / "test_labeled.csv", "--json").stdout)
    alarms = load(model).predict(X) == -1
    assert told["auc"] == roc_auc_score(unusual, -load(model).score_samples(X))
    assert told["alarms"] == np.mean(alarms)
    assert told["found"] == np.mean(alarms[unusual == 1]) > 0.9
    assert told["false_alarms"] == np.mean(alarms[unusual == 0])
    assert (told["examples"], told["anomalies"], told["anomaly"]) == (N_ROWS, N_UNUSUAL, "1")
    page = invoke("evaluate", model, folder / "test_labeled.csv").stdout
    for words in ("20 of them unusual (label 1)", "of the usual rows", "AUC"):
        assert words in page


def test_figures_while_it_learns(model, folder):
    told = json.loads(invoke("evaluate", model, folder / "test_labeled.csv", "--prequential", "--json").stdout)
    assert told["auc"] > 0.99
    assert [set(row) for row in told["curve"]] == 6 * [{"examples", "alarms"}]


def test_rows_are_judged_one_by_one_before_they_are_learned(folder, tmp_path):
    flags = (*ONE_CLASS, "--prequential", "-o", tmp_path / "m.frugal", "--json")
    told = json.loads(invoke("train", folder / "train.csv", *flags).stdout)
    assert 0.005 < told["recent_alarms"] < 0.03
    assert told["recent_rows"] > 4500


def test_which_label_is_that_of_unusual_rows(model, folder, tmp_path):
    X, unusual = table(1)
    names = np.where(unusual, "attack", "normal")
    (tmp_path / "named.csv").write_text(csv(X, names))
    assert "--anomaly says which" in invoke("evaluate", model, tmp_path / "named.csv", code=3).stderr
    told = json.loads(invoke("evaluate", model, tmp_path / "named.csv", "--anomaly", "attack", "--json").stdout)
    assert told["anomalies"] == N_UNUSUAL
    said = invoke("evaluate", model, tmp_path / "named.csv", "--anomaly", "fraud", code=3).stderr
    assert "no row has this label; labels are 'attack', 'normal'" in said
    (tmp_path / "signs.csv").write_text(csv(X, np.where(unusual, -1, 1)))
    told = json.loads(invoke("evaluate", model, tmp_path / "signs.csv", "--json").stdout)
    assert (told["anomaly"], told["anomalies"]) == ("-1", N_UNUSUAL)
    (tmp_path / "usual.csv").write_text(csv(X[unusual == 0], unusual[unusual == 0]))
    told = json.loads(invoke("evaluate", model, tmp_path / "usual.csv", "--json").stdout)
    assert "auc" not in told
    assert told["false_alarms"] == told["alarms"]


@pytest.mark.parametrize("format", ["csv", "libsvm"])
def test_pipes_learn_what_files_do(folder, tmp_path, format):
    rows = (folder / f"train.{format}").read_text()
    invoke("train", "-", *ONE_CLASS, "-o", tmp_path / "pipe.frugal", "-q", data=rows)
    invoke("train", folder / f"train.{format}", *ONE_CLASS, "-o", tmp_path / "file.frugal", "-q")
    by_pipe, by_file = (
        predicted(tmp_path / f"{name}.frugal", folder / f"test.{format}", "--scores") for name in ("pipe", "file")
    )
    np.testing.assert_array_equal(by_pipe, by_file)


def test_libsvm_with_and_without_labels(folder, tmp_path):
    """The label is the first word of a line, if that is not a feature: it is left out."""
    output = tmp_path / "m.frugal"
    found = []
    for name in ("train.libsvm", "train_labeled.libsvm"):
        invoke("train", folder / name, *ONE_CLASS, "-o", output, "-q")
        found += [predicted(output, folder / other, "--scores") for other in ("test.libsvm", "test_labeled.libsvm")]
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])
    told = json.loads(invoke("evaluate", output, folder / "test_labeled.libsvm", "--json").stdout)
    assert told["anomaly"] == "-1"
    assert told["auc"] > 0.99


@pytest.mark.parametrize("label", ["label", "-1"])
def test_a_column_of_labels_that_is_named_is_left_out(folder, tmp_path, model, label):
    output = tmp_path / "m.frugal"
    invoke("train", folder / "train_labeled.csv", *ONE_CLASS, "--label", label, "-o", output, "-q")
    expected = predicted(model, folder / "test.csv", "--scores")
    for name in ("test.csv", "test_labeled.csv", "test_plain.csv"):
        np.testing.assert_array_equal(predicted(output, folder / name, "--scores"), expected)
    told = json.loads(invoke("evaluate", output, folder / "test_labeled.csv", "--json").stdout)
    assert told["anomalies"] == N_UNUSUAL


def test_a_column_that_is_called_label_gets_a_warning(folder, tmp_path):
    said = invoke("train", folder / "train_labeled.csv", *ONE_CLASS, "-o", tmp_path / "m.frugal").stderr
    assert "warning: column 'label' is used as a feature; --label label leaves it out" in said


def test_what_a_file_holds(model):
    page = invoke("inspect", model).stdout
    for words in ("tells unusual rows by 3 columns of numbers", "offset", "alarm_rate 0.01", "were unusual before"):
        assert words in page
    assert json.loads(invoke("inspect", model, "--json").stdout)["predicts"] == "novelties"


def test_flags_of_others_are_refused(model, folder, tmp_path):
    train = ("train", folder / "train.csv", "-o", tmp_path / "m.frugal")
    assert "--nu: bsgd does not use it: it is for one-class" in invoke(*train, "-a", "bsgd", "--nu", 0.3, code=2).output
    said = invoke(*train, *ONE_CLASS, "--classes", "0,1", code=2).output
    assert "--classes: it is for classes, and one-class learns novelties" in said
    assert "--nu: 1.5 is not above 0" in invoke(*train, *ONE_CLASS, "--nu", 1.5, code=2).output
    said = invoke("predict", model, folder / "test.csv", "--probabilities", code=3).stderr
    assert "predicts novelties: --probabilities is for classes" in said
    said = invoke("evaluate", model, folder / "test_labeled.csv", "--picture", tmp_path / "x.png", code=3).stderr
    assert "have no confusion matrix" in said
    assert "no column of labels" in invoke("evaluate", model, folder / "test.csv", code=3).stderr
    said = invoke("tune", folder / "train.csv", "-a", "one-class", code=2).output
    assert "`tune` compares classifiers" in said


def test_a_run_goes_on_where_it_was(folder, tmp_path, monkeypatch):
    """With the same file, byte for byte; the disk is full after the first checkpoint."""
    flags = (*ONE_CLASS, "--nu", 0.3, "--checkpoint-every", 1024, "-q")
    whole, resumed = tmp_path / "whole.frugal", tmp_path / "resumed.frugal"
    invoke("train", folder / "train.csv", *flags, "-o", whole)
    write, written = saved_run.save_run, []

    def full(*arguments):
        if written:
            raise OSError(28, "No space left on device")
        written.append(write(*arguments))

    with monkeypatch.context() as patch:
        patch.setattr(train_stream, "save_run", full)
        invoke("train", folder / "train.csv", *flags, "-o", resumed, code=5)
    invoke("train", folder / "train.csv", "-o", resumed, "--resume", "-q")
    assert resumed.read_bytes() == whole.read_bytes()

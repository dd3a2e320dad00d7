"""``python -m benchmarks.forgetting``: what it takes to forget rows of machines in cells, and whether it is exact.

Times are process CPU times of one thread. Parts:

speed       one row among many, random normal ones of 54 columns: rows that the tree was not made of, any rows, and many
            at once; beside the training.
sequences   random sequences of forgetting, adding and replacing rows of small tables: the largest difference of
            leave-one-out scores to plain-numpy training from scratch in the same cells.
stream      rows that are added a cell at a time, a tenth of which is forgotten: test errors beside those of a fit.
mislabeled  a share of labels is flipped: how many of as many rows with the smallest leave-one-out margins, or with the
            smallest influence on validation rows, are flipped ones; and confident learning (cleanlab, if it is there).
membership  the AUC of losses of forgotten rows among rows never seen, before and after forgetting.
"""

import argparse
import time

import numpy as np
from rich.console import Console

from benchmarks.cells_left_out_data import split_of
from benchmarks.printing import table

TABLES = ("phoneme", "satimage", "letter", "pendigits", "elec2", "usps", "shuttle", "ijcnn1")
FLIPPED = 0.05


def model_for(**others):
    from frugalsvm import LocalSVC

    return LocalSVC(random_state=0, **others)


def seconds(action):
    start = time.process_time()
    action()
    return time.process_time() - start


def normal_rows(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 54)).astype(np.float32)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def speed(options):
    X, y = normal_rows(options.rows)
    for size in options.sizes:
        model = model_for(C=10.0, gamma=0.02, kernel="rbf", cell_size=size, calibrate=None, tree=options.tree)
        if options.tree == "public":
            model.set_params(ranges=(-10.0, 10.0))
        model.fit(X[: 4 * size], y[: 4 * size]).unlearn([0])  # reads machine code
        training = seconds(lambda model=model: model.fit(X, y))
        first = seconds(lambda model=model: model.unlearn([0]))
        rng = np.random.default_rng(1)
        others = rng.permutation(np.setdiff1d(model.row_ids_, model.structure_rows_))[: options.repeats]
        one = [seconds(lambda i=i, model=model: model.unlearn([i])) for i in others]
        any_row = rng.choice(model.row_ids_, options.repeats, replace=False)
        each = [seconds(lambda i=i, model=model: model.unlearn([i])) for i in any_row]
        many = rng.choice(model.row_ids_, options.rows // 100, replace=False)
        at_once = seconds(lambda model=model, many=many: model.unlearn(many))
        yield {
            "rows": f"{options.rows:,}", "cell": str(size), "fit s": f"{training:.1f}", "first s": f"{first:.2f}",
            "one row ms": f"{1e3 * np.median(one):.1f}", "any row ms, mean": f"{1e3 * np.mean(each):.1f}",
            f"{len(many):,} rows s": f"{at_once:.1f}", "fit / one": f"{training / np.median(one):.0f}",
        }  # fmt: skip


def sequences(options):
    from tests.estimators import test_local_changes as tests

    worst, n_done = 0.0, 0
    for seed in range(options.sequences):
        X, labels, values = tests.table(200, seed)
        is_class, weighted, n_trees = seed % 2 == 0, seed % 3 == 0, 1 + seed % 2
        cls = tests.LocalSVC if is_class else tests.LocalSVR
        y, rng = labels if is_class else values, np.random.default_rng(seed)
        weights = rng.uniform(0.5, 2.0, len(X)) if weighted else None
        model = tests.new_model(cls, n_trees=n_trees).fit(X, y, weights)
        known = tests.Table(X, tests.scaled(model, y), np.ones(len(X)) if weights is None else weights)
        for _ in range(6):
            tests.random_change(
                model, known, rng, weighted=weighted, targets_of=lambda a, b, own=is_class: a if own else b
            )  # fmt: skip
        left_out, _ = tests.oracle_of(model, known)
        worst, n_done = max(worst, float(np.abs(model.standardized_left_out() - left_out).max())), n_done + 1
    yield {"sequences": str(n_done), "largest difference": f"{worst:.1e}"}


def stream(options):
    X, y = normal_rows(options.rows)
    # Two columns that matter, so that there is something to learn.
    X = X[:, :6]
    new, target = normal_rows(options.rows + 20_000)
    new, target = new[-20_000:, :6], target[-20_000:]
    settings = {"C": 10.0, "gamma": 0.2, "kernel": "rbf", "cell_size": 1000, "calibrate": None}
    model, step = model_for(**settings), 10_000
    model.partial_fit(X[:step], y[:step])
    adding = seconds(
        lambda: [model.partial_fit(X[i : i + step], y[i : i + step]) for i in range(step, len(X), step)]
    )  # fmt: skip
    gone = np.random.default_rng(0).choice(len(X), len(X) // 10, replace=False)
    forgetting = seconds(lambda: [model.unlearn(part) for part in np.array_split(gone, 10)])
    rest = np.setdiff1d(np.arange(len(X)), gone)
    again = model_for(**settings)
    training = seconds(lambda: again.fit(X[rest], y[rest]))
    yield {
        "rows": f"{len(X):,}", "adding s": f"{adding:.1f}", "forgetting s": f"{forgetting:.1f}",
        "fit s": f"{training:.1f}", "error %": f"{100 * (1 - model.score(new, target)):.2f}",
        "error of fit %": f"{100 * (1 - again.score(new, target)):.2f}",
    }  # fmt: skip


def mislabeled(options):
    for name in options.tables:
        split = split_of(name, 0, options.most)
        rng = np.random.default_rng(0)
        classes, y = np.unique(split.y, return_inverse=True)
        flipped = rng.choice(len(y), int(FLIPPED * len(y)), replace=False)
        y[flipped] = (y[flipped] + rng.integers(1, len(classes), len(flipped))) % len(classes)
        model = model_for(cell_size=1000).fit(split.X, y)
        scores = model.loo_scores_
        scores = np.column_stack([-scores, scores]) if scores.shape[1] == 1 else scores
        own = scores[np.arange(len(y)), y]
        scores[np.arange(len(y)), y] = -np.inf
        influence = model.row_influence(split.X_test, np.searchsorted(classes, split.y_test))
        found = {
            "margins": own - scores.max(axis=1),
            "influence": influence,
            "confident learning": _confident_learning(split.X, y),
        }
        yield {"table": name} | {
            key: "-" if each is None else f"{100 * np.isin(np.argsort(each)[: len(flipped)], flipped).mean():.0f} %"
            for key, each in found.items()
        }


def _confident_learning(X, y):
    """Label quality scores from boosted trees, out of fold."""
    try:
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_predict

    probabilities = cross_val_predict(HistGradientBoostingClassifier(random_state=0), X, y, method="predict_proba")
    return get_label_quality_scores(y, probabilities)


def membership(options):
    from frugalsvm.explain.forget_audit import audit_forgetting

    for name in options.tables:
        split = split_of(name, 0, options.most)
        model = model_for(cell_size=1000, calibrate=None).fit(split.X, split.y)
        gone = np.random.default_rng(0).choice(len(split.y), len(split.y_test), replace=False)
        rows, never = (split.X[gone], split.y[gone]), (split.X_test, split.y_test)
        before = audit_forgetting(model, rows, never).forgotten
        after = audit_forgetting(model.unlearn(gone), rows, never)
        area = after.forgotten
        yield {
            "table": name, "before": f"{before.value:.3f}",
            "after": f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})",
            "difference to training": f"{after.difference:.0e}",
        }  # fmt: skip


PARTS = {each.__name__: each for each in (speed, sequences, stream, mislabeled, membership)}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forgetting", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of: {', '.join(PARTS)} (default: all)")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[512, 2048])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--tree", default="rows")
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--most", type=int, default=10_000, help="rows of a table")
    options = parser.parse_args()
    console = Console()
    for name in options.parts or PARTS:
        rows = list(PARTS[name](options))
        shown = table(name, *rows[0])
        for row in rows:
            shown.add_row(*row.values())
        console.print(shown)


if __name__ == "__main__":
    main()

"""Makes the file of the present format version that tests keep: run it once for each version, never for an old one.

python tests/persist/make_version_files.py
"""

import json
from pathlib import Path

import numpy as np

from frugalsvm import BSGDClassifier
from frugalsvm.persist import FORMAT_VERSION, save

FOLDER = Path(__file__).parent / "data"


def version_rows():
    """Rows and labels that any machine can make again exactly."""
    X = (np.arange(120).reshape(40, 3) * 37 % 41 / 41.0).astype(np.float32)
    return X, np.where(X[:, 0] > X[:, 1], "left", "right")


def main():
    X, y = version_rows()
    model = BSGDClassifier(budget=10, gamma=2.0, class_weight={"left": 2.0}, random_state=np.random.RandomState(5))
    model.partial_fit(X, y)
    FOLDER.mkdir(exist_ok=True)
    save(model, FOLDER / f"version{FORMAT_VERSION}.frugal", metadata={"examples": 40, "history": [0.5, float("nan")]})
    answers = {"predicted": model.predict(X).tolist(), "scores": model.decision_function(X).tolist()}
    (FOLDER / f"version{FORMAT_VERSION}.json").write_text(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main()

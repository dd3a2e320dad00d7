"""Model files (``.frugal``): save, load and describe estimators and pipelines, and checkpoints that survive crashes.

A file is a ZIP archive of JSON and NumPy arrays. It holds no pickle, loading runs no code from it, and every byte of it
is covered by a checksum. That tells damage, not who wrote the file: `load` takes the digest of the file that is meant.

>>> import tempfile, os, numpy as np
>>> from frugalsvm import BSGDClassifier
>>> from frugalsvm.persist import describe, load, save
>>> X = np.random.default_rng(0).normal(size=(200, 2))
>>> y = X[:, 0] * X[:, 1] > 0
>>> model = BSGDClassifier(budget=20, random_state=0).fit(X, y)
>>> folder = tempfile.mkdtemp()
>>> path = os.path.join(folder, "model.frugal")
>>> save(model, path, metadata={"examples": 200})
>>> bool((load(path).predict(X) == model.predict(X)).all())
True
>>> describe(path).estimator, describe(path).metadata
('BSGDClassifier', {'examples': 200})
"""

import frugalsvm._scikit_learn  # noqa: F401
from frugalsvm.persist.archive import ModelFileError
from frugalsvm.persist.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from frugalsvm.persist.model import FORMAT_VERSION, ModelInfo, describe, digest_of, load, save
from frugalsvm.persist.registry import register

__all__ = [
    "FORMAT_VERSION",
    "Checkpoint",
    "ModelFileError",
    "ModelInfo",
    "describe",
    "digest_of",
    "load",
    "load_checkpoint",
    "register",
    "save",
    "save_checkpoint",
]

"""Fitted models for places without Python: ONNX, C99, LIBSVM model text, and arrays shaped like those of `SVC`.

Every exporter takes a fitted estimator, a scikit-learn pipeline of `StandardScaler` and one, or a `PlainModel`: the
model as plain numbers, from which all of them are made.
"""

from frugalsvm.export.c99 import to_c
from frugalsvm.export.extraction import plain_model
from frugalsvm.export.learning_c.state import read_state, write_state
from frugalsvm.export.libsvm import to_arrays, to_libsvm
from frugalsvm.export.models import PlainModel
from frugalsvm.export.onnx import to_onnx

__all__ = ["PlainModel", "plain_model", "read_state", "to_arrays", "to_c", "to_libsvm", "to_onnx", "write_state"]

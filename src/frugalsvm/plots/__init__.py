"""Pictures of models and of their learning, after scikit-learn's displays; they need ``frugalsvm[plots]``.

A display holds plain data and draws it: ``from_estimator``, ``from_stream`` and the like compute and draw, and ``plot``
draws again, into any axes. `record_stream` follows several estimators through one stream, and every curve is drawn from
what it returns. matplotlib is imported when something is drawn, not before.
"""

from frugalsvm.plots.accuracy import AccuracyCurveDisplay
from frugalsvm.plots.boundary import DecisionBoundaryDisplay
from frugalsvm.plots.cells import CellsDisplay
from frugalsvm.plots.coverage import CoverageDisplay
from frugalsvm.plots.explanation import ExplanationDisplay
from frugalsvm.plots.images import SupportImagesDisplay
from frugalsvm.plots.influence import RowInfluenceDisplay
from frugalsvm.plots.metric import MetricDisplay
from frugalsvm.plots.recording import record_stream
from frugalsvm.plots.sizes import ErrorVsSupportDisplay
from frugalsvm.plots.stream_panels import StreamDisplay
from frugalsvm.plots.timing import TimeCurveDisplay
from frugalsvm.plots.traces import TraceDisplay

__all__ = [
    "AccuracyCurveDisplay",
    "CellsDisplay",
    "CoverageDisplay",
    "DecisionBoundaryDisplay",
    "ErrorVsSupportDisplay",
    "ExplanationDisplay",
    "MetricDisplay",
    "RowInfluenceDisplay",
    "StreamDisplay",
    "SupportImagesDisplay",
    "TimeCurveDisplay",
    "TraceDisplay",
    "record_stream",
]

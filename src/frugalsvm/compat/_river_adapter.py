"""What the models for river share: the pipeline and the features, and river itself."""

from typing import Any

from sklearn.base import clone

from frugalsvm.compat._features import HashedFeatures, NamedFeatures
from frugalsvm.estimators._validation import check_count
from frugalsvm.pipelines import StreamPipeline

try:
    from river import base
except ImportError as error:
    raise ImportError("frugalsvm.compat.river needs river: pip install 'frugalsvm[river]'.") from error

__all__ = ["Adapter", "base"]

FIRST_ROWS = (
    100  # held back for a model that is no pipeline, so that gamma="scale" and classes are not those of one row
)


class Adapter:
    """A pipeline and features, both made at the first example."""

    model: Any
    n_features: int | None
    _pipeline: StreamPipeline | None = None
    _features: NamedFeatures | HashedFeatures | None = None

    def _check_n_features(self) -> None:
        if self.n_features is not None:
            check_count("n_features", self.n_features)

    def _features_for(self, names) -> NamedFeatures | HashedFeatures:
        return NamedFeatures(names) if self.n_features is None else HashedFeatures(self.n_features)

    def _new_pipeline(self) -> StreamPipeline:
        model = clone(self.model)
        return (
            model if isinstance(model, StreamPipeline) else StreamPipeline(model, scale=False, warmup_rows=FIRST_ROWS)
        )

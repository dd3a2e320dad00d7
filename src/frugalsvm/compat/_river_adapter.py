"""What the models for river share: the pipeline and the features, and river itself."""

import logging
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from sklearn.base import clone

from frugalsvm._locks import ThreadSafe
from frugalsvm.compat._features import HashedFeatures, NamedFeatures
from frugalsvm.estimators.constraints import check_count
from frugalsvm.pipelines import StreamPipeline

try:
    from river import base
except ImportError as error:
    raise ImportError("frugalsvm.compat.river needs river: pip install 'frugalsvm[river]'.") from error

__all__ = ["Adapter", "base"]

# Held back for a model that is not a pipeline, so that gamma="scale" and classes are not those of one row
FIRST_ROWS = 100
_LOG = logging.getLogger(__name__)


def _listed(names: Iterable[Hashable]) -> str:
    return ", ".join(map(repr, sorted(names, key=str)))


class Adapter(ThreadSafe):
    """A pipeline and features, both made at the first example."""

    model: Any
    n_features: int | None
    _pipeline: StreamPipeline | None = None
    _features: NamedFeatures | HashedFeatures | None = None
    _ignored: frozenset[Hashable] | set[Hashable] = frozenset()  # names that came too late for the model

    def _check_n_features(self) -> None:
        if self.n_features is not None:
            check_count("n_features", self.n_features)

    def _begin(self, names: Iterable[Hashable]) -> tuple[StreamPipeline, NamedFeatures | HashedFeatures]:
        """The pipeline and the features, made for the keys of the first example, with all keys that have come."""
        if self._pipeline is None or self._features is None:
            pipeline = self._new_pipeline()
            if self.n_features is None:
                self._features = NamedFeatures(names, absent=0.0 if pipeline.impute is None else np.nan)
            else:
                self._features = HashedFeatures(self.n_features)
            self._pipeline = pipeline
        self._take_up(names)
        return self._pipeline, self._features

    @property
    def _learned(self) -> tuple[StreamPipeline, NamedFeatures | HashedFeatures] | None:
        """The same, if there was an example."""
        if self._pipeline is None or self._features is None or not self._pipeline.__sklearn_is_fitted__():
            return None
        return self._pipeline, self._features

    def _take_up(self, names: Iterable[Hashable]) -> None:
        """Make features of names that are new, and tell the log."""
        features, pipeline = self._features, self._pipeline
        if not isinstance(features, NamedFeatures) or pipeline is None:
            return
        new = [name for name in features.new_in(names) if name not in self._ignored]
        if new:
            try:
                pipeline.add_features(len(new))
            except ValueError as error:
                self._ignored = {*self._ignored, *new}
                _LOG.warning("New features are ignored: %s. %s", _listed(new), error)
            else:
                features.add(new)
                _LOG.info("New features: %s.", _listed(new))
        pipeline.names_in_messages = features.names

    def _new_pipeline(self) -> StreamPipeline:
        model = clone(self.model)
        if isinstance(model, StreamPipeline):
            return model
        return StreamPipeline(model, scale=False, warmup_rows=FIRST_ROWS)

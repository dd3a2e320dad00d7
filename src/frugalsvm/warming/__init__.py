"""Machine code ahead of time: `warm_up` has the usual cases compiled, so that no first fit has to wait.

For installation scripts and container images: ``frugalsvm warm-up``, or

>>> import frugalsvm
>>> result = frugalsvm.warm_up("asset", dtypes="float64", n_jobs=1)
>>> result.n_compiled >= 0
True
"""

from frugalsvm.warming.ahead import Warmed, WarmUp, warm_up
from frugalsvm.warming.recipes import RECIPES

__all__ = ["RECIPES", "WarmUp", "Warmed", "warm_up"]

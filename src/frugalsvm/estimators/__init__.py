"""The scikit-learn estimators. They validate, call the compiled floors, and publish attributes."""

import frugalsvm._scikit_learn  # noqa: F401

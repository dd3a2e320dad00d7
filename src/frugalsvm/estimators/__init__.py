"""The scikit-learn estimators. They validate, call the compiled floors, and publish attributes."""

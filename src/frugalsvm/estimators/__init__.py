"""Floor 3: scikit-learn estimators. They validate, call the compiled floors, and publish attributes."""

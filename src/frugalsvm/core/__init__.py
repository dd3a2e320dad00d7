"""Compiled parts. NumPy arrays in and out; nothing here knows scikit-learn."""
